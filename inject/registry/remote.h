/*
 * An HTTP or HTTPS client for a registry: resolves names, logs in if the registry
 * requires it, and follows redirects by the rules of codec/http/url.h and auth.h. A
 * secret is sent only to the origin that it is for. An address that a redirect or a
 * challenge names is checked before we connect.
 */
#ifndef INJECT_REGISTRY_REMOTE_H
#define INJECT_REGISTRY_REMOTE_H

#include "inject/http/http_client.h"
#include "inject/http/retry.h"
#include "inject/registry/auth.h"

struct remote_conf {
	struct str host;        /* "host" or "host:port", as in a name of an image */
	const char *ca;         /* a PEM file; NULL: the authorities of this machine */
	const char *realm_host; /* another host that may receive the login, or NULL */
	bool plain;             /* http and not https; the default only on loopback */
};

struct remote {
	struct remote_conf conf;
	struct str name; /* of the registry, in config.json */
	struct url home; /* borrows text */
	struct buf text;
	struct buf certs; /* folder of docker's certificates for it; may be empty */
	struct tls_credentials *own; /* our certificate for it; may be NULL */
	struct tls_trust *trust;     /* for the registry; NULL until needed */
	struct tls_trust *others;    /* for hosts that it redirects to; as trust */
	struct login login;
	bool login_known;
	struct auth auth;
	enum reach reach; /* of home, once it was reached */
	bool reached;
	struct http_client link; /* the connection to home */
	bool linked;
	struct http_client other; /* the connection to another host that it named */
	bool uses_other;          /* the answer is on other */
	struct buf at;            /* the text of at_url */
	struct url at_url;        /* the address that the answer came from */
	struct retry retry;
	struct arena arena;
};

struct remote_request {
	const char *method;
	const struct target *target; /* at the registry; or a Location that it sent */
	struct str scope;            /* of a token; see auth_write_header */
	const char *headers;
	const char *type; /* of the body, which is body or the bytes of put */
	struct str body;
	uint64_t put_n; /* bytes that put will send; put may be called again */
	int (*put)(void *arg,
		struct http_client *c); /* 0; 1: not needed any more; negative */
	void *arg;
	bool follow; /* redirects; never with a body */
};

/* 0; FAIL_* with a line printed. The strings of conf are borrowed. */
int remote_init(struct remote *r, const struct remote_conf *conf) MUST_USE;
void remote_free(struct remote *r);

/*
 * Sends a request; sends it again with a token after 401, and after a pause if the
 * registry refuses for now (retry.h). 0 with any status but 401 in *c; the caller reads
 * the body. The caller calls remote_release afterwards, also after errors. -EINTR; FAIL_*
 * with a line printed.
 */
int remote_perform(struct remote *r, const struct remote_request *q,
	struct http_client **c) MUST_USE;
void remote_release(struct remote *r);
/*
 * Reads and discards the body of an answer, so that the connection can be kept. A long
 * or slow body is not read: a new connection costs less. 0 or -EINTR.
 */
int remote_drain(struct http_client *c) MUST_USE;

/*
 * Prints the registry's message in *c, an answer with an unexpected status, as "doing:
 * message", and returns FAIL_ENVIRONMENT.
 */
int remote_fail_status(struct remote *r, struct http_client *c, const char *fmt, ...)
	PRINTF(3, 4);

/* Prints that the exchange failed with err, unless that was printed; returns FAIL_*. */
int remote_fail(struct remote *r, int err);

#endif
