#include "inject/http/message_limit.h"

#include "base/clock.h"
#include "limits.h"

bool message_limit_is_over(
	struct message_limit *l, const struct http_client *c, bool coming)
{
	uint64_t now = clock_ms();

	if (!coming)
		l->began = 0;
	else if (!l->began)
		*l = (struct message_limit){now, c->moved};
	return l->began &&
		now > l->began + WS_DEAD_MS + (c->moved - l->moved) * 1000 / INJECT_RATE;
}
