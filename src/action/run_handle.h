/*
 * The state machine of the wire contract on top of a shell: handles the run request that
 * has the shell. The contract's statuses are states of the shell: "none" and "completed"
 * are a shell without a command, the two timeouts are a command that runs while no
 * request waits for it.
 *
 * Each function may answer the request; then it calls r->answered, once.
 */
#ifndef ACTION_RUN_HANDLE_H
#define ACTION_RUN_HANDLE_H

#include "action/run.h"

/*
 * It is the request's turn: does the work, or answers it. Called again when the shell is
 * ready.
 */
void run_handle(struct run *r);
/* There was output: the no-change timeout starts again. */
void run_handle_output(struct run *r);
/* The shell is DONE. */
void run_handle_end(struct run *r);
/*
 * RUNNING: true if the client does not wait for the answer now; then the request is
 * answered, so that it does not hold up others. Unreported output waits for the next one.
 */
bool run_handle_absence(struct run *r);
/* No shell could be started. */
void run_handle_failure(struct run *r, int err, const char *why);
/* The sandbox is shutting down: answers with the output so far. */
void run_handle_shutdown(struct run *r);
/* Ends the deadlines, and frees all. */
void run_release(struct run *r);

#endif
