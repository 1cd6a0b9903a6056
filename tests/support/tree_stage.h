/* For tests of process trees: who comes to the stage tells so; who goes is noticed. */
#ifndef TESTS_TREE_STAGE_H
#define TESTS_TREE_STAGE_H

#include "base/clock.h"
#include "base/fd.h"
#include "proc/pidwait.h"
#include "proc/tree.h"
#include "tests/tap.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WAIT_MS = 10000 };

/* Every process of a stage has the write end of this pipe: end of file is the end. */
static int alive[2];
/* Each process that has come to its place writes a byte here. */
static int there[2];

static void stage(void)
{
	if (fd_pipe(alive) < 0 || fd_pipe(there) < 0)
		ok(false, "pipes");
}

/* True when nobody holds the pipe any more, our own copy aside. */
static bool all_gone(void)
{
	struct pollfd w = {.fd = alive[0], .events = POLLIN};

	fd_close(&alive[1]);
	return poll(&w, 1, WAIT_MS) == 1 && (w.revents & POLLHUP);
}

static void unstage(void)
{
	fd_close(&alive[0]);
	fd_close(&alive[1]);
	fd_close(&there[0]);
	fd_close(&there[1]);
}

static void say_there(void)
{
	if (write(there[1], "x", 1) != 1)
		_exit(98);
}

/* Waits until n processes have come to their places; false if they do not. */
static bool come(int n)
{
	struct pollfd w = {.fd = there[0], .events = POLLIN};
	char c[64];

	while (n > 0 && poll(&w, 1, WAIT_MS) == 1) {
		ssize_t got = read(there[0], c, sizeof(c));

		n -= got > 0 ? (int)got : n;
	}
	return n == 0;
}

static _Noreturn void stay(void)
{
	say_there();
	for (;;)
		pause();
}

static void child(void (*fn)(void))
{
	if (fork() == 0) {
		fn();
		stay();
	}
}

static void own_session(void)
{
	setsid();
}

static void deaf(void)
{
	for (int s = 1; s < NSIG; s++)
		signal(s, SIG_IGN);
}

/*
 * As daemon(3): its parent ends, and it becomes the child of the subreaper. Returns when
 * the parent has ended, which would be counted among the living otherwise.
 */
static void daemonized(void)
{
	pid_t parent;

	setsid();
	parent = getpid();
	if (fork())
		_exit(0);
	while (getppid() == parent)
		pidwait_end(parent, clock_ms() + WAIT_MS);
	pidwait_end(parent, clock_ms() + WAIT_MS);
	deaf();
}

static int status_of(pid_t pid)
{
	int status = -1;

	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
}

#endif
