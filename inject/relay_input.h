/*
 * The bytes that a client sends behind the head of its request: how many of them belong
 * to that request and go to the sandbox. A next request on the same connection, which
 * would carry the session key, never does. An engine without I/O.
 */
#ifndef INJECT_RELAY_INPUT_H
#define INJECT_RELAY_INPUT_H

#include "net/body.h"
#include "net/request.h"

#include <sys/types.h>

enum relay_input_state {
	RELAY_INPUT_BODY,
	RELAY_INPUT_UPGRADE, /* a WebSocket, until the sandbox has answered */
	RELAY_INPUT_TUNNEL,  /* an open WebSocket: all bytes */
	RELAY_INPUT_DONE,    /* no more: what comes is discarded */
};

struct relay_input {
	enum relay_input_state state;
	struct body body;
};

void relay_input_init(struct relay_input *in, const struct request *rq);

/*
 * How many of these bytes, the next from the client, go to the sandbox; the others are to
 * be discarded. ERR_SYNTAX, ERR_LIMIT: the chunks of the body are malformed. Not to be
 * called during RELAY_INPUT_UPGRADE.
 */
ssize_t relay_input_take(struct relay_input *in, struct str bytes) MUST_USE;

/* Bytes of the sandbox's answer, which stand at this offset of it. */
void relay_input_read_answer(struct relay_input *in, uint64_t at, struct str bytes);

#endif
