/* Runs a program to its end: its input is given, its output is collected. */
#ifndef PROC_CAPTURE_H
#define PROC_CAPTURE_H

#include "base/buf.h"

enum { CAPTURE_INPUT_MAX = 4096 }; /* fits into a pipe without a reader */

struct capture {
	const char *path;        /* what is executed; no PATH search */
	const char *const *argv; /* NULL at the end */
	const char *const *env;  /* NULL at the end */
	struct str input;        /* CAPTURE_INPUT_MAX bytes or fewer */
	uint32_t ms;             /* time limit; the program is killed after it */
	/* Waits as poll does, to a monotonic millisecond: events, 0 when late, -errno. */
	int (*wait)(int fd, short events, uint64_t deadline);
};

/*
 * Runs the program to its end and appends its standard output; standard error is dropped.
 * Not for a process that reaps its children in another way. 0 with *code, the exit code,
 * or 128 plus the signal; -ETIMEDOUT; ERR_LIMIT when the output does not fit; -errno when
 * the program cannot be started; the error of wait. The program has ended on return.
 */
int capture(const struct capture *c, struct buf *out, int *code) MUST_USE;

#endif
