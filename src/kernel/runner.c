#include "kernel/runner.h"

#include "base/backoff.h"

#include <assert.h>

const char runner_memory_error[] =
	"[The cell was not executed: the sandbox is out of memory.]";

void runner_init(struct runner *r, const struct runner_kind *kind,
	const struct runner_ops *ops, void *arg)
{
	*r = (struct runner){.kind = kind, .ops = ops, .arg = arg};
	cell_init(&r->cell);
}

void runner_enter(struct runner *r, enum runner_state to)
{
	static const unsigned from[] = {
		[RUNNER_NONE] =
			1 << RUNNER_PAUSED | 1 << RUNNER_STARTING | 1 << RUNNER_LOADING,
		[RUNNER_PAUSED] = 1 << RUNNER_NONE | 1 << RUNNER_STARTING |
			1 << RUNNER_LOADING | 1 << RUNNER_IDLE | 1 << RUNNER_BUSY |
			1 << RUNNER_STOPPING,
		[RUNNER_STARTING] =
			1 << RUNNER_PAUSED | 1 << RUNNER_STARTING | 1 << RUNNER_LOADING,
		[RUNNER_LOADING] = 1 << RUNNER_STARTING,
		[RUNNER_IDLE] =
			1 << RUNNER_LOADING | 1 << RUNNER_BUSY | 1 << RUNNER_STOPPING,
		[RUNNER_BUSY] = 1 << RUNNER_IDLE,
		[RUNNER_STOPPING] = 1 << RUNNER_BUSY,
	};

	assert(from[to] & 1U << r->state);
	r->state = to;
}

const char *runner_state_name(enum runner_state s)
{
	static const char *const names[] = {
		[RUNNER_NONE] = "none",
		[RUNNER_PAUSED] = "starting",
		[RUNNER_STARTING] = "starting",
		[RUNNER_LOADING] = "starting",
		[RUNNER_IDLE] = "idle",
		[RUNNER_BUSY] = "busy",
		[RUNNER_STOPPING] = "busy",
	};

	return names[s];
}

void runner_set_pause(struct runner *r)
{
	/*
	 * A death in a cell is the cell's fault; repeated deaths in other states are
	 * delayed.
	 */
	if (r->state == RUNNER_BUSY || r->state == RUNNER_STOPPING)
		r->pause = 0;
	else
		r->pause = backoff(r->pause, RUNNER_PAUSE_MS, RUNNER_PAUSE_MAX_MS);
}
