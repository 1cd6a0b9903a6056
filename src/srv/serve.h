/* The serve role: builds the objects and runs the loop. */
#ifndef SRV_SERVE_H
#define SRV_SERVE_H

#include "config.h"
#include "proc/store.h"

/*
 * Serves until a signal ends it; returns the exit code. Takes over what store
 * holds from an earlier process, so that a crash costs no session.
 */
int serve_run(struct store *store, const struct config *config);

#endif
