/*
 * A registry, asked over HTTP or HTTPS: names resolved, logged in to when it asks for
 * that, redirects followed by the rules of inject/url.h and inject/auth.h. Secrets go to
 * the origin they are for and to no other; where strangers lead us is looked at before
 * we connect.
 */
#ifndef INJECT_REMOTE_H
#define INJECT_REMOTE_H

#include "inject/auth.h"
#include "inject/call.h"
#include "inject/retry.h"

struct remote_conf {
	struct str host;        /* "host" or "host:port", as in a name of an image */
	const char *ca;         /* a PEM file; NULL for those that the machine has */
	const char *realm_host; /* one more host that may hear the login, or NULL */
	bool plain;             /* http and not https; of itself only on loopback */
};

struct remote {
	struct remote_conf conf;
	struct str name; /* of the registry, in config.json */
	struct url home; /* borrows text */
	struct buf text;
	struct buf certs;            /* path of what docker keeps for it; may be empty */
	struct tls_credentials *own; /* our certificate for it; may be NULL */
	struct tls_trust *trust;     /* for it; NULL until it is needed */
	struct tls_trust *others;    /* for where it leads us; the same */
	struct login login;
	bool login_known;
	struct auth auth;
	enum reach reach; /* of home, when it was */
	bool reached;
	struct call link; /* the connection to home */
	bool linked;
	struct call other; /* the one to wherever it has sent us */
	bool strayed;      /* the answer is there */
	struct buf at;     /* the address that at_url borrows */
	struct url at_url; /* where the answer came from */
	struct retry retry;
	struct arena arena;
};

struct remote_request {
	const char *method;
	const struct target *target; /* at the registry; or a Location that it gave */
	struct str scope;            /* of a token; see auth_header */
	const char *headers;
	const char *type; /* of the body, which is either of these: */
	struct str body;
	uint64_t put_n; /* bytes that put will send; may be asked for them again */
	int (*put)(void *arg, struct call *c); /* 0; 1: not wanted any more; negative */
	void *arg;
	bool follow; /* redirects; never with a body */
};

/* 0; FAIL_* with a line printed. conf's strings stay the caller's. */
int remote_init(struct remote *r, const struct remote_conf *conf) MUST_USE;
void remote_free(struct remote *r);

/*
 * Sends a request; again with a token after 401, and after a pause where the registry
 * refuses for now (retry.h). 0 with any status but 401 in *c, whose body is to be read;
 * then, and after errors, remote_done. -EINTR; FAIL_* with a line printed.
 */
int remote_ask(
	struct remote *r, const struct remote_request *q, struct call **c) MUST_USE;
void remote_done(struct remote *r);
/*
 * Reads and discards the body of an answer, so that the connection can be kept. A long
 * or slow body is not read: a new connection costs less. 0 or -EINTR.
 */
int remote_drain(struct call *c) MUST_USE;

/*
 * Prints what the registry says in *c, which was not hoped for, as "doing: words", and
 * returns FAIL_ENVIRONMENT.
 */
int remote_refused(struct remote *r, struct call *c, const char *fmt, ...) PRINTF(3, 4);

/* Says that the exchange broke off with err, unless that was said; returns FAIL_*. */
int remote_fail(struct remote *r, int err);

#endif
