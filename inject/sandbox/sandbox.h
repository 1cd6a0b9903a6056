/* A running sandbox: its address and the requests to it. */
#ifndef INJECT_SANDBOX_SANDBOX_H
#define INJECT_SANDBOX_SANDBOX_H

#include "inject/engine/engine.h"
#include "inject/names/state.h"

/*
 * The port in the sandbox, as a number and as engines write it. The published port is any
 * port of 127.0.0.1.
 */
enum { SANDBOX_PORT = 8000 };
#define SANDBOX_PORT_NAME "8000/tcp"

struct sandbox {
	struct state state; /* name, id, key */
	bool running;
	bool paused;      /* and running */
	bool injected;    /* a foreign container with our client in it */
	bool auto_remove; /* the engine removes it once it has stopped */
	int exit_code;
	int stop_seconds;            /* from its stop signal to SIGKILL; -1: no limit */
	uint16_t port;               /* published; 0: it does not run, or has none */
	uint16_t inside;             /* the port in its own network */
	const struct engine *engine; /* borrowed; carries the bytes if there is no port */
	bool may_be_remote;          /* the port may be on another machine */
};

/*
 * Finds the container called name, or with that id; state_is_name accepts either. 0 with
 * all members but the key; 1: there is none; -EINTR, -ENOMEM or FAIL_*, also if the
 * container is no sandbox of ours.
 */
int sandbox_find(const struct engine *e, const char *name, struct sandbox *s) MUST_USE;

/*
 * The port of 127.0.0.1 at which an inspected container publishes the port inside; 0:
 * none. For a sandbox in the host's network, which no image can choose, the port of the
 * label counts.
 */
uint16_t sandbox_published_port(struct json_doc *d, uint16_t inside);

/*
 * The port that the labels of a sandbox name for the host's network, if mode is that
 * network; otherwise 0. The engine takes the mode only from our request, not from an
 * image.
 */
uint16_t sandbox_host_port(struct json_doc *d, struct json_val labels, struct str mode);

/*
 * Whether the engine reports, within idle_ms, that the sandbox does not run at its port
 * any more: it was stopped, removed, or started again. False if the engine does not
 * answer. Prints nothing.
 */
bool sandbox_is_stopped(const struct sandbox *s, uint32_t idle_ms);

/* As sandbox_find, but a missing sandbox is an error, with a line printed. */
int sandbox_require(const struct engine *e, const char *name, struct sandbox *s) MUST_USE;

/*
 * Fills in the key of a sandbox that was found: 0; 1: the key is not known here; FAIL_*.
 */
int sandbox_load_key(struct sandbox *s) MUST_USE;

/* As sandbox_require, but the sandbox must run and its key must be known here. */
int sandbox_open(const struct engine *e, const char *name, struct sandbox *s) MUST_USE;

/*
 * engine_open and sandbox_open, usually with one request to the engine. e is valid for
 * requests about this sandbox.
 */
int sandbox_open_quick(
	struct engine *e, const char *host, const char *name, struct sandbox *s) MUST_USE;

/*
 * Whether this process is in a container, whose loopback may not be that of the engine's
 * machine.
 */
bool sandbox_is_in_container(void);

/* Sends GET /alive once: 0: ready; 1: not yet; -EINTR, -ENOMEM. */
int sandbox_check_alive(const struct sandbox *s, uint32_t idle_ms) MUST_USE;

/*
 * Sends an action (JSON, with its envelope) and stores the observation, which is a JSON
 * object, in reply. idle_ms as in call. 0, -EINTR, -ENOMEM or FAIL_*. reply_free in any
 * case.
 */
int sandbox_send_action(const struct sandbox *s, struct str action, uint32_t idle_ms,
	struct reply *reply) MUST_USE;

/*
 * Sends any other request to the sandbox, with its key; a body is JSON. 0 with any
 * status; errors as above. sandbox_fail_reply prints the sandbox's error message and
 * returns FAIL_ENVIRONMENT.
 */
int sandbox_request(const struct sandbox *s, const char *method,
	const struct target *target, struct str body, uint32_t idle_ms,
	struct reply *reply) MUST_USE;
int sandbox_fail_reply(const struct sandbox *s, const struct reply *reply);

/*
 * Begins a call to the sandbox, with its key, up to http_client_finish, which the caller
 * calls; headers of q have 256 bytes at most. The caller closes c in any case. 0,
 * -EINTR, -ENOMEM or FAIL_*; sandbox_fail prints that the exchange failed with r and
 * returns such a code.
 */
int sandbox_start(const struct sandbox *s, struct http_client *c,
	const struct http_client_request *q, uint32_t idle_ms) MUST_USE;
int sandbox_fail(const struct sandbox *s, int r);

/*
 * As sandbox_start, but prints nothing and returns the errors of call and connection.
 * sandbox_send_next sends another request over the connection of c, whose answer was
 * read to its end; ERR_CLOSED if the sandbox does not keep the connection.
 */
int sandbox_try_start(const struct sandbox *s, struct http_client *c,
	const struct http_client_request *q, uint32_t idle_ms) MUST_USE;
int sandbox_send_next(const struct sandbox *s, struct http_client *c,
	const struct http_client_request *q) MUST_USE;

/* Removes the state and the overlay volume of a container that is gone. */
void sandbox_remove_state(const struct engine *e, const struct state *s);
/* Removes a container, running or not, its state and its overlay volume. */
void sandbox_remove(const struct engine *e, const struct state *s);

#endif
