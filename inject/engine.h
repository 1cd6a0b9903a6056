/*
 * A container engine (Docker, or Podman's compatible service) behind its unix socket, or
 * on another machine: finding it, agreeing on a version of its API, asking it things.
 */
#ifndef INJECT_ENGINE_H
#define INJECT_ENGINE_H

#include "inject/call.h"
#include "inject/doc.h"
#include "inject/far.h"
#include "limits.h"

enum { ENGINE_TARGET_MAX = 2048 };
/* The next step after a refusal or an unexpected answer of an engine. */
#define ENGINE_NEXT "look into the engine's log; od-runtime doctor tries what it can do"
/* The prefix of the names of temporary containers. */
#define ENGINE_OWN "od-runtime-"

struct engine {
	char path[ENGINE_PATH_MAX + 1]; /* of the socket; or tcp://... */
	const struct far *far;          /* NULL: on this machine */
	char prefix[16];                /* "/v1.41" */
	unsigned minor;                 /* of that version */
	bool podman;
	bool buildkit;    /* its default builder */
	bool calm;        /* signals do not end what is asked */
	bool tidies;      /* what is asked is clean-up */
	bool quiet;       /* a failed exchange is returned as its error, not printed */
	uint32_t idle_ms; /* its longest silence when it is asked; 0: INJECT_ENGINE_MS */
};

/* An answer that was read to its end. */
struct reply {
	unsigned status;
	struct buf body; /* owned */
};

/*
 * Finds the engine: host ("unix:///path", "tcp://..."; NULL for none given), DOCKER_HOST,
 * /var/run/docker.sock, Podman's sockets; greets it and settles the version. 0,
 * -EINTR, -ENOMEM or FAIL_*.
 */
int engine_open(struct engine *e, const char *host) MUST_USE;

/*
 * Finds the engine as engine_open does, without a request to it. Later requests have no
 * version: engines use their newest one. podman and buildkit are not set. 0 or FAIL_*.
 */
int engine_locate(struct engine *e, const char *host) MUST_USE;
/* The rest of engine_open. */
int engine_greet(struct engine *e) MUST_USE;

/*
 * The version to speak to a server whose newest is text: the lower of that and
 * ours. 0 with *minor (of 1.x); ERR_SYNTAX; ERR_VERSION when it is too old.
 */
int engine_version(struct str text, unsigned *minor) MUST_USE;

/*
 * One question with a JSON body (empty for none) and an answer that is kept whole.
 * The target is t, or made from fmt as target_add has it, behind the version. 0 with
 * any status, -EINTR, or FAIL_*. reply_free in any case.
 */
int engine_ask(const struct engine *e, struct reply *r, const char *method,
	struct str body, const char *fmt, ...) PRINTF(5, 6) MUST_USE;
int engine_ask_at(const struct engine *e, struct reply *r, const char *method,
	struct str body, const struct target *t) MUST_USE;
/*
 * The same for clean-up: signals do not end it and nothing is ever printed. The
 * answer goes to reply, which may be NULL. 0 when done or not there to begin with;
 * ERR_TYPE when refused; otherwise negative.
 */
int engine_tidy(const struct engine *e, struct reply *reply, const char *method,
	const char *fmt, ...) PRINTF(4, 5);
int engine_tidy_at(const struct engine *e, struct reply *reply, const char *method,
	const struct target *t);
/*
 * e as it is used to make things: to be told to stop must not leave us in doubt
 * whether something was made. Ask stop_signal afterwards.
 */
struct engine engine_calm(const struct engine *e);
/* A copy of e that returns errors of exchanges and does not print them, for polling. */
struct engine engine_quiet(const struct engine *e);
/*
 * Creates a container from its description, calmly, under name, or, when that is NULL,
 * under one that nobody else has. 0 with its id, ended by a NUL, in id; 1 when there is
 * another of that name; body's error, -EINTR, -ENOMEM, FAIL_*, of which people are told
 * as "doing: words".
 */
int engine_create(const struct engine *e, const struct buf *body, const char *name,
	const char *doing, struct buf *id) MUST_USE;
/*
 * The engine has not answered to the creation of the container called name: what it made
 * all the same, or makes within a second or two, is removed, if the engine's description
 * of it holds mark. Never prints.
 */
void engine_take_back(const struct engine *e, const char *name, const char *mark);
void reply_init(struct reply *r);
void reply_free(struct reply *r);
/* The Id of what the engine has made, into room bytes; "" when it gives none. */
void reply_id(const struct reply *r, char *id, size_t room);

/*
 * Begins a call whose answer is a stream; q->target stands behind the version. 0
 * with the head received, -EINTR, or FAIL_*. The caller closes c in any case.
 */
int engine_stream(const struct engine *e, struct call *c, const struct call_request *q,
	uint32_t idle_ms) MUST_USE;

/* The same without a word when it fails: the error of the call, for what is no must. */
int engine_listen(const struct engine *e, struct call *c, const struct call_request *q,
	uint32_t idle_ms) MUST_USE;

/* engine_stream up to call_finish, which is the caller's: for pieces in between. */
int engine_start(const struct engine *e, struct call *c, const struct call_request *q,
	uint32_t idle_ms) MUST_USE;

/* engine_start without a message: the error of the call. */
int engine_begin(const struct engine *e, struct call *c, const struct call_request *q,
	uint32_t idle_ms) MUST_USE;

/* Says that talking failed with r, unless that was said before; returns FAIL_*. */
int engine_fail(const struct engine *e, int r);

/*
 * Prints what the engine says in answer to a failed request, as "doing: words",
 * and returns FAIL_ENVIRONMENT. next as in out_fail; NULL is ENGINE_NEXT.
 */
int engine_refused(const struct reply *r, const char *next, const char *fmt, ...)
	PRINTF(3, 4);
/* The engine's words in a reply: "message" of its JSON, or all of it. */
void engine_words(const struct reply *r, struct buf *out);

#endif
