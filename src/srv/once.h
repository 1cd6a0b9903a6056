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

struct doing;

struct once {
	struct box *box;
	struct ledger ledger;
	int dir;              /* of the ledger; -1: memory */
	bool open;            /* the ledger is */
	struct doing *doings; /* actions on their way */
};

/*
 * fd: the ledger of an earlier process of this server, or -1; then it is opened, in
 * the folder state if that is not NULL, when it is needed first.
 */
struct once *once_new(struct box *box, const char *state, int fd);
void once_del(struct once *o);
/* The sandbox is ready: begins what an earlier process has accepted and not started. */
void once_resume(struct once *o);
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

#endif
