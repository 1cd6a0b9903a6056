/* What the tests of spawn share: a program, its output and its end. */
#ifndef TESTS_SPAWN_RUN_H
#define TESTS_SPAWN_RUN_H

#include "base/buf.h"
#include "proc/spawn.h"

#include <errno.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const env[] = {"PATH=/usr/bin:/bin", "MARK=here", NULL};
static struct buf out = BUF_INIT(1 << 20);

static inline struct spawn program(const char *const *argv)
{
	return (struct spawn){
		.path = argv[0],
		.argv = argv,
		.env = env,
		.cwd = "/",
		.tty = -1,
		.fds = {-1, -1, -1},
	};
}

/* Reads to the end (of a terminal too), at most ten seconds. */
static inline void read_all(int fd)
{
	struct pollfd w = {.fd = fd, .events = POLLIN};
	ssize_t n = 1;

	buf_reset(&out);
	while (n > 0 && poll(&w, 1, 10000) == 1) {
		char *p = buf_reserve(&out, 4096);

		n = p ? read(fd, p, 4096) : -1;
		if (n > 0)
			buf_commit(&out, (size_t)n);
	}
}

static inline int end_of(pid_t pid)
{
	int status = -1;

	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
}

/* Waits for the outcome; a child that failed is buried. */
static inline int start(const struct spawn *s, pid_t *pid, struct spawn_report *report)
{
	pid_t made = 0;
	int r = spawn(s, &made, report);

	while (r == 0 && (r = spawn_read_outcome(report)) == -EAGAIN) {
		struct pollfd w = {.fd = report->fd, .events = POLLIN};

		r = poll(&w, 1, 10000) == 1 ? 0 : -ETIMEDOUT;
	}
	if (r == 0)
		*pid = made;
	else if (made)
		waitpid(made, NULL, 0);
	return r;
}

#endif
