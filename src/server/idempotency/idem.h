/*
 * Idempotency: actions with an id of the caller are executed at most once. A repeated
 * request is answered with the recorded outcome, also after a broken connection, a crash
 * of the server or a restart of the sandbox. See action/ledger/ledger.h and
 * docs/protocol.md.
 */
#ifndef SERVER_IDEMPOTENCY_IDEM_H
#define SERVER_IDEMPOTENCY_IDEM_H

#include "action/ledger/ledger.h"
#include "base/wait_queue.h"
#include "server/api.h"

#define RESTORED_LEDGER "ledger"
#define RESTORED_OUTPUTS "outputs"
/* The error for a request with a lower lease than the highest seen. */
#define IDEM_FENCED "fenced: a request with a higher lease was received."

struct idem {
	struct box *box;
	struct ledger ledger;
	int dir;                /* folder of the ledger; -1: in memory */
	bool open;              /* the ledger is open */
	struct list pending;    /* actions that have not ended */
	struct outputs outputs; /* what actions print; its fd is -1: not recorded */
	int outputs_fd;         /* of an earlier process, until open */
	struct list readers;    /* requests that wait for output or events */
	struct wait_queue followers;
	struct timer wake; /* of readers and followers */
	struct timer tidy; /* the next step of compacting the ledger */
};

/*
 * ledger, outputs: descriptors of an earlier process of this server, or -1. state: the
 * folder of the ledger, or NULL. With neither ledger nor state, the ledger is opened at
 * its first use.
 */
struct idem *idem_new(struct box *box, const char *state, int ledger, int outputs);
void idem_del(struct idem *o);
/*
 * The sandbox is ready: begins the actions that an earlier process accepted and did not
 * start.
 */
void idem_resume(struct idem *o);
/* Whether the ledger is open or could be opened. False: the request is answered. */
bool idem_is_ready(struct idem *o, struct request *rq);
/*
 * Fencing: a request has the lease. False: a higher one was seen or the lease cannot be
 * recorded, and the request is answered.
 */
bool idem_check_lease(struct idem *o, struct request *rq, struct str lease);
/*
 * As idem_check_lease, without a request. Returns 0, ERR_RANGE, or as ledger_set_lease.
 */
int idem_set_lease(struct idem *o, uint64_t lease) MUST_USE;
/*
 * Calls f->fn from the event loop when there may be more output or more events, until
 * idem_unfollow.
 */
void idem_follow(struct idem *o, struct waiter *f);
void idem_unfollow(struct idem *o, struct waiter *f);
/* A session has begun (there) or has ended. */
void idem_record_session(void *once, const char *name, bool there);
/* Answers all waiting requests with the state of their actions; for the shutdown. */
void idem_answer_all(struct idem *o);

/* POST /execute_action, of an action with an id or without. */
void idem_execute(struct api *api, struct request *rq, struct str name);
/* PUT, GET and DELETE /v1/actions/ID. */
void idem_put(struct api *api, struct request *rq, struct str id);
void idem_get(struct api *api, struct request *rq, struct str id);
void idem_ack(struct api *api, struct request *rq, struct str id);
/* POST /v1/actions/ID/cancel */
void idem_cancel(struct api *api, struct request *rq, struct str id);
/* GET /v1/events */
void idem_events(struct api *api, struct request *rq, struct str name);
/* GET /v1/actions/ID/out */
void idem_get_output(struct api *api, struct request *rq, struct str id);

#endif
