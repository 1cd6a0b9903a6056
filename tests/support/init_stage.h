/* A stage for tests of init and of the fd store: lives of a server under an init. */
#ifndef TESTS_INIT_STAGE_H
#define TESTS_INIT_STAGE_H

#include "base/clock.h"
#include "base/exit.h"
#include "base/fd.h"
#include "proc/init.h"
#include "tests/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NAMES = 6150, LIVES = 40 };

/* What the lives of a server and the test tell each other; outlives them all. */
static struct shared {
	int life; /* counted from 1 */
	uint64_t born[64];
	int fds; /* open in the first life */
	pid_t pids[64];
	int taken;
	int exits;
	int status;
	char names[NAMES][STORE_NAME];
	char text[64];
	long number;
} * shared;

static int ready_pipe[2];

/* Runs init with serve as its server, the test going on at once. */
static inline pid_t start_init(serve_fn *serve)
{
	pid_t pid;

	memset(shared, 0, sizeof(*shared));
	fd_close(&ready_pipe[0]);
	fd_close(&ready_pipe[1]);
	if (fd_pipe(ready_pipe) < 0)
		ok(false, "a pipe");
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(init_run(serve, NULL));
	}
	return pid;
}

static inline int end_of(pid_t pid)
{
	int status = -1;

	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static inline int run_init(serve_fn *serve)
{
	return end_of(start_init(serve));
}

static inline void say_ready(void)
{
	if (write(ready_pipe[1], "x", 1) != 1)
		_exit(98);
}

static inline void wait_ready(void)
{
	struct pollfd w = {.fd = ready_pipe[0], .events = POLLIN};
	char c;

	if (poll(&w, 1, 10000) != 1 || read(ready_pipe[0], &c, 1) != 1)
		ok(false, "the server is ready in time");
}

static inline int new_life(void)
{
	shared->born[shared->life++ % 64] = clock_ms();
	return shared->life;
}

static inline _Noreturn void die(int signo)
{
	raise(signo);
	_exit(99);
}

static inline int with_text(const char *text)
{
	int fd = fd_create_memory("test", 64);

	if (fd < 0 || pwrite(fd, text, strlen(text), 0) < 0)
		_exit(98);
	return fd;
}

static inline void put(struct store *s, const char *name, const char *text, pid_t pid)
{
	int fd = with_text(text);

	if (store_put(s, name, fd, pid) < 0)
		_exit(97);
	fd_close(&fd);
}

static inline int count_fds(void)
{
	int n = 0;

	for (int fd = 0; fd < 2000; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* Takes what comes back: names into shared, the content of the last one too. */
static inline void take_all(struct store *s)
{
	struct store_record r;
	int fd;

	shared->taken = 0;
	while (store_wait_next(s, &r, &fd) == 0 && r.op != STORE_END) {
		if (r.op != STORE_PUT || fd < 0 || !(fcntl(fd, F_GETFD) & FD_CLOEXEC))
			_exit(96);
		memcpy(shared->names[shared->taken++], r.name, STORE_NAME);
		if (pread(fd, shared->text, sizeof(shared->text) - 1, 0) < 0)
			shared->text[0] = '\0';
		if (r.exited) {
			shared->exits++;
			shared->status = r.status;
		}
		fd_close(&fd);
	}
	shared->number = store_next(s, &r, &fd);
}

/* Before anything else; false when the stage cannot be built. */
static inline bool stage_open(void)
{
	struct rlimit no_core = {0};

	setrlimit(RLIMIT_CORE, &no_core);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	/* An init that hangs is a failure, not a test without an end. */
	alarm(120);
	return shared != MAP_FAILED && fd_pipe(ready_pipe) == 0;
}

#endif
