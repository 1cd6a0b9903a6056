/* Declarations that the files src/server/idempotency/idem*.c share. */
#ifndef SERVER_IDEMPOTENCY_IDEM_PRIVATE_H
#define SERVER_IDEMPOTENCY_IDEM_PRIVATE_H

#include "server/idempotency/action_submit.h"
#include "server/idempotency/idem.h"
#include "server/params.h"

#define IDEM_UNKNOWN "No action has this id."
#define IDEM_EVICTED \
	"The action with this id has ended, and its answer is no longer stored. " \
	"Use a new id to repeat it."

/* An action that has not ended. It belongs to no connection. */
struct pending_action {
	struct list node;
	struct idem *idem;
	struct ledger_entry *entry; /* NULL: the action is not recorded */
	struct act act;
	struct list sinks; /* an action that is not recorded has one */
	struct timer end;

	/* The rest is only of actions that are recorded. */
	struct arena arena;
	struct buf body, out;
	struct timer escalate_timer; /* the next, stronger step of a cancellation */
	struct timer cancel_timer;   /* no sink waits: the time of cancellation */
	uint64_t grace_ms;           /* time before that */
	bool cancel_unattended;
	unsigned unrecorded_status; /* status of an answer that is not recorded; or 0 */
	/* error of act_read_call if the request is no valid action; or 0 */
	int read_error;
	const char *why;
	bool has_peer; /* see action_sink.is_peer */
};

/* idem.c: an action has ended; compacts the ledger if it is too large. */
void idem_compact(struct idem *o);

/* idem.c: finds the entry of an id. NULL: there is none, and the request is answered. */
struct ledger_entry *idem_find(struct idem *o, struct request *rq, struct str id);
/* idem.c: opens the ledger if it is not open. Returns 0 or an error. */
int idem_prepare(struct idem *o) MUST_USE;
/* action_request.c: answers with the error r of recording an action. */
void idem_refuse(struct request *rq, int r);
/* action_request.c: replies with the state of the action when it ends, or after ms. */
void idem_wait(struct api *api, struct request *rq, struct ledger_entry *e, uint64_t ms);

/* idem_reader.c: wakes readers and followers, since there may be more to read. */
void idem_wake(struct idem *o);
/* idem_reader.c: ends all readers. */
void idem_end_readers(struct idem *o);

/* idem_events.c: writes the members of an event into an open object. */
void idem_put_event(struct jw *w, const struct ledger_event *e);
/* ERR_SYNTAX: the event has an unknown kind, which another version wrote. */
int idem_read_event(const struct idem *o, uint64_t seq, struct ledger_event *e) MUST_USE;

/* idem_output.c: the offset after the newest byte; final if the action has ended. */
uint64_t idem_output_end(const struct ledger_entry *e);
/* Writes the final state, and length and hash of the output, into an open object. */
void idem_put_end(struct jw *w, const struct ledger_entry *e);
/* As output_read. */
int idem_read_output(const struct idem *o, const struct ledger_entry *e, uint64_t at,
	uint64_t max, struct buf *out, struct output_part *part) MUST_USE;

/* idem_resume.c: actions that had begun are resumed, or recorded as interrupted. */
void idem_resume_started(struct idem *o);

/* idem_cancel.c */
/* The names of enum act_stop, from ACT_STOP_INT on; NULL at the end. */
extern const char *const idem_cancel_modes[];
/*
 * The last sink has left: cancels the action after the grace period, unless another one
 * waits by then.
 */
void idem_schedule_cancel(struct pending_action *d);
/*
 * Cancels as POST .../cancel. Returns 0, or an error if the cancellation cannot be
 * recorded; nothing is done then.
 */
int idem_cancel_action(
	struct idem *o, struct ledger_entry *e, enum act_stop how) MUST_USE;
/*
 * Sends the signal of the recorded step of the cancellation, and sets the timer of the
 * next.
 */
void pending_action_stop(struct pending_action *d);

/* idem_answer.c */
bool idem_has_ended(const struct ledger_entry *e);
/* The name of a state; "" if there is no such state. */
const char *idem_get_state_name(unsigned state);
const char *idem_get_entry_state(const struct ledger_entry *e);
/*
 * Reads up to max bytes of the answer from offset at on. Returns 0 with the length of the
 * whole answer in *all; negative: the answer cannot be read.
 */
int idem_read_answer(const struct idem *o, const struct ledger_entry *e, uint64_t at,
	size_t max, struct buf *out, uint64_t *all) MUST_USE;
/* Gives the sink the answer of its action, which has ended. */
void idem_answer_sink(const struct idem *o, struct action_sink *s);
/* Replies with the state of the action: 200 if it has ended, otherwise 202. */
void idem_reply_state(const struct idem *o, struct request *rq,
	const struct ledger_entry *e, bool again);

/* action_submit.c: the refusal for the result of act_start. Always ERR_REFUSED. */
int action_refusal_set_start(struct action_refusal *why, int r, const struct act *act);

/* pending_action.c */
/* How a request was made: bits of an entry's request_kind. */
enum {
	IDEM_WRAPPED = 1,           /* the action is a member of the body */
	IDEM_CANCEL_UNATTENDED = 8, /* cancel the action when no sink waits for it */
	IDEM_NO_ID = 4,             /* the caller has no id: the output is not recorded */
};
/* A new action that has not begun; NULL: out of memory. */
struct pending_action *pending_action_new(struct idem *o);
/* The action is not recorded, and its answer goes to out. */
void pending_action_set_call(
	struct pending_action *d, const struct action_spec *spec, struct buf *out);
/*
 * Reads the request of d, and keeps a copy. Returns 0, or the status to refuse it with
 * and a message in *p.
 */
int pending_action_read(struct pending_action *d, struct str body, uint8_t kind,
	struct params *p) MUST_USE;
/* Connects d with the entry of its action. */
void pending_action_bind(struct pending_action *d, struct ledger_entry *e);
/*
 * Begins the action. Returns 0: it may have ended already; or as act_start: it was not
 * begun.
 */
int pending_action_start(struct pending_action *d) MUST_USE;
/* As pending_action_start, for a recorded action: an error is its answer. */
void pending_action_start_recorded(struct pending_action *d);
/* The action has ended in this state, without an answer of its own. */
void pending_action_end(struct pending_action *d, enum ledger_state how);
/* Resumes an action that an earlier process began. Returns 0 or ERR_CLOSED. */
int pending_action_resume(struct pending_action *d) MUST_USE;
void pending_action_free(struct pending_action *d);

#endif
