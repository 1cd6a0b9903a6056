#include "inject/console/outlet.h"

#include "base/fd.h"
#include "inject/console/stop.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	OUTLET_STEP =
		4096, /* fits into a pipe that poll reports as writable (PIPE_BUF) */
	OUTLET_MANY = 1 << 20, /* bytes after which a pipe is made larger... */
	OUTLET_PIPE = 1 << 18, /* ...to this size: fewer wake-ups */
};

/* Opens a second description of a pipe or terminal, because it has flags of its own. */
static void outlet_reopen(struct outlet *o)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", o->fd);
	fd = fd_open(path, O_WRONLY | O_NONBLOCK, 0);
	o->owned = fd >= 0;
	if (o->owned)
		o->fd = fd;
	else
		o->step = OUTLET_STEP;
}

void outlet_open(struct outlet *o, int fd)
{
	struct stat st = {0};

	*o = (struct outlet){.fd = fd, .step = SIZE_MAX};
	if (fstat(fd, &st) < 0)
		return;
	o->is_socket = S_ISSOCK(st.st_mode);
	o->is_pipe = S_ISFIFO(st.st_mode);
	if (o->is_pipe || S_ISCHR(st.st_mode))
		outlet_reopen(o);
}

void outlet_open_text(struct outlet *o, struct buf *text)
{
	*o = (struct outlet){.fd = -1, .text = text};
}

void outlet_close(struct outlet *o)
{
	if (o->owned)
		fd_close(&o->fd);
	*o = (struct outlet){.fd = -1};
}

/* Whether a write to a blocking descriptor would not wait. */
static bool outlet_has_space(const struct outlet *o)
{
	struct pollfd p = {.fd = o->fd, .events = POLLOUT};

	return o->step == SIZE_MAX || poll(&p, 1, 0) > 0;
}

static void outlet_count(struct outlet *o, ssize_t n)
{
	o->written += n > 0 ? (uint64_t)n : 0;
	if (!o->is_pipe || o->wide || o->written < OUTLET_MANY)
		return;
	fd_widen_pipe(o->fd, OUTLET_PIPE);
	o->wide = true;
}

ssize_t outlet_write(struct outlet *o, struct str bytes)
{
	ssize_t n;

	if (o->text) {
		buf_str(o->text, bytes);
		return o->text->err ? o->text->err : (ssize_t)bytes.n;
	}
	if (!outlet_has_space(o))
		return -EAGAIN;
	if (o->is_socket)
		n = send(o->fd, bytes.p, bytes.n, MSG_DONTWAIT | MSG_NOSIGNAL);
	else
		n = write(o->fd, bytes.p, bytes.n < o->step ? bytes.n : o->step);
	if (n < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	outlet_count(o, n);
	return n;
}

int outlet_write_all(struct outlet *o, struct str bytes)
{
	while (bytes.n) {
		ssize_t n = outlet_write(o, bytes);

		if (n == -EAGAIN)
			n = stop_wait(o->fd, POLLOUT, 0, false) < 0 ? -EINTR : 0;
		if (n < 0)
			return (int)n;
		bytes = str_skip(bytes, (size_t)n);
	}
	return 0;
}

ssize_t outlet_splice(struct outlet *o, int from, size_t n)
{
	ssize_t moved;

	if (!o->is_pipe)
		return -EINVAL;
	moved = splice(from, NULL, o->fd, NULL, n, SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
	if (moved < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	outlet_count(o, moved);
	return moved;
}
