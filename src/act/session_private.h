/* The inside of a session, shared by the session*.c files. */
#ifndef ACT_SESSION_PRIVATE_H
#define ACT_SESSION_PRIVATE_H

#include "act/run.h"
#include "act/session.h"

struct session {
	struct box *box;
	struct session *next; /* of the box */
	char name[SESSION_NAME_MAX + 1];
	struct shell *shell;
	struct run *current; /* has the shell */
	struct run *queue;   /* waits for it */
	struct timer turn;   /* of the queue's first */
	session_ready_fn *ready;
	void *ready_arg;
	session_ended_fn *ended; /* NULL: nobody wants to know */
	void *ended_arg;
};

/* Sets a deadline; without memory for it there is none, which is logged. */
void session_arm(struct session *s, struct timer *t, uint64_t ms, timer_fn *fn);
/* The observation of the current request is written: the next one has its turn. */
void session_finish(struct session *s, struct run *r);

/* The current request: does what it asks for, or answers it. Once more when ready. */
void session_handle(struct session *s, struct run *r);
/* DONE: answers with the result. */
void session_answer_finished(struct session *s, struct run *r);
/* Answers with what there is; see run_answer_running. */
void session_answer_running(
	struct session *s, struct run *r, bool refused, struct str suffix);
/* The one who asked seems to have left. */
bool run_has_left(const struct run *r);
/* He has, but may ask for the answer later: it is kept, and waits for nobody else. */
bool run_is_alone(const struct run *r);
/* Then what is not reported waits for the next to ask. */
void session_dismiss(struct session *s, struct run *r);
/* There was output: the silence begins anew. */
void session_wait_anew(struct session *s, struct run *r);

#endif
