/*
 * The bytes that a client sends after the head of its request: how many of them belong to
 * that request and are sent to the sandbox. A next request on the same connection, which
 * would carry the session key, is never sent. Without I/O.
 */
#ifndef INJECT_CONTROL_RELAY_INPUT_H
#define INJECT_CONTROL_RELAY_INPUT_H

#include "codec/http/body.h"
#include "net/request.h"

#include <sys/types.h>

enum relay_input_state {
	RELAY_INPUT_BODY,
	RELAY_INPUT_UPGRADE, /* a WebSocket, until the sandbox has answered */
	RELAY_INPUT_TUNNEL,  /* an open WebSocket: all bytes */
	RELAY_INPUT_DONE,    /* all further bytes are discarded */
};

struct relay_input {
	enum relay_input_state state;
	struct body body;
};

void relay_input_init(struct relay_input *in, const struct request *rq);

/*
 * The number of these bytes, the next ones from the client, that are sent to the sandbox;
 * the caller discards the others. ERR_SYNTAX, ERR_LIMIT: the chunks of the body are
 * malformed. Must not be called during RELAY_INPUT_UPGRADE.
 */
ssize_t relay_input_take(struct relay_input *in, struct str bytes) MUST_USE;

/* Reads bytes of the sandbox's answer, which are at offset at of the answer. */
void relay_input_read_answer(struct relay_input *in, uint64_t at, struct str bytes);

#endif
