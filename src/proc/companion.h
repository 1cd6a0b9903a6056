/*
 * A companion: a forked process that serves its maker over a socket, with the rights that
 * the maker had then, until the maker closes the socket or ends.
 */
#ifndef PROC_COMPANION_H
#define PROC_COMPANION_H

#include "base/err.h"

#include <sys/types.h>

struct companion {
	pid_t pid;
	int sock; /* SOCK_SEQPACKET, blocking; -1: there is none */
};

/* Runs in the companion, whose only other descriptor is standard error. */
typedef void companion_fn(int sock, const void *arg);

/* 0, or -errno with c->sock -1. The caller reaps no other children. */
int companion_begin(struct companion *c, companion_fn *fn, const void *arg) MUST_USE;
/* Closes the socket and waits for the end of the process. No effect if sock is -1. */
void companion_end(struct companion *c);

#endif
