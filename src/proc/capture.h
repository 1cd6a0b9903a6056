/* A program that is asked one thing: its input is given, its output collected. */
#ifndef PROC_CAPTURE_H
#define PROC_CAPTURE_H

#include "base/buf.h"

enum { CAPTURE_INPUT_MAX = 4096 }; /* what a pipe takes without somebody at its end */

struct capture {
	const char *path;        /* what is executed; no PATH search */
	const char *const *argv; /* NULL at the end */
	const char *const *env;  /* NULL at the end */
	struct str input;        /* CAPTURE_INPUT_MAX bytes or fewer */
	uint32_t ms;             /* it may take; then it is killed */
	/* Waits as poll does, to a monotonic millisecond: events, 0 when late, -errno. */
	int (*wait)(int fd, short events, uint64_t deadline);
};

/*
 * Runs it to its end and appends what it writes to standard output; standard error is
 * dropped. Not for a process that reaps its children otherwise. 0 with *code, its exit
 * code, or 128 and the signal; -ETIMEDOUT; ERR_LIMIT when it writes more than fits;
 * -errno when it cannot be started; the error of wait. Nothing of it is left then.
 */
int capture(const struct capture *c, struct buf *out, int *code) MUST_USE;

#endif
