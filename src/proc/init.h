/*
 * The init role: process 1, or a subreaper where it is not.
 *
 * Reaps everything, forwards signals, keeps the fd store, and starts serve
 * again when a signal has killed it. It has no heap (but for reading /proc at its
 * end), parses nothing from the network and stays below the server in size,
 * because its death is the container's.
 */
#ifndef PROC_INIT_H
#define PROC_INIT_H

#include "proc/store.h"

/* The server: runs in a child of init and returns its exit code. */
typedef int serve_fn(struct store *store, void *arg);

/*
 * Runs serve(store, arg) in children until one of them exits by itself, and
 * returns the exit code for the program: that of serve, or EXIT_ENVIRONMENT
 * when serve crashed five times within a minute. A crash is a death by any
 * signal but SIGKILL, which comes from outside: serve is then back at once.
 */
int init_run(serve_fn *serve, void *arg) MUST_USE;

#endif
