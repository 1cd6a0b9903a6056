/* The output of a sandbox's server: logs and attach. */
#include "inject/cli/commands.h"

#include "base/clock.h"
#include "inject/console/out.h"
#include "inject/engine/container_log.h"
#include "inject/options/spec.h"
#include "inject/sandbox/sandbox.h"
#include "inject/sandbox/terminal_stream.h"
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
			"give seconds since 1970, or how long ago: 90s, 10m, 2h, 1d",
			"--%s '%s' is not a time", name, value);
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

int cmd_logs(const struct options *o)
{
	struct sandbox s;
	struct engine e;
	int r = engine_open(&e, o->host);

	if (!r)
		r = sandbox_require(&e, o->operand[0], &s);
	return r ? r : logs_copy_log(o, &e, s.state.id);
}

/*
 * Copies output from now on, as docker attach, but without input: the server reads none.
 */
static int logs_copy_output(const struct engine *e, const struct sandbox *s)
{
	struct target target;
	const struct http_client_request q = {.method = "POST", .target = &target};
	struct http_client c;
	int r;

	target_init(&target, ENGINE_TARGET_MAX);
	target_add(
		&target, "/containers/%s/attach?stream=1&stdout=1&stderr=1", s->state.id);
	r = engine_stream(e, &c, &q, INJECT_ENGINE_MS);
	/* Podman answers 200; Docker answers 101, or 200 without a request to upgrade. */
	if (!r && c.head.status != 200 && c.head.status != 101)
		r = out_fail(ENGINE_NEXT,
			"the engine does not attach to the sandbox: HTTP status %u",
			c.head.status);
	http_client_set_limits(&c, 0, 0);
	if (!r) {
		r = container_log_copy(&c);
		r = r == ERR_SYNTAX || r == ERR_CLOSED ? engine_fail(e, r) : r;
	}
	http_client_close(&c);
	target_free(&target);
	return r;
}

/* Shows a shell session live. */
static int logs_attach_session(const struct engine *e, const struct options *o)
{
	const struct terminal_stream_conf conf = {
		.kind = "session", .session = o->session, .leaves = true};
	struct sandbox s = {0};
	int r = sandbox_open(e, o->operand[0], &s);

	if (!r)
		r = terminal_stream_run(&s, &conf);
	if (r == TERMINAL_STREAM_NONE)
		r = out_fail("its client may be too old: od-runtime update SANDBOX "
			     "replaces it",
			"the sandbox %s does not offer the output of its sessions",
			s.state.name);
	state_wipe_key(&s.state);
	return r;
}

int cmd_attach(const struct options *o)
{
	struct sandbox s = {0};
	struct engine e;
	int r = engine_open(&e, o->host);

	if (!r && o->session)
		return logs_attach_session(&e, o);
	if (!r)
		r = sandbox_require(&e, o->operand[0], &s);
	if (!r && !s.running)
		r = out_fail("od-runtime logs shows the log up to its end; od-runtime "
			     "start starts it",
			"the sandbox %s is not running", s.state.name);
	return r ? r : logs_copy_output(&e, &s);
}
