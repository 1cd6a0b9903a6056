#include "inject/control/relay_input.h"

#include <assert.h>

void relay_input_init(struct relay_input *in, const struct request *rq)
{
	enum http_framing framing;
	uint64_t length;

	framing = request_framing(rq, &length);
	body_init(&in->body, framing, length);
	if (request_is_websocket(rq))
		in->state = RELAY_INPUT_UPGRADE;
	else if (framing == HTTP_NO_BODY)
		in->state = RELAY_INPUT_DONE;
	else
		in->state = RELAY_INPUT_BODY;
}

static ssize_t relay_input_take_body(struct relay_input *in, struct str bytes)
{
	struct str rest = bytes, piece;
	int r = 1;

	while (r == 1 && rest.n)
		r = body_next(&in->body, &rest, &piece);
	if (r < 0)
		return r;
	if (r == 0)
		in->state = RELAY_INPUT_DONE;
	return (ssize_t)(bytes.n - rest.n);
}

ssize_t relay_input_take(struct relay_input *in, struct str bytes)
{
	assert(in->state != RELAY_INPUT_UPGRADE);
	if (in->state == RELAY_INPUT_BODY)
		return relay_input_take_body(in, bytes);
	return in->state == RELAY_INPUT_TUNNEL ? (ssize_t)bytes.n : 0;
}

void relay_input_read_answer(struct relay_input *in, uint64_t at, struct str bytes)
{
	const struct str line = STR("HTTP/1.1 101 ");

	if (in->state != RELAY_INPUT_UPGRADE)
		return;
	for (size_t i = 0; i < bytes.n && at + i < line.n; i++)
		if (bytes.p[i] != line.p[at + i]) {
			in->state = RELAY_INPUT_DONE;
			return;
		}
	if (at + bytes.n >= line.n)
		in->state = RELAY_INPUT_TUNNEL;
}
