/*
 * The fd store: init keeps descriptors that must outlive a crash of serve.
 *
 * Entries are opaque to init: a name, a descriptor, and a process that belongs to it (0
 * for none). A name is unique; putting it again replaces the entry. When serve is started
 * again it gets every entry back, with the exit status of processes that init has reaped
 * meanwhile. Without init all functions here have no effect and return no entry.
 */
#ifndef PROC_STORE_H
#define PROC_STORE_H

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

enum { STORE_NAME = 48 };

/* A record on the socket between init and serve, in both directions. */
enum store_op {
	STORE_PUT,  /* serve: keep this entry. init: an entry that was kept */
	STORE_DROP, /* serve: forget this entry */
	STORE_EXIT, /* init: the process of this entry has ended */
	STORE_END,  /* init: all kept entries were sent */
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

/* Keeps a copy of fd (and the number pid) in init. -errno when it cannot. */
int store_put(struct store *s, const char *name, int fd, pid_t pid) MUST_USE;
void store_drop(struct store *s, const char *name);

/*
 * The next record from init; -EAGAIN when there is none, ERR_CLOSED when init is
 * gone. With STORE_PUT *fd belongs to the caller; otherwise it is -1.
 */
int store_next(struct store *s, struct store_record *r, int *fd) MUST_USE;

/* As store_next for the start, when all entries come back: waits; ends with STORE_END. */
int store_wait_next(struct store *s, struct store_record *r, int *fd) MUST_USE;

#endif
