/* Prints the log of a sandbox. */
#include "inject/cli/commands.h"

#include "base/clock.h"
#include "inject/console/out.h"
#include "inject/engine/container_log.h"
#include "inject/options/options_rows.h"
#include "inject/options/spec.h"
#include "inject/sandbox/sandbox.h"
#include "limits.h"

#include <stdio.h>

struct logs_options {
	bool follow, timestamps, has_tail;
	uint64_t tail;
	const char *since, *until;
};

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
			"give seconds since 1970, or how long ago: 90s, 10m, 2h, 1d",
			"--%s '%s' is not a time", name, value);
	snprintf(out, room, "%lld", (long long)seconds);
	return 0;
}

static int logs_copy_log(
	const struct logs_options *o, const struct engine *e, const char *id)
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
		r = out_fail("the log driver of the sandbox may not support reading: run "
			     "it with --log-driver json-file or local",
			"the engine does not return the log of the sandbox: HTTP status "
			"%u",
			c.head.status);
	if (!r) {
		r = container_log_copy(&c);
		r = r == ERR_SYNTAX || r == ERR_CLOSED ? engine_fail(e, r) : r;
	}
	http_client_close(&c);
	target_free(&target);
	return r;
}

static int cmd_logs(const struct command_line *line)
{
	const struct logs_options *o = line->options;
	struct sandbox s;
	struct engine e;
	int r = engine_open(&e, line->host);

	if (!r)
		r = sandbox_require(&e, line->operand[0], &s);
	return r ? r : logs_copy_log(o, &e, s.state.id);
}

#define OPTIONS struct logs_options
static const struct option logs_options[] = {
	{"follow", NULL, "print new lines until the sandbox stops", FLAG, .letter = 'f',
		AT(follow), GROUP(LIFECYCLE)},
	{"tail", "N", "print only the last N lines", NUMBER(0, INT32_MAX), .letter = 'n',
		AT(tail), SEEN(has_tail), DEFAULT("all lines"), EXAMPLE("100"),
		GROUP(LIFECYCLE)},
	{"since", "TIME",
		"print only lines since TIME: seconds since 1970, or a duration before "
		"now",
		TEXT, AT(since), EXAMPLE("1h30m"), GROUP(LIFECYCLE)},
	{"until", "TIME",
		"print only lines until TIME: seconds since 1970, or a duration before "
		"now",
		TEXT, AT(until), EXAMPLE("90s"), GROUP(LIFECYCLE)},
	{"timestamps", NULL, "print the time before each line", FLAG, .letter = 't',
		AT(timestamps), GROUP(LIFECYCLE)},
	{0},
};
#undef OPTIONS

const struct command command_logs = {
	.name = "logs",
	.usage = "SANDBOX [OPTION...]",
	.purpose = "print the log of a sandbox",
	.more = "The log contains the output of the server of the sandbox, and of a CMD "
		"that run -d has started.",
	.examples = {"od-runtime logs -f box",
		"od-runtime logs --since 1h30m --tail 100 box"},
	.operands = 1,
	.subject = SUBJECT_SANDBOX,
	.options = logs_options,
	.options_size = sizeof(struct logs_options),
	.run = cmd_logs,
};
