/* Declarations that the files src/server/idempotency/once*.c share. */
#ifndef SERVER_IDEMPOTENCY_ONCE_PRIVATE_H
#define SERVER_IDEMPOTENCY_ONCE_PRIVATE_H

#include "server/idempotency/once.h"
#include "server/params.h"

/* A request that waits for the end of an action. In the request's arena. */
struct asker {
	struct asked asked;
	struct request *rq;
	struct doing *doing;
	struct asker *next;
	struct timer patience;
	bool plain; /* the reply is the answer of the action, not its state */
};

/* An action that has not ended. */
struct doing {
	struct doing *next;
	struct once *once;
	struct ledger_entry *entry;
	struct act act;
	struct arena arena;
	struct buf body, out;
	struct asker *askers;
	struct timer end;
	struct timer harder; /* the next, stronger step of a cancellation */
	struct timer leave;  /* no request waits any more: when the action is cancelled */
	uint64_t grace_ms;   /* time before that */
	bool leaves;
	unsigned unkept; /* status of an answer that is not recorded; or 0 */
	int unread;      /* error of act_read if the request is no valid action; or 0 */
	const char *why;
	bool attended; /* a request has waited for the answer itself */
};

/* once.c: an action has ended; compacts the ledger if it is too large. */
void once_tidy(struct once *o);

/* once.c: finds the entry of an id. NULL: there is none, and the request is answered. */
struct ledger_entry *once_find(struct once *o, struct request *rq, struct str id);
/* once.c: opens the ledger if it is not open. Returns 0 or an error. */
int once_make_ready(struct once *o) MUST_USE;
/* once.c: answers with the error r of recording an action. */
void once_refuse(struct request *rq, int r);

/* once_reader.c: wakes readers and followers, since there may be more to read. */
void once_wake(struct once *o);
/* once_reader.c: ends all readers. */
void once_cut_readers(struct once *o);

/* once_events.c: writes the members of an event into an open object. */
void once_put_members(struct jw *w, const struct ledger_event *e);
/* ERR_SYNTAX: the event has an unknown kind, which another version wrote. */
int once_read_event(const struct once *o, uint64_t seq, struct ledger_event *e) MUST_USE;

/* once_out.c: the offset after the newest byte. It is final if the action has ended. */
uint64_t once_output_end(const struct ledger_entry *e);
/* Writes the final state, and length and hash of the output, into an open object. */
void once_put_end(struct jw *w, const struct ledger_entry *e);
/* As output_read. */
int once_read_output(const struct once *o, const struct ledger_entry *e, uint64_t at,
	uint64_t max, struct buf *out, struct output_part *part) MUST_USE;

/* once_resume.c: actions that had begun are resumed, or recorded as interrupted. */
void once_attach(struct once *o);

/* once_cancel.c */
/* The names of enum act_stop, from ACT_STOP_INT on; NULL at the end. */
extern const char *const once_modes[];
/*
 * The last waiting request is gone: cancels the action after the grace period, unless
 * another request waits for it by then.
 */
void once_leave(struct doing *d);
/*
 * Cancels as POST .../cancel. Returns 0, or an error if the cancellation cannot be
 * recorded; nothing is done then.
 */
int once_tell_to_end(struct once *o, struct ledger_entry *e, enum act_stop how) MUST_USE;
/*
 * Sends the signal of the recorded step of the cancellation, and sets the timer of the
 * next.
 */
void once_stop(struct doing *d);

/* once_doing.c */
bool once_has_ended(const struct ledger_entry *e);
/* The name of a state; "" if there is no such state. */
const char *once_state_word(unsigned state);
const char *once_word(const struct ledger_entry *e);
/* Replies with the first answer of the action. */
void once_reply(const struct once *o, struct request *rq, const struct ledger_entry *e,
	bool again);
/*
 * Reads up to max bytes of the answer from offset at on. Returns 0 with the length of the
 * whole answer in *all; negative: the answer cannot be read.
 */
int once_read_answer(const struct once *o, const struct ledger_entry *e, uint64_t at,
	size_t max, struct buf *out, uint64_t *all) MUST_USE;
/* Replies with the state of the action. */
void once_reply_state(const struct once *o, struct request *rq,
	const struct ledger_entry *e, unsigned status, bool again);
/*
 * Replies when the action ends, or after ms (0: without a limit). plain: as once_reply.
 */
void once_wait(struct doing *d, struct request *rq, bool plain, uint64_t ms);
/* Answers a waiting request now, with the present state. */
void once_answer(struct asker *a);
/* How a request was made: bits of an entry's ask_how. */
enum {
	ASKED_WRAPPED = 1, /* the action is a member of the body */
	ASKED_LEAVES = 8,  /* cancel the action when no request waits for it */
	ASKED_QUIET = 4,   /* the caller has no id: the output is not recorded */
};
/* A new action that has not begun, with a copy of its request; NULL: out of memory. */
struct doing *once_doing_new(struct once *o, struct str body);
/*
 * Reads the request of d. Returns 0, or the status to refuse it with and a message in *p.
 */
int once_read(struct doing *d, uint8_t how, struct params *p) MUST_USE;
/* Connects d with the entry of its action. */
void once_own(struct doing *d, struct ledger_entry *e);
/* Begins the action. It may end before this function returns. */
void once_start(struct doing *d);
/* The action has ended in this state, without an answer of its own. */
void once_end(struct doing *d, enum ledger_state how);
/* Resumes an action that an earlier process began. Returns 0 or ERR_CLOSED. */
int once_go_on(struct doing *d) MUST_USE;
void once_free(struct doing *d);

#endif
