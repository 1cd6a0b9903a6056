/* The serve role: builds the objects and runs the loop. */
#ifndef SERVER_SERVE_H
#define SERVER_SERVE_H

#include "config.h"
#include "proc/store.h"

/*
 * Serves until a signal or an error ends it. Returns the exit code. Restores the state
 * that an earlier process left in store, so that sessions survive a crash.
 */
int serve_run(struct store *store, const struct config *config);

#endif
