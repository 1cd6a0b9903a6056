/*
 * The tokens of a backend, derived from its secret. The backend stores none: a token is
 * computed again and compared. An engine without I/O.
 *
 *	sandbox   NAME~HEX, HEX = HMAC-SHA-256(secret, "od-runtime sandbox token\0NAME")
 *	operator  HEX = HMAC-SHA-256(secret, "od-runtime operator token")
 */
#ifndef INJECT_NAMES_LISTEN_TOKEN_H
#define INJECT_NAMES_LISTEN_TOKEN_H

#include "base/buf.h"
#include "base/hash.h"

enum { LISTEN_SECRET_MIN = 16 };

struct listen_tokens {
	struct hmac_key key;
};

void listen_tokens_init(struct listen_tokens *t, struct str secret);

/* Whether a sandbox may have this name: it is a segment of paths. */
bool listen_name_is_valid(struct str name);

/* Append the token of the sandbox, or the operator's. */
void listen_token_put_sandbox(
	const struct listen_tokens *t, struct str name, struct buf *out);
void listen_token_put_operator(const struct listen_tokens *t, struct buf *out);

/*
 * Whether the token is that of a sandbox, with *name in it, or the operator's. Both
 * compare in constant time.
 */
bool listen_token_is_sandbox(
	const struct listen_tokens *t, struct str token, struct str *name);
bool listen_token_is_operator(const struct listen_tokens *t, struct str token);

#endif
