/*
 * Standard output or standard error as the destination of a program's bytes: writes that
 * do not wait, so that signals and the other directions are handled while the reader
 * stalls. The descriptor's own flags, which other programs share, are not changed.
 */
#ifndef INJECT_CONSOLE_OUTLET_H
#define INJECT_CONSOLE_OUTLET_H

#include "base/buf.h"

#include <sys/types.h>

struct outlet {
	int fd;     /* polled and written */
	bool owned; /* fd is a second, non-blocking description of the same file */
	bool is_socket;
	bool is_pipe;     /* splice works */
	size_t step;      /* most bytes of one write */
	uint64_t written; /* bytes */
	bool wide;        /* the pipe was enlarged, because many bytes were written */
	struct buf *text; /* NULL, or the buffer that stores the bytes instead of fd */
};

/* The caller keeps fd, and calls outlet_close, which also takes a zeroed outlet. */
void outlet_open(struct outlet *o, int fd);
/* Opens an outlet that appends bytes to text. */
void outlet_open_text(struct outlet *o, struct buf *text);
void outlet_close(struct outlet *o);

/* Returns the number of bytes written; -EAGAIN: poll o->fd for POLLOUT; -errno. */
ssize_t outlet_write(struct outlet *o, struct str bytes) MUST_USE;
/* Writes all bytes, and waits for it: 0, -EINTR by a signal, or -errno. */
int outlet_write_all(struct outlet *o, struct str bytes) MUST_USE;
/*
 * Moves up to n bytes from a socket without a copy, and returns their number; 0 at the
 * end of the socket; -EAGAIN: one of both is not ready; another -errno: use outlet_write.
 */
ssize_t outlet_splice(struct outlet *o, int from, size_t n) MUST_USE;

#endif
