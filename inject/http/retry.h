/*
 * Decides when a request that a registry refuses for now (RFC 6585 section 4, RFC 9110
 * section 15.6) is sent again. Without I/O: it computes whether and after which pause.
 */
#ifndef INJECT_HTTP_RETRY_H
#define INJECT_HTTP_RETRY_H

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

/* The effect of a request on the registry. */
enum retry_kind {
	RETRY_READ,   /* none: GET and HEAD */
	RETRY_REPEAT, /* idempotent: the begin of an upload, a manifest */
	RETRY_BYTES,  /* bytes of an upload, of which the registry may have kept some */
};

struct retry {
	unsigned tries;  /* refused attempts of the current request */
	uint64_t pause;  /* ms: the upper bound of the last pause */
	uint64_t waited; /* ms: in all pauses of this registry */
};

/*
 * Whether to send a request again that was answered with status. after is its Retry-After
 * field ("" without), now is in seconds since 1970, jitter is random. True with the pause
 * in ms.
 */
bool retry_pause(struct retry *r, enum retry_kind kind, unsigned status, struct str after,
	int64_t now, uint32_t jitter, uint64_t *ms) MUST_USE;

/* Whether a status means that the registry refuses for now. */
bool retry_is_temporary(unsigned status);

#endif
