/* A time limit for a message of a stream, whose peer may send single bytes slowly. */
#ifndef INJECT_HTTP_MESSAGE_LIMIT_H
#define INJECT_HTTP_MESSAGE_LIMIT_H

#include "inject/http/http_client.h"

/* Zeroed at the start and after each complete message. */
struct message_limit {
	uint64_t began; /* start of the message; 0: none has begun */
	uint64_t moved; /* bytes of the call at that time */
};

/*
 * coming: a message has begun and is not complete. True if it takes longer than a grace
 * period of WS_DEAD_MS and the rest arrives more slowly than INJECT_RATE.
 */
bool message_limit_is_over(
	struct message_limit *l, const struct http_client *c, bool coming);

#endif
