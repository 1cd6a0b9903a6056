/*
 * Actions: what a request asks for, and the observation that answers it.
 *
 * An action is one file with one const struct action; actions[] in table.c lists
 * those that every sandbox has, plugins bring more (plug/plug.h). Whatever the agent
 * can mend is an observation with HTTP 200; only a request that is no action at all is
 * refused with a status. The exact shapes and words are in docs/protocol.md.
 */
#ifndef ACT_ACT_H
#define ACT_ACT_H

#include "base/json.h"
#include "base/jw.h"
#include "config.h"
#include "loop/loop.h"
#include "proc/store.h"

struct act;
struct action;
struct session;
struct plugs;
struct shell_setup;

/* What all actions of this sandbox share. Made by srv; lives as long as the server. */
struct box {
	struct loop *loop;
	struct store *store;
	const struct config *config;
	const struct spawn_user *user; /* of shells and new files; NULL: ours */
	bool gives_cwd; /* the first working directory was given to that user by root */
	const char *user_name;                 /* as a shell would show it */
	char host_name[65];                    /* up to the first dot */
	const struct shell_setup *shell_setup; /* what shells are made from; no name */
	struct session *session;               /* the default one, then the others */
	bool again;        /* an earlier process of this server has crashed */
	bool knows_static; /* a client has sent is_static: it is of 0.34 or later */
	/* Actions that plugins bring, by name; NULL: there are none. */
	const struct action *(*more_actions)(const struct box *box, struct str name);
	/* A session is there now, or gone; may be NULL. */
	void (*session_told)(void *arg, const char *name, bool there);
	void *session_told_arg;
	struct plugs *plugs; /* of those; NULL in a box without plugins */
};

enum act_result {
	ACT_DONE, /* the observation is in act->out */
	ACT_WAIT, /* act->done follows */
	ACT_FAIL, /* what was asked for is not there: act->why says it with a 500 */
};

/* Called once after ACT_WAIT, when the observation is in act->out. */
typedef void act_done_fn(struct act *a);

typedef bool act_left_fn(const struct act *a);

/* The first working directory, absolute. */
struct str box_cwd(const struct box *box);

/* One action on its way. The caller fills in the first part and keeps it alive. */
struct act {
	struct box *box;
	struct arena *arena; /* of the request */
	struct buf *out;     /* receives the observation */
	struct json_val event;
	act_done_fn *done;
	act_left_fn *left; /* whether the one who asked seems to have left; may be NULL */
	/* The same, but he may ask for the answer later; may be NULL. */
	act_left_fn *alone;
	/*
	 * Before a late action has an effect: 0, or -errno and it must have none; may be
	 * NULL.
	 */
	int (*before_effect)(struct act *a);
	/*
	 * It has printed bytes, and comes in its source to this offset; may be NULL, and
	 * must not call back.
	 */
	void (*printed)(struct act *a, struct str bytes, uint64_t source);
	struct str id;       /* of the caller's; may be empty */
	bool printed_before; /* before act_resume, up to source */
	uint64_t source;
	uint64_t spent; /* ms of its timeout before act_resume */
	void *user;

	const struct action *action;
	struct str name;
	struct json_val args;
	double timeout; /* seconds; 0: none */
	bool hidden;
	const char *why; /* of ACT_FAIL */
	void *state;     /* of the action */
	void *work;      /* of an action on files: its arguments, in the arena */
};

enum arg_type {
	ARG_TEXT,
	ARG_BOOL,
	ARG_INT,
	ARG_LINES,   /* a list of two line numbers */
	ARG_TIMEOUT, /* seconds: it is the action's own, not one of its args */
};

/* What clients that ask for it are told about an argument. */
struct arg {
	const char *name;
	const char *about;
	enum arg_type type;
	bool required;
	const char *const
		*words; /* the only values of a text; NULL at the end, or none */
};

/* How what is on its way shall end. */
enum act_stop {
	ACT_STOP_NONE,
	ACT_STOP_INT,  /* as by the interrupt key */
	ACT_STOP_TERM, /* by SIGTERM as well */
	ACT_STOP_KILL, /* with all that has come out of it, and its shell */
};

struct action {
	const char *name;
	const struct arg *args; /* for agents; ends with a name of NULL */
	int (*start)(struct act *a);
	/* The one who asked has hung up; NULL where start never waits. */
	void (*abandon)(struct act *a);
	/* The same, and wants the work to end; NULL where abandon ends it. */
	void (*cancel)(struct act *a);
	int (*stop)(struct act *a, enum act_stop how); /* see act_stop; NULL: cannot be */
	/* Whether it waits for its turn, then calls act_before_effect; NULL: never. */
	bool (*late)(struct act *a);
	int (*resume)(struct act *a); /* see act_resume; NULL: it cannot be */
};

extern const struct action *const actions[];
extern const size_t actions_n;

/*
 * Starts the action of a->event, the object under "action" in a request. ACT_DONE,
 * ACT_WAIT or ACT_FAIL; ERR_TYPE when the event is no action (words in *why), -ENOMEM.
 */
int act_start(struct act *a, const char **why) MUST_USE;
/* The first half of it: reads the event, and does nothing. 0, or as of act_start. */
int act_read(struct act *a, const char **why) MUST_USE;
/* The other half. */
int act_start_read(struct act *a) MUST_USE;
/* The same for a name, and a->args and a->timeout that are set already. */
int act_start_named(struct act *a, struct str name) MUST_USE;
/* After act_read: whether it is a late one. */
bool act_is_late(struct act *a);
/* A late one calls this right before it has an effect: 0, or it must have none. */
int act_before_effect(struct act *a) MUST_USE;
/*
 * In place of act_start_read, in a new process: goes on with what was started under this
 * id. ACT_WAIT; ERR_CLOSED when nothing is known of it.
 */
int act_resume(struct act *a) MUST_USE;
/* The action of that name; NULL. */
const struct action *act_find(const struct box *box, struct str name);
/* Its timeout in ms, TIMEOUT_MAX at most; 0: none. */
uint64_t act_timeout_ms(const struct act *a);
/* The one who asked is gone: a->done will not be called, a may be freed. */
void act_abandon(struct act *a);
/* The same, and what was begun is interrupted, unless it changes a file. */
void act_cancel(struct act *a);
/*
 * What has begun shall end; a->done tells how, as it would. ERR_CLOSED: this one cannot
 * be told, but act_cancel can.
 */
int act_stop(struct act *a, enum act_stop how) MUST_USE;

/* Arguments, with the contract's leniency; absent and null give the default. */
/* A string; ERR_TYPE when it is none, or absent and fallback.p is NULL. */
int arg_str(
	struct act *a, const char *name, struct str fallback, struct str *out) MUST_USE;
/* true, false, or the strings that mean them. */
bool arg_bool(struct act *a, const char *name, bool fallback);
int64_t arg_int(struct act *a, const char *name, int64_t fallback);

#endif
