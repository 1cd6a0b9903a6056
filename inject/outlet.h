/*
 * Standard output or standard error as the destination of a program's bytes: writes that
 * do not wait, so that signals and the other directions are handled while the reader
 * stalls. The descriptor's own flags, which other programs share, are not changed.
 */
#ifndef INJECT_OUTLET_H
#define INJECT_OUTLET_H

#include "base/buf.h"

#include <sys/types.h>

struct outlet {
	int fd;     /* polled and written */
	bool owned; /* fd is a second, non-blocking description of the same file */
	bool is_socket;
	bool is_pipe;     /* splice works */
	size_t step;      /* most bytes of one write */
	uint64_t written; /* bytes */
	bool wide;        /* the pipe was made larger for many of them */
	struct buf *text; /* NULL, or where the bytes are kept instead */
};

/* fd stays the caller's. outlet_close in any case; a zeroed outlet may be closed. */
void outlet_open(struct outlet *o, int fd);
/* Bytes are appended to text. */
void outlet_open_text(struct outlet *o, struct buf *text);
void outlet_close(struct outlet *o);

/* How many bytes were taken; -EAGAIN: none now, poll o->fd for POLLOUT; -errno. */
ssize_t outlet_write(struct outlet *o, struct str bytes) MUST_USE;
/* All of them, waiting: 0, -EINTR by a signal, or -errno. */
int outlet_write_all(struct outlet *o, struct str bytes) MUST_USE;
/*
 * Moves up to n bytes from a socket without a copy: how many; 0 at the end of the socket;
 * -EAGAIN: one of both is not ready; another -errno: outlet_write is the way.
 */
ssize_t outlet_splice(struct outlet *o, int from, size_t n) MUST_USE;

#endif
