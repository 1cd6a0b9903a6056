/*
 * The way in which every action begins, with an id or without: from POST /execute_action,
 * PUT /v1/actions/ID, a call of MCP, or a channel of a stream. An action without an id is
 * one whose id is not recorded.
 */
#ifndef SERVER_IDEMPOTENCY_ACTION_SUBMIT_H
#define SERVER_IDEMPOTENCY_ACTION_SUBMIT_H

#include "action/act.h"
#include "base/list.h"

struct action_sink;
struct api;
struct ledger_entry;
struct pending_action;

enum action_id_kind {
	ACTION_NO_ID,
	ACTION_CALLER_ID,
	/*
	 * The id is made of an event. The output is not recorded. If the action cannot be
	 * recorded, it is executed as one without an id.
	 */
	ACTION_EVENT_ID,
};

/* The request. */
struct action_spec {
	enum action_id_kind id_kind;
	/* --- With an id: */
	struct str id;          /* not checked yet */
	struct str body;        /* the request, in JSON */
	bool wrapped;           /* the action is a member of the body */
	bool only_known;        /* an unknown action is not begun */
	bool find;              /* there is no body: the action is not begun at all */
	bool cancel_unattended; /* cancel the action when no sink waits... */
	uint64_t grace_ms;      /* ...for so long */
	/* --- Executed without an id: */
	struct arena *arena; /* lives as long as the sink, as call; NULL: not allowed */
	struct act_call call;
};

/* Why an action is not accepted: an HTTP status and a message. */
struct action_refusal {
	unsigned status;
	char message[512];
};

struct action_sink_ops {
	/*
	 * The action is under way, and the sink waits: done follows, unless
	 * action_sink_leave, _cancel or _detach is called. May be NULL.
	 */
	void (*wait)(struct action_sink *s);
	/*
	 * The last call. status: of the answer, as HTTP has it; ERR_CLOSED: the server
	 * stops before the action ends; another error: the answer cannot be read.
	 */
	void (*done)(struct action_sink *s, int status);
	/* Whether the peer seems to have left. */
	bool (*is_closed)(const struct action_sink *s);
};

/* Where the answer goes. The caller fills in the first part and keeps it alive. */
struct action_sink {
	const struct action_sink_ops *ops; /* NULL: the sink does not wait */
	struct buf *out; /* receives the answer; NULL: done reads it from the entry */
	/* the action may detach from its peers when all of them have left */
	bool is_peer;

	/* Set by action_submit before it calls ops. */
	struct ledger_entry *entry; /* NULL: the action is not recorded */
	bool replayed; /* the action was begun before, and the sink has not waited */

	struct list node;
	struct pending_action *action; /* NULL: the sink does not wait */
};

/*
 * Submits an action, or finds it by its id. Returns 0, and s->ops->done may have been
 * called already; or ERR_REFUSED with *why: the action was not begun, and s does not
 * wait.
 */
int action_submit(struct api *api, const struct action_spec *spec, struct action_sink *s,
	struct action_refusal *why) MUST_USE;
/* As action_submit, for an action that is recorded and has not ended. */
void action_sink_wait(struct action_sink *s, struct ledger_entry *e);
/*
 * The peer of the sink has left. A recorded action continues, unless it is cancelled when
 * no sink waits. Another one is abandoned. No effect on a sink that does not wait.
 */
void action_sink_leave(struct action_sink *s);
/* As action_sink_leave, but the action is to end. */
void action_sink_cancel(struct action_sink *s);
/* As action_sink_leave, but the peer is still there: the action continues. */
void action_sink_detach(struct action_sink *s);

/* The refusal for the error r of recording an action. Always ERR_REFUSED. */
int action_refusal_set_error(struct action_refusal *why, int r);
/* Writes the body of an HTTP reply. */
void action_refusal_write(const struct action_refusal *why, struct buf *out);

#endif
