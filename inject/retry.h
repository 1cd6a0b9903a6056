/*
 * When a request that a registry refuses for now (RFC 6585 section 4, RFC 9110 section
 * 15.6) is sent again. Without I/O: it computes whether and after which pause.
 */
#ifndef INJECT_RETRY_H
#define INJECT_RETRY_H

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

/* How a request changes the registry. */
enum retry_kind {
	RETRY_READ,   /* not at all: GET and HEAD */
	RETRY_REPEAT, /* twice is as good as once: an upload's begin, a manifest */
	RETRY_BYTES,  /* bytes of an upload, of which the registry may have kept some */
};

struct retry {
	unsigned tries;  /* of the request at hand, that were refused */
	uint64_t pause;  /* ms: the upper bound of the last pause */
	uint64_t waited; /* ms: in all pauses of this registry */
};

/*
 * Whether to send a request again that was answered with status, whose Retry-After field
 * is after ("" without), at now (seconds since 1970); jitter is random. True with the
 * pause in ms.
 */
bool retry_pause(struct retry *r, enum retry_kind kind, unsigned status, struct str after,
	int64_t now, uint32_t jitter, uint64_t *ms) MUST_USE;

/* Whether a status means that the registry refuses for now. */
bool retry_is_temporary(unsigned status);

#endif
