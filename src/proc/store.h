/*
 * The fd store: what must outlive a crash of serve waits in init.
 *
 * Entries are opaque to init: a name, a descriptor, and a process that belongs
 * to it (0 for none). A name is unique; putting it again replaces the entry.
 * When serve is started again it gets every entry back, with the exit status of
 * processes that init has reaped meanwhile. Without init everything here does
 * nothing and finds nothing.
 */
#ifndef PROC_STORE_H
#define PROC_STORE_H

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

enum { STORE_NAME = 48 };

/* One record on the socket between init and serve, in both directions. */
enum store_op {
	STORE_PUT,  /* serve: keep this. init: here is what you had kept */
	STORE_DROP, /* serve: forget this */
	STORE_EXIT, /* init: the process of this entry has ended */
	STORE_END,  /* init: that was everything that you had kept */
};

struct store_record {
	enum store_op op;
	pid_t pid;
	int exited; /* status is valid */
	int status; /* as from wait(2) */
	char name[STORE_NAME];
};

struct store {
	int sock;   /* -1: no init */
	pid_t init; /* its process */
};

/* Keeps a copy of fd (and the name of pid) in init. -errno when it cannot. */
int store_put(struct store *s, const char *name, int fd, pid_t pid) MUST_USE;
void store_drop(struct store *s, const char *name);

/*
 * The next record from init; -EAGAIN when there is none, ERR_CLOSED when init is
 * gone. With STORE_PUT *fd belongs to the caller; otherwise it is -1.
 */
int store_next(struct store *s, struct store_record *r, int *fd) MUST_USE;

/* The same for start-up, when everything comes back: waits; ends with STORE_END. */
int store_take(struct store *s, struct store_record *r, int *fd) MUST_USE;

#endif
