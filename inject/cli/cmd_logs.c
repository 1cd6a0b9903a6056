/* Prints the log of a sandbox. */
#include "inject/cli/commands.h"

#include "base/clock.h"
#include "inject/console/out.h"
#include "inject/engine/container_log.h"
#include "inject/options/spec.h"
#include "inject/sandbox/sandbox.h"
#include "limits.h"

#include <stdio.h>

/*
 * Converts a time option to seconds, such as "1700000000"; without the option out stays.
 */
static int logs_parse_time(const char *value, const char *name, char *out, size_t room)
{
	int64_t seconds;

	if (!value)
		return 0;
	if (spec_parse_time(str_c(value), clock_unix_s(), &seconds))
		return out_fail_usage(
			"seconds since 1970, or how long ago: 90s, 10m, 2h, 1d",
			"--%s is '%s', not a time", name, value);
	snprintf(out, room, "%lld", (long long)seconds);
	return 0;
}

static int logs_copy_log(const struct options *o, const struct engine *e, const char *id)
{
	char since[24] = "", until[24] = "";
	struct target target;
	const struct http_client_request q = {.method = "GET", .target = &target};
	struct http_client c;
	int r = logs_parse_time(o->since, "since", since, sizeof(since));

	if (!r)
		r = logs_parse_time(o->until, "until", until, sizeof(until));
	http_client_begin(&c, -1, 0, false);
	target_init(&target, ENGINE_TARGET_MAX);
	target_add(&target,
		"/containers/%s/logs?stdout=1&stderr=1&follow=%d&timestamps=%d", id,
		o->follow, o->timestamps);
	if (o->has_tail)
		target_add(&target, "&tail=%llu", (unsigned long long)o->tail);
	if (since[0])
		target_add(&target, "&since=%s", since);
	if (until[0])
		target_add(&target, "&until=%s", until);
	if (!r)
		r = engine_stream(e, &c, &q, o->follow ? 0 : INJECT_ENGINE_MS);
	if (!r && c.head.status != 200)
		r = out_fail(
			"the log driver of the sandbox may keep none, see --log-driver",
			"the engine does not give the log: status %u", c.head.status);
	if (!r) {
		r = container_log_copy(&c);
		r = r == ERR_SYNTAX || r == ERR_CLOSED ? engine_fail(e, r) : r;
	}
	http_client_close(&c);
	target_free(&target);
	return r;
}

int cmd_logs(const struct options *o)
{
	struct sandbox s;
	struct engine e;
	int r = engine_open(&e, o->host);

	if (!r)
		r = sandbox_require(&e, o->operand[0], &s);
	return r ? r : logs_copy_log(o, &e, s.state.id);
}
