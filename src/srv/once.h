/*
 * Actions with an id of the caller's, which are done at most once: who asks again is
 * told how it went, after a broken connection, a crash of this server or a restart of
 * the box. See event/ledger.h for what is remembered, and docs/protocol.md.
 */
#ifndef SRV_ONCE_H
#define SRV_ONCE_H

#include "event/ledger.h"
#include "srv/api.h"

#define KEPT_LEDGER "ledger"
#define KEPT_OUTPUTS "outputs"
/* To who has an older lease than another. */
#define ONCE_FENCED "fenced: a higher lease was shown."

struct doing;
struct once_reader;

/* Who is told that there may be more: of an output, of events. In its owner. */
struct once_follower {
	void (*fn)(struct once_follower *f);
	struct once_follower *next;
};

/* Why an action is not accepted, as HTTP has it. */
struct once_refusal {
	unsigned status;
	char words[160];
};

struct once {
	struct box *box;
	struct ledger ledger;
	int dir;                     /* of the ledger; -1: memory */
	bool open;                   /* the ledger is */
	struct doing *doings;        /* actions on their way */
	struct outputs outputs;      /* what they print; its fd -1: it is not kept */
	int outputs_fd;              /* of an earlier process, until the ledger is open */
	struct once_reader *readers; /* waiting for more of it */
	struct once_follower *followers;
	struct timer wake; /* of both */
	struct timer tidy; /* the next step of a smaller ledger */
};

/*
 * ledger, outputs: those of an earlier process of this server, or -1. Without a ledger,
 * and without a folder state (NULL) for it, it is opened when it is needed first.
 */
struct once *once_new(struct box *box, const char *state, int ledger, int outputs);
void once_del(struct once *o);
/* The sandbox is ready: begins what an earlier process has accepted and not started. */
void once_resume(struct once *o);
/* Whether the ledger is open; false, and answered: it cannot be. */
bool once_is_ready(struct once *o, struct request *rq);
/*
 * A request shows a lease: false, and answered, when there is a higher one, or when it
 * cannot be recorded.
 */
bool once_show_lease(struct once *o, struct request *rq, struct str lease);
/* The same for who is no request: 0, ERR_RANGE, or as of ledger_show_lease. */
int once_lease(struct once *o, uint64_t lease) MUST_USE;
/* From the loop; until it is ended. */
void once_follow(struct once *o, struct once_follower *f);
void once_unfollow(struct once *o, struct once_follower *f);
/*
 * As PUT, where body is what that has; an empty one only finds the action, and so does
 * who has had output of it before: it was begun, even if nobody knows of it any more. 0
 * with *e, and *known: it was not begun by this; ERR_CLOSED with *why.
 */
int once_submit(struct once *o, struct str id, struct str body, bool had,
	struct ledger_entry **e, bool *known, struct once_refusal *why) MUST_USE;
/* A session is there now, or gone. */
void once_tell_session(void *once, const char *name, bool there);
/* Answers those that wait with the state of their actions; for shutting down. */
void once_cut(struct once *o);

/* POST /execute_action with an Idempotency-Key, which is no id yet. */
void once_execute(struct api *api, struct request *rq, struct str key);
/*
 * The same where the action has an id and a timestamp of its own, as backends give them:
 * the very same request again is taken for a repeated one. False: it has none, or there
 * is no room to remember it, and nothing was done.
 */
bool once_execute_event(struct api *api, struct request *rq, struct json_val event);
/* PUT, GET and DELETE /v1/actions/ID. */
void once_put(struct api *api, struct request *rq, struct str id);
void once_get(struct api *api, struct request *rq, struct str id);
void once_ack(struct api *api, struct request *rq, struct str id);
/* POST /v1/actions/ID/cancel */
void once_cancel(struct api *api, struct request *rq, struct str id);
/* GET /v1/events */
void once_events(struct api *api, struct request *rq, struct str name);
/* GET /v1/actions/ID/out */
void once_out(struct api *api, struct request *rq, struct str id);

#endif
