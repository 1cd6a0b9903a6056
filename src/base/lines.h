/* Assembles lines from pieces. It does no I/O. */
#ifndef BASE_LINES_H
#define BASE_LINES_H

#include "base/buf.h"

struct lines {
	struct buf part; /* the unfinished line */
	bool taken;      /* part was handed out and goes with the next call */
};

/* A line is at most max bytes long. */
void lines_init(struct lines *l, size_t max);
void lines_free(struct lines *l);
/*
 * Takes bytes from the front of *in. 0: *line is a line without its end (LF or CR LF),
 * valid until the next call and as long as the bytes of *in; more lines may follow. 1:
 * *in is used up. ERR_LIMIT when a line is too long, -ENOMEM.
 */
int lines_next(struct lines *l, struct str *in, struct str *line) MUST_USE;
/* The bytes after the last line end; *line may be empty. */
void lines_rest(struct lines *l, struct str *line);

#endif
