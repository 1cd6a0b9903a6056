/*
 * Actions: what a request asks for, and the observation that answers it.
 *
 * An action is one file with one const struct action. actions[] in table.c lists those
 * that every sandbox has; plugins add more (plugin/plugin.h). An error that the agent can
 * correct is an observation with HTTP 200. Only a request that is no action at all is
 * refused with an error status. docs/protocol.md has the exact shapes and texts.
 */
#ifndef ACTION_ACT_H
#define ACTION_ACT_H

#include "base/json.h"
#include "base/jw.h"
#include "config.h"
#include "loop/loop.h"
#include "proc/store.h"

struct act;
struct action;
struct session;
struct plugin_set;
struct shell_setup;

/*
 * State shared by all actions of this sandbox. srv makes it; it lives as long as the
 * server.
 */
struct box {
	struct loop *loop;
	struct store *store;
	const struct config *config;
	/* identity for shells and new files; NULL: that of the server */
	const struct spawn_user *user;
	bool gives_cwd; /* the first working directory was given to that user by root */
	const char *user_name;                 /* as a shell would show it */
	char host_name[65];                    /* up to the first dot */
	const struct shell_setup *shell_setup; /* for making shells; without a name */
	struct session *session;               /* the default one, then the others */
	bool after_crash;     /* an earlier process of this server has crashed */
	bool is_static_known; /* a client has sent is_static: it is of 0.34 or later */
	/* Actions that plugins bring, by name; NULL: there are none. */
	const struct action *(*find_plugin_action)(
		const struct box *box, struct str name);
	/* Called when a session was made (there: true) or deleted; may be NULL. */
	void (*on_session)(void *arg, const char *name, bool there);
	void *on_session_arg;
	struct plugin_set *plugs; /* the plugins; NULL in a sandbox without plugins */
};

enum act_result {
	ACT_DONE, /* the observation is in act->out */
	ACT_WAIT, /* act->done follows */
	ACT_FAIL, /* a resource is missing: a 500 reply with act->why */
};

/* Called once after ACT_WAIT, when the observation is in act->out. */
typedef void act_done_fn(struct act *a);

typedef bool act_check_fn(const struct act *a);

/* The first working directory, absolute. */
struct str act_box_cwd(const struct box *box);

/* The content of a request for an action. */
struct act_call {
	struct str name;
	struct json_val args;
	double timeout; /* seconds; 0: none */
};

/* An action in progress. The caller fills in the first part and keeps it alive. */
struct act {
	struct box *box;
	struct arena *arena; /* of the request */
	struct buf *out;     /* receives the observation */
	struct str name;     /* these three as of struct act_call */
	struct json_val args;
	double timeout;
	act_done_fn *done;
	/* whether the client seems to have disconnected; may be NULL */
	act_check_fn *is_disconnected;
	/*
	 * Whether the client has disconnected but may fetch the answer later; may be
	 * NULL.
	 */
	act_check_fn *is_detached;
	/*
	 * Called before a late action has an effect. 0; -errno: the action must have no
	 * effect. May be NULL.
	 */
	int (*before_effect)(struct act *a);
	/*
	 * The action has printed these bytes; source is the offset behind them in the
	 * action's source of output. May be NULL, and must not call back.
	 */
	void (*printed)(struct act *a, struct str bytes, uint64_t source);
	struct str id;       /* given by the caller; may be empty */
	bool printed_before; /* output was reported before act_resume, up to source */
	uint64_t source;
	uint64_t elapsed_ms; /* ms of its timeout used before act_resume */
	void *user;

	const struct action *action;
	bool hidden;
	const char *why; /* of ACT_FAIL */
	void *state;     /* owned by the action */
	void *work;      /* of an action on files: its arguments, in the arena */
};

enum arg_type {
	ARG_TEXT,
	ARG_BOOL,
	ARG_INT,
	ARG_LINES,   /* a list of two line numbers */
	ARG_TIMEOUT, /* seconds: it is the action's own, not one of its args */
};

/* Description of an argument, for clients that request it. */
struct arg {
	const char *name;
	const char *description;
	enum arg_type type;
	bool required;
	const char *const
		*choices; /* the only values of a text; NULL at the end, or none */
};

/* How an action in progress shall end. */
enum act_stop {
	ACT_STOP_NONE,
	ACT_STOP_INT,  /* as by the interrupt key */
	ACT_STOP_TERM, /* as SIGTERM, after the interrupt key */
	ACT_STOP_KILL, /* kills the command, its descendants, and the shell */
};

struct action {
	const char *name;
	const struct arg *args; /* for agents; ends with a name of NULL */
	int (*start)(struct act *a);
	/* The client has disconnected; NULL if start never waits. */
	void (*abandon)(struct act *a);
	/*
	 * The client has disconnected and wants the work to end; NULL if abandon ends it.
	 */
	void (*cancel)(struct act *a);
	/* see act_stop; NULL: not supported */
	int (*stop)(struct act *a, enum act_stop how);
	/*
	 * Whether the action waits for its turn and then calls act_before_effect; NULL:
	 * never.
	 */
	bool (*late)(struct act *a);
	int (*resume)(struct act *a); /* see act_resume; NULL: not supported */
};

extern const struct action *const actions[];
extern const size_t actions_n;

/*
 * Reads an event, the object under "action" in a request. Returns 0; ERR_TYPE if it is no
 * action, with a message in *why; or -ENOMEM. The arena keeps what is read.
 */
int act_read_call(struct json_val event, struct arena *arena, struct act_call *call,
	const char **why) MUST_USE;
/* Starts the action. ACT_DONE, ACT_WAIT, ACT_FAIL or -ENOMEM. */
int act_start(struct act *a) MUST_USE;
/* Whether the action is a late one, see struct action. */
bool act_is_late(struct act *a);
/* A late action calls this right before it has an effect: 0; else it must have none. */
int act_before_effect(struct act *a) MUST_USE;
/*
 * In place of act_start, in a new process: continues what was started under this id.
 * ACT_WAIT; ERR_CLOSED when nothing is recorded about it.
 */
int act_resume(struct act *a) MUST_USE;
/* The action of that name; NULL. */
const struct action *act_find(const struct box *box, struct str name);
/* Its timeout in ms, TIMEOUT_MAX at most; 0: none. */
uint64_t act_timeout_ms(const struct act *a);
/* The client has disconnected: a->done will not be called, a may be freed. */
void act_abandon(struct act *a);
/* As act_abandon; what was begun is interrupted, unless it changes a file. */
void act_cancel(struct act *a);
/*
 * Asks the action to end; a->done reports the result as usual. ERR_CLOSED: this action
 * cannot be stopped this way; act_cancel works.
 */
int act_stop(struct act *a, enum act_stop how) MUST_USE;

/*
 * Arguments are read with the leniency of the wire contract: absent and null give the
 * default.
 */
/*
 * A string; ERR_TYPE when the argument has another type, or is absent and fallback.p is
 * NULL.
 */
int act_arg_str(
	struct act *a, const char *name, struct str fallback, struct str *out) MUST_USE;
/* true, false, or the strings that mean them. */
bool act_arg_bool(struct act *a, const char *name, bool fallback);
int64_t act_arg_int(struct act *a, const char *name, int64_t fallback);

#endif
