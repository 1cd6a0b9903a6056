#include "inject/sandbox/sandbox_ready.h"

#include "base/clock.h"
#include "inject/console/out.h"
#include "inject/console/stop.h"
#include "inject/sandbox/tls_pin.h"
#include "limits.h"

#include <errno.h>

enum { POLL_MS = 10, LOOK_MS = 100 };

/* Reads what the engine and the state folder report about the sandbox now. */
static int sandbox_ready_look(const struct engine *e, struct sandbox *s)
{
	char id[STATE_ID_MAX + 1];
	int r;

	memcpy(id, s->state.id, sizeof(id));
	r = sandbox_require(e, id, s);
	if (r)
		return r;
	if (!s->running)
		return out_fail("od-runtime logs shows why",
			"the sandbox %s ended with exit code %d before it was ready",
			s->state.name, s->exit_code);
	r = sandbox_load_key(s);
	return r < 0 ? r : 0;
}

/* 0: the server answers; 1: it does not answer yet; an error. */
static int sandbox_ready_ask(const struct engine *e, struct sandbox *s)
{
	bool known = s->state.pinned;
	int r = tls_pin_learn(e, s);

	if (!r)
		r = sandbox_check_alive(s, INJECT_ALIVE_MS);
	if (!r && s->state.tls && !known)
		r = state_save(&s->state);
	return r;
}

int sandbox_ready_wait(const struct engine *e, struct sandbox *s, uint64_t seconds)
{
	uint64_t deadline = clock_ms() + seconds * 1000, look = 0;
	int r;

	for (;;) {
		uint64_t now = clock_ms();

		if (now >= look) {
			r = sandbox_ready_look(e, s);
			if (r)
				return r;
			look = now + LOOK_MS;
		}
		r = sandbox_ready_ask(e, s);
		if (r <= 0)
			return r;
		if (now >= deadline)
			return out_fail("od-runtime logs shows why; --timeout-start "
					"allows more time",
				"the sandbox %s was not ready after %llu s",
				s->state.name, (unsigned long long)seconds);
		r = stop_wait(-1, 0, now + POLL_MS, false);
		if (r < 0)
			return r;
	}
}
