/*
 * The init role: process 1, or a subreaper where it is not.
 *
 * Reaps all children, forwards signals, keeps the fd store, and starts serve again when a
 * signal has killed it. It has no heap (except for reading /proc at its end), parses
 * nothing from the network and stays smaller than the server, because its death ends the
 * container.
 */
#ifndef PROC_INIT_H
#define PROC_INIT_H

#include "proc/store.h"

/* The server: runs in a child of init and returns its exit code. */
typedef int serve_fn(struct store *store, void *arg);

/*
 * Runs serve(store, arg) in children until one of them exits by itself, and returns the
 * exit code for the program: the exit code of serve, or EXIT_ENVIRONMENT when serve
 * crashed five times within a minute. A crash is a death by any signal but SIGKILL, which
 * comes from outside: after it serve is started again at once.
 */
int init_run(serve_fn *serve, void *arg) MUST_USE;

#endif
