/* A running sandbox: where it listens, how it is asked. */
#ifndef INJECT_SANDBOX_H
#define INJECT_SANDBOX_H

#include "inject/engine.h"
#include "inject/state.h"

/* Inside; outside it is any port of 127.0.0.1. And as engines write it. */
enum { SANDBOX_PORT = 8000 };
#define SANDBOX_PORT_NAME "8000/tcp"

struct sandbox {
	struct state state; /* name, id, key */
	bool running;
	bool paused;      /* and running */
	bool injected;    /* somebody else's container that our client is in */
	bool auto_remove; /* the engine removes it once it has stopped */
	int exit_code;
	int stop_seconds;            /* from its stop signal to SIGKILL; -1: no limit */
	uint16_t port;               /* outside; 0 when it does not run, or has none */
	uint16_t inside;             /* the same in its own network */
	const struct engine *engine; /* borrowed: the way where there is no port */
	bool far;                    /* or where it is not on this machine, perhaps */
};

/*
 * Asks the engine about the container called name, or with that id; state_is_name
 * of either. 0 with all but the key; 1 when there is none; -EINTR, -ENOMEM or
 * FAIL_*, also for a container that is no sandbox of ours.
 */
int sandbox_find(const struct engine *e, const char *name, struct sandbox *s) MUST_USE;

/*
 * The port of 127.0.0.1 that an inspected container has for one inside; 0 for none. The
 * port of the label counts for a sandbox in the host's network alone, which no image
 * can choose.
 */
uint16_t sandbox_published(struct doc *d, uint16_t inside);

/*
 * The port that the labels of a sandbox name for the host's network, where mode is that
 * network; 0 otherwise. Engines create the mode from our request alone.
 */
uint16_t sandbox_host_port(struct doc *d, struct json_val labels, struct str mode);

/*
 * Whether the engine says, within idle_ms, that it does not run where it did: it was
 * stopped, removed, or started again. An engine that says nothing says nothing of that.
 * Without a word to the user.
 */
bool sandbox_is_gone(const struct sandbox *s, uint32_t idle_ms);

/* As sandbox_find, and that there is none is an error that is told. */
int sandbox_need(const struct engine *e, const char *name, struct sandbox *s) MUST_USE;

/* Fills in the key of one that was found: 0; 1 when it is not known here; FAIL_*. */
int sandbox_key(struct sandbox *s) MUST_USE;

/* The same, but it has to run, and its key has to be known here. */
int sandbox_open(const struct engine *e, const char *name, struct sandbox *s) MUST_USE;

/*
 * engine_open and sandbox_open, usually with one request to the engine. e is valid for
 * requests about this sandbox.
 */
int sandbox_open_quick(
	struct engine *e, const char *host, const char *name, struct sandbox *s) MUST_USE;

/* Whether we are in a container: its loopback may not be the engine's machine's. */
bool sandbox_from_container(void);

/* Asks GET /alive once: 0 when ready, 1 when not yet, -EINTR, -ENOMEM. */
int sandbox_alive(const struct sandbox *s, uint32_t idle_ms) MUST_USE;

/*
 * Sends one action (JSON, with its envelope) and keeps the observation, which is
 * a JSON object, in reply. idle_ms as in call. 0, -EINTR, -ENOMEM or FAIL_*.
 * reply_free in any case.
 */
int sandbox_act(const struct sandbox *s, struct str action, uint32_t idle_ms,
	struct reply *reply) MUST_USE;

/*
 * Any other question of it, with its key; a body is JSON. 0 with any status; errors as
 * above. sandbox_refused prints what it says in answer and returns FAIL_ENVIRONMENT.
 */
int sandbox_ask(const struct sandbox *s, const char *method, const struct target *target,
	struct str body, uint32_t idle_ms, struct reply *reply) MUST_USE;
int sandbox_refused(const struct sandbox *s, const struct reply *reply);

/*
 * Begins a call of it, with its key, up to call_finish, which is the caller's; headers
 * of q have 256 bytes at most. The caller closes c in any case. 0, -EINTR, -ENOMEM or
 * FAIL_*; sandbox_fail says that talking failed with r and returns such a code.
 */
int sandbox_start(const struct sandbox *s, struct call *c, const struct call_request *q,
	uint32_t idle_ms) MUST_USE;
int sandbox_fail(const struct sandbox *s, int r);

/*
 * As sandbox_start, but prints nothing and returns the errors of call and connection.
 * sandbox_next sends another request over the connection of c, whose answer was read to
 * its end; ERR_CLOSED if the sandbox does not keep the connection.
 */
int sandbox_try(const struct sandbox *s, struct call *c, const struct call_request *q,
	uint32_t idle_ms) MUST_USE;
int sandbox_next(
	const struct sandbox *s, struct call *c, const struct call_request *q) MUST_USE;

/* Takes away what belonged to a container that is gone. */
void sandbox_forget(const struct engine *e, const struct state *s);
/* Takes a container away, running or not, and its state. */
void sandbox_remove(const struct engine *e, const struct state *s);

#endif
