/* The inside of a session, shared by the session*.c files. */
#ifndef ACTION_SESSION_PRIVATE_H
#define ACTION_SESSION_PRIVATE_H

#include "action/run.h"
#include "action/session.h"

struct session {
	struct box *box;
	struct session *next; /* of the box */
	char name[SESSION_NAME_MAX + 1];
	struct shell *shell;
	struct run *current; /* has the shell */
	struct list queue;   /* requests that wait for it, oldest first */
	struct timer turn;   /* of the queue's first */
	session_ready_fn *ready;
	void *ready_arg;
	session_ended_fn *ended; /* NULL: no callback */
	void *ended_arg;
};

/* Sets a deadline. If memory is lacking, there is no deadline and a warning is logged. */
void session_arm(struct session *s, struct timer *t, uint64_t ms, timer_fn *fn);
/* The observation of the current request is written: the next one has its turn. */
void session_finish(struct session *s, struct run *r);

/*
 * Handles the current request: does the work, or answers it. Called again when the shell
 * is ready.
 */
void session_handle(struct session *s, struct run *r);
/* For a shell in DONE: answers with the result. */
void session_answer_finished(struct session *s, struct run *r);
/* Answers with the output so far; see run_answer_running. */
void session_answer_running(
	struct session *s, struct run *r, bool refused, struct str suffix);
/* Whether the client seems to have disconnected. */
bool run_is_disconnected(const struct run *r);
/*
 * The client has disconnected, but may fetch the answer later: the answer is kept, and
 * the request does not hold up others.
 */
bool run_is_detached(const struct run *r);
/*
 * Answers the request of a client that has left; unreported output waits for the next
 * request.
 */
void session_answer_closed(struct session *s, struct run *r);
/* There was output: the no-change timeout starts again. */
void session_arm_no_change(struct session *s, struct run *r);

#endif
