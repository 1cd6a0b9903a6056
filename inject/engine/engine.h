/*
 * A container engine (Docker, or Podman's compatible service) behind its unix socket, or
 * on another machine: finds it, agrees on a version of its API, sends requests.
 */
#ifndef INJECT_ENGINE_ENGINE_H
#define INJECT_ENGINE_ENGINE_H

#include "inject/engine/remote_engine.h"
#include "inject/http/http_client.h"
#include "inject/http/json_doc.h"
#include "limits.h"

enum { ENGINE_TARGET_MAX = 2048 };
/* The next step for the user after a refusal or an unexpected answer of an engine. */
#define ENGINE_NEXT ENGINE_NEXT_LOG "; od-runtime doctor checks the engine"
#define ENGINE_NEXT_LOG "read the engine's log (Docker: journalctl -u docker)"
/* The prefix of the names of temporary containers. */
#define ENGINE_OWN "od-runtime-"

struct engine {
	char path[ENGINE_PATH_MAX + 1];     /* of the socket; or tcp://... */
	const struct remote_engine *remote; /* NULL: the engine is on this machine */
	char prefix[16];                    /* "/v1.41" */
	unsigned minor;                     /* of the API version in prefix */
	bool podman;
	bool buildkit;        /* BuildKit is the default builder */
	bool ignores_signals; /* signals do not end requests */
	bool is_cleanup;      /* the requests are clean-up */
	bool silent;          /* a failed exchange returns its error and prints nothing */
	uint32_t idle_ms; /* the longest silence in an exchange; 0: INJECT_ENGINE_MS */
};

/* An answer that was read to its end. */
struct reply {
	unsigned status;
	struct buf body; /* owned */
};

/*
 * Finds the engine: host ("unix:///path", "tcp://..."; NULL: not given), DOCKER_HOST,
 * /var/run/docker.sock, Podman's sockets. Connects to it and sets the API version. 0,
 * -EINTR, -ENOMEM or FAIL_*.
 */
int engine_open(struct engine *e, const char *host) MUST_USE;

/*
 * Finds the engine as engine_open does, without a request to it. Later requests have no
 * version: engines use their newest one. podman and buildkit are not set. 0 or FAIL_*.
 */
int engine_locate(struct engine *e, const char *host) MUST_USE;
/* The second half of engine_open: connects and sets the API version. */
int engine_negotiate(struct engine *e) MUST_USE;

/*
 * The API version for requests to a server whose newest version is text: the lower of
 * that version and our newest. 0 with *minor (of 1.x); ERR_SYNTAX; ERR_VERSION: the
 * server is too old.
 */
int engine_choose_version(struct str text, unsigned *minor) MUST_USE;

/*
 * Sends a request with a JSON body (empty: none) and reads the whole answer. The target
 * is t, or made from fmt as in target_add; the version precedes it. 0 with any status,
 * -EINTR, or FAIL_*. The caller calls reply_free in any case.
 */
int engine_request(const struct engine *e, struct reply *r, const char *method,
	struct str body, const char *fmt, ...) PRINTF(5, 6) MUST_USE;
int engine_request_at(const struct engine *e, struct reply *r, const char *method,
	struct str body, const struct target *t) MUST_USE;
/*
 * As engine_request, for clean-up: signals do not end it and it prints nothing. The
 * answer is stored in reply, which may be NULL. 0: done, or the object was absent
 * already; ERR_TYPE: the engine refused; otherwise negative.
 */
int engine_cleanup(const struct engine *e, struct reply *reply, const char *method,
	const char *fmt, ...) PRINTF(4, 5);
int engine_cleanup_at(const struct engine *e, struct reply *reply, const char *method,
	const struct target *t);
/*
 * A copy of e for requests that create objects: a signal does not end such a request,
 * because it would stay unknown whether the object was created. The caller calls
 * stop_get_signal afterwards.
 */
struct engine engine_copy_nosignal(const struct engine *e);
/* A copy of e that returns errors of exchanges and does not print them, for polling. */
struct engine engine_copy_silent(const struct engine *e);
/*
 * Creates a container from its description; signals do not end the request. name: the
 * name of the container; NULL: a new unique name. 0 with the container's id, ended by a
 * NUL, in id; 1: another container has the name; the error of body, -EINTR, -ENOMEM, or
 * FAIL_* with "doing: reason" printed.
 */
int engine_create(const struct engine *e, const struct buf *body, const char *name,
	const char *doing, struct buf *id) MUST_USE;
/*
 * Cleans up after a container creation that the engine did not answer: removes the
 * container called name if it exists or appears within about two seconds, and if the
 * engine's description of it contains mark. Prints nothing.
 */
void engine_undo_create(const struct engine *e, const char *name, const char *mark);
void reply_init(struct reply *r);
void reply_free(struct reply *r);
/*
 * Copies the Id in the engine's answer to a creation into room bytes; "" if there is
 * none.
 */
void reply_read_id(const struct reply *r, char *id, size_t room);

/*
 * Begins a call whose answer is a stream; the version precedes q->target. 0 with the head
 * received, -EINTR, or FAIL_*. The caller closes c in any case.
 */
int engine_stream(const struct engine *e, struct http_client *c,
	const struct http_client_request *q, uint32_t idle_ms) MUST_USE;

/*
 * As engine_stream, but prints nothing and returns the error of the call, for optional
 * calls.
 */
int engine_try_stream(const struct engine *e, struct http_client *c,
	const struct http_client_request *q, uint32_t idle_ms) MUST_USE;

/*
 * As engine_stream, up to http_client_finish: the caller sends the body in pieces and
 * calls it.
 */
int engine_start(const struct engine *e, struct http_client *c,
	const struct http_client_request *q, uint32_t idle_ms) MUST_USE;

/* engine_start without a message: returns the error of the call. */
int engine_begin(const struct engine *e, struct http_client *c,
	const struct http_client_request *q, uint32_t idle_ms) MUST_USE;

/* Prints that the exchange failed with r, unless that was printed; returns FAIL_*. */
int engine_fail(const struct engine *e, int r);

/*
 * Prints the engine's message in the answer to a failed request, as "doing: message", and
 * returns FAIL_ENVIRONMENT. next as in out_fail; NULL: ENGINE_NEXT.
 */
int engine_fail_reply(const struct reply *r, const char *next, const char *fmt, ...)
	PRINTF(3, 4);
/* Appends the engine's message in a reply: "message" of its JSON, or the whole text. */
void engine_read_message(const struct reply *r, struct buf *out);

#endif
