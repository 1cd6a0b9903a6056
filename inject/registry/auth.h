/*
 * Authentication at a registry (the distribution specification's token authentication):
 * Basic at the registry itself, or Bearer with tokens from the server that it names. An
 * engine without I/O: it makes the requests and parses the answers.
 */
#ifndef INJECT_REGISTRY_AUTH_H
#define INJECT_REGISTRY_AUTH_H

#include "codec/http/url.h"
#include "inject/registry/challenge.h"
#include "inject/registry/login.h"

enum { REGISTRY_TOKENS_MAX = 8 }; /* scopes; an append needs three */

struct auth {
	const struct url *home; /* the registry */
	const char *realm_host; /* another host that may receive the login; or NULL */
	const struct login *login;
	bool basic; /* the registry requires the login itself */
	size_t tokens_n;
	struct auth_token {
		struct str scope, value;
		uint64_t until; /* monotonic milliseconds */
	} tokens[REGISTRY_TOKENS_MAX];
	struct arena arena; /* memory of the tokens */
};

/* The request for a token. */
struct auth_request {
	struct url url; /* in text */
	bool post;
	struct buf text;    /* the address */
	struct buf headers; /* lines for it; for that origin only */
	struct buf body;    /* of a POST, a form */
};

/* The caller owns home, realm_host and login. auth_free wipes the tokens. */
void auth_init(struct auth *a, const struct url *home, const struct login *login,
	const char *realm_host);
void auth_free(struct auth *a);

/*
 * Appends the Authorization line for a request to the url with this scope (such as
 * "repository:a/b:pull"; several are separated by blanks). Appends nothing unless the
 * url has the registry's origin and there is a login or token that it requires.
 */
void auth_write_header(const struct auth *a, const struct url *to, struct str scope,
	uint64_t now, struct buf *out);

/*
 * Handles the challenge of a 401 of the registry. 0: repeat the request; 1: *q is the
 * request for a token, whose answer goes to auth_read_token; ERR_TYPE: the required
 * login is not supported, missing or refused; ERR_SYNTAX, -ENOMEM. After an error *why
 * is a static sentence. Frees nothing of q.
 */
int auth_answer_challenge(struct auth *a, const struct challenge *c, struct str scope,
	struct auth_request *q, const char **why) MUST_USE;
void auth_request_free(struct auth_request *q);

/* The token server's answer, JSON. 0; ERR_SYNTAX; ERR_LIMIT, -ENOMEM. */
int auth_read_token(
	struct auth *a, struct str scope, struct str json, uint64_t now) MUST_USE;

#endif
