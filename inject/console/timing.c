#include "inject/console/timing.h"

#include "base/clock.h"
#include "inject/console/out.h"
#include "inject/console/stop.h"

void timing_start(struct timing *t)
{
	*t = (struct timing){.last = clock_us(), .last_waited = stop_get_wait_us()};
}

void timing_end_step(struct timing *t, const char *name)
{
	uint64_t now = clock_us(), waited = stop_get_wait_us();

	if (t->n == TIMING_STEPS)
		return;
	t->steps[t->n].name = name;
	t->steps[t->n].us = now - t->last;
	t->steps[t->n++].own_us = now - t->last - (waited - t->last_waited);
	t->last = now;
	t->last_waited = waited;
}

void timing_print(const struct timing *t)
{
	for (size_t i = 0; i < t->n; i++)
		out_note("%-8s %8.1f ms, of which own %6.1f ms", t->steps[i].name,
			(double)t->steps[i].us / 1000, (double)t->steps[i].own_us / 1000);
}

void timing_write_json(const struct timing *t, struct jw *w)
{
	jw_object(w);
	for (size_t i = 0; i < t->n; i++) {
		jw_key(w, t->steps[i].name);
		jw_object(w);
		jw_key(w, "ms");
		jw_double(w, (double)t->steps[i].us / 1000);
		jw_key(w, "own_ms");
		jw_double(w, (double)t->steps[i].own_us / 1000);
		jw_end(w);
	}
	jw_end(w);
}
