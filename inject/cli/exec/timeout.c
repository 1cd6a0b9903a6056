#include "inject/cli/exec/timeout.h"

#include "base/clock.h"
#include "inject/console/out.h"
#include "inject/console/stop.h"
#include "inject/options/options_rows.h"

#include <errno.h>

void timeout_begin(const struct timeout_options *o, uint64_t extra_ms)
{
	if (o->timeout)
		stop_set_limit(clock_ms() + o->timeout * 1000 + extra_ms);
}

int timeout_end(const struct command_line *line, const struct timeout_options *o, int r)
{
	if (r != -EINTR || stop_get_signal() || !stop_is_expired())
		return r;
	out_fail("the operation may continue in the sandbox; od-runtime logs "
		 "shows the log of its server",
		"%s: no answer within --timeout %s", line->command->name,
		o->timeout_text);
	return EXIT_TIMEOUT;
}

#define OPTIONS struct timeout_options
static const struct option timeout_options[] = {
	{"timeout", "DURATION",
		"kill CMD if it runs for DURATION; the exit code is then 124",
		DURATION(1, SECONDS_MAX), AT(timeout), GIVEN_AS(timeout_text),
		EXAMPLE("1h30m"), DEFAULT("no limit"), GROUP(COMMAND)},
	{0},
};
#undef OPTIONS

const struct option_set timeout_set = {.options = timeout_options};
