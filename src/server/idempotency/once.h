/*
 * Idempotency: actions with an id of the caller are executed at most once. A repeated
 * request is answered with the recorded outcome, also after a broken connection, a crash
 * of the server or a restart of the sandbox. See action/ledger/ledger.h and
 * docs/protocol.md.
 */
#ifndef SERVER_IDEMPOTENCY_ONCE_H
#define SERVER_IDEMPOTENCY_ONCE_H

#include "action/ledger/ledger.h"
#include "server/api.h"

#define KEPT_LEDGER "ledger"
#define KEPT_OUTPUTS "outputs"
/* The error for a request with a lower lease than the highest seen. */
#define ONCE_FENCED "fenced: a higher lease was shown."

struct doing;
struct once_reader;

/* Embedded in its owner. fn is called when there may be more output or more events. */
struct once_follower {
	void (*fn)(struct once_follower *f);
	struct once_follower *next;
};

/* Why an action is not accepted: an HTTP status and a message. */
struct once_refusal {
	unsigned status;
	char words[160];
};

struct once {
	struct box *box;
	struct ledger ledger;
	int dir;                     /* folder of the ledger; -1: in memory */
	bool open;                   /* the ledger is open */
	struct doing *doings;        /* actions that have not ended */
	struct outputs outputs;      /* what actions print; its fd is -1: not recorded */
	int outputs_fd;              /* of an earlier process, until open */
	struct once_reader *readers; /* requests that wait for output or events */
	struct once_follower *followers;
	struct timer wake; /* of readers and followers */
	struct timer tidy; /* the next step of compacting the ledger */
};

/*
 * ledger, outputs: descriptors of an earlier process of this server, or -1. state: the
 * folder of the ledger, or NULL. With neither ledger nor state, the ledger is opened at
 * its first use.
 */
struct once *once_new(struct box *box, const char *state, int ledger, int outputs);
void once_del(struct once *o);
/*
 * The sandbox is ready: begins the actions that an earlier process accepted and did not
 * start.
 */
void once_resume(struct once *o);
/* Whether the ledger is open or could be opened. False: the request is answered. */
bool once_is_ready(struct once *o, struct request *rq);
/*
 * Fencing: a request has the lease. False: a higher one was seen or the lease cannot be
 * recorded, and the request is answered.
 */
bool once_show_lease(struct once *o, struct request *rq, struct str lease);
/*
 * As once_show_lease, without a request. Returns 0, ERR_RANGE, or as ledger_show_lease.
 */
int once_lease(struct once *o, uint64_t lease) MUST_USE;
/* Follow from the event loop, until once_unfollow. */
void once_follow(struct once *o, struct once_follower *f);
void once_unfollow(struct once *o, struct once_follower *f);
/*
 * Submits an action as PUT does, with its body. An empty body only finds an action. had:
 * the caller has received output of the action before, so that an unknown action is not
 * begun again. Returns 0 with *e and *known (this call did not begin the action), or
 * ERR_CLOSED with *why.
 */
int once_submit(struct once *o, struct str id, struct str body, bool had,
	struct ledger_entry **e, bool *known, struct once_refusal *why) MUST_USE;
/* A session has begun (there) or has ended. */
void once_tell_session(void *once, const char *name, bool there);
/* Answers all waiting requests with the state of their actions; for the shutdown. */
void once_cut(struct once *o);

/* POST /execute_action with an Idempotency-Key, which is not checked yet. */
void once_execute(struct api *api, struct request *rq, struct str key);
/*
 * As once_execute, for an action with an id and a timestamp of its own, as backends send
 * it. An identical request counts as repeated. False: the action has no id, or it cannot
 * be recorded, and nothing was done.
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
