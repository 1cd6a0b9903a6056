#include "inject/http/reconnect.h"

#include "base/backoff.h"
#include "base/clock.h"
#include "inject/console/stop.h"

enum { PAUSE_MS = 20, PAUSE_MAX_MS = 200 };

void reconnect_note_loss(struct reconnect *r, uint64_t moved)
{
	uint64_t now = clock_ms();

	if (moved == r->moved && now < r->tried + RECONNECT_MS)
		return;
	*r = (struct reconnect){.until = now + RECONNECT_MS, .moved = moved};
}

int reconnect_wait(struct reconnect *r)
{
	int wait = r->pause ? stop_wait(-1, 0, clock_ms() + r->pause, false) : 0;

	if (wait < 0)
		return wait;
	r->pause = backoff(r->pause, PAUSE_MS, PAUSE_MAX_MS);
	r->tried = clock_ms();
	return r->tried < r->until ? 0 : ERR_CLOSED;
}
