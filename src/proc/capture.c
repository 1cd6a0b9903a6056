#include "proc/capture.h"

#include "base/clock.h"
#include "base/fd.h"
#include "proc/spawn.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOOK_MS = 5 };

/* Reads until the program has closed its output. */
static int capture_read_output(
	const struct capture *c, int fd, uint64_t deadline, struct buf *out)
{
	for (;;) {
		int r = c->wait(fd, POLLIN, deadline);
		char piece[4096];
		ssize_t n;

		if (r <= 0)
			return r ? r : -ETIMEDOUT;
		n = read(fd, piece, sizeof(piece));
		if (n == 0)
			return 0;
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		if (n > 0)
			buf_put(out, piece, (size_t)n);
		if (out->err)
			return out->err;
	}
}

/* Programs usually close their output by ending, so that this waits briefly. */
static int capture_reap(
	const struct capture *c, pid_t pid, uint64_t deadline, int *status)
{
	for (;;) {
		pid_t got = waitpid(pid, status, WNOHANG);
		uint64_t look = clock_ms() + LOOK_MS;
		int r;

		if (got == pid)
			return 0;
		if (got < 0 && errno != EINTR)
			return -errno;
		if (clock_ms() >= deadline)
			return -ETIMEDOUT;
		r = c->wait(-1, 0, look < deadline ? look : deadline);
		if (r < 0)
			return r;
	}
}

static void capture_kill(pid_t pid)
{
	kill(-pid, SIGKILL);
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static int capture_supervise(const struct capture *c, pid_t pid, int in, int out_fd,
	struct spawn_report *report, struct buf *out, int *code)
{
	uint64_t deadline = clock_ms() + c->ms;
	int status = 0, r = 0;

	/* A program that does not read its input may still write an answer. */
	if (write(in, c->input.p, c->input.n) < 0 && errno != EPIPE)
		r = -errno;
	fd_close(&in);
	if (!r)
		r = capture_read_output(c, out_fd, deadline, out);
	if (!r) {
		r = spawn_read_outcome(report);
		r = r == -EAGAIN ? 0 : r;
	}
	if (!r)
		r = capture_reap(c, pid, deadline, &status);
	if (r) {
		capture_kill(pid);
		return r;
	}
	*code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return 0;
}

int capture(const struct capture *c, struct buf *out, int *code)
{
	int in[2] = {-1, -1}, got[2] = {-1, -1};
	struct spawn_report report = {.fd = -1};
	pid_t pid;
	int r = c->input.n > CAPTURE_INPUT_MAX ? ERR_LIMIT : fd_pipe(in);

	if (!r)
		r = fd_pipe(got);
	if (!r) {
		struct spawn s = {
			.path = c->path,
			.argv = c->argv,
			.env = c->env,
			.cwd = "/",
			.tty = -1,
			.fds = {in[0], got[1], -1},
		};

		r = spawn(&s, &pid, &report);
	}
	fd_close(&in[0]);
	fd_close(&got[1]);
	if (!r) {
		r = capture_supervise(c, pid, in[1], got[0], &report, out, code);
		in[1] = -1;
	}
	spawn_report_close(&report);
	fd_close(&in[1]);
	fd_close(&got[0]);
	return r;
}
