/* How long a message of a stream may take: a peer may send a byte of it now and then. */
#ifndef INJECT_MESSAGE_LIMIT_H
#define INJECT_MESSAGE_LIMIT_H

#include "inject/call.h"

/* Zeroed is a valid start, and the state behind a message that is complete. */
struct message_limit {
	uint64_t began; /* when the message began; 0: none has */
	uint64_t moved; /* bytes of the call by then */
};

/*
 * coming: a message has begun that is not complete. True if it takes longer than a grace
 * of WS_DEAD_MS, and the rest at INJECT_RATE.
 */
bool message_limit_is_over(struct message_limit *l, const struct call *c, bool coming);

#endif
