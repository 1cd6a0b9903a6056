/* Sends an action, given as JSON, and prints its observation. */
#include "inject/cli/commands.h"

#include "base/clock.h"
#include "inject/cli/exec/timeout.h"
#include "inject/cli/observation.h"
#include "inject/console/out.h"
#include "inject/console/stop.h"
#include "inject/options/options_rows.h"
#include "inject/sandbox/sandbox.h"
#include "limits.h"

#include <errno.h>
#include <unistd.h>

struct action_options {
	struct timeout_options limit;
};

/* The time that a request may take in addition to its action. */
enum { GRACE_MS = 30000 };

/* An error observation, or a command that failed, is a failure for scripts. */
enum { EXIT_FAILED = 1 };

static int cmd_action_fail_reply(const struct sandbox *s)
{
	return out_fail("its client may be of another version: od-runtime update SANDBOX "
			"replaces it",
		"the reply of the sandbox %s is not an observation in JSON",
		s->state.name);
}

static int cmd_action_print_raw(const struct reply *reply)
{
	int r = out_write_text(STDOUT_FILENO, buf_view(&reply->body));

	return r ? r : out_write_text(STDOUT_FILENO, STR("\n"));
}

static int cmd_action_read_stdin(struct buf *out)
{
	for (;;) {
		char *room = buf_reserve(out, 4096);
		ssize_t got;

		if (!room)
			return out->err;
		got = read(STDIN_FILENO, room, 4096);
		if (got > 0)
			buf_commit(out, (size_t)got);
		else if (got == 0)
			return 0;
		else
			return -errno;
	}
}

static int cmd_action_make_request(const char *operand, struct buf *request)
{
	struct buf in = BUF_INIT(INJECT_REPLY_MAX);
	int r = 0;

	if (strcmp(operand, "-") == 0)
		r = cmd_action_read_stdin(&in);
	else
		buf_puts(&in, operand);
	if (!r)
		r = in.err;
	if (!r) {
		r = observation_write_request(buf_view(&in), request);
		if (r && r != -ENOMEM)
			r = out_fail_usage(
				"{\"action\":\"run\",\"args\":{\"command\":\"ls\"}}",
				"the action is not valid JSON: %s", err_text(r));
	}
	buf_free(&in);
	return r;
}

static int cmd_action_print_reply(const struct command_line *line,
	const struct sandbox *s, const struct reply *reply)
{
	struct buf out = BUF_INIT(2 * (size_t)INJECT_REPLY_MAX);
	struct observation ob;
	int r = observation_read(&ob, buf_view(&reply->body));

	if (r)
		return cmd_action_fail_reply(s);
	if (line->json) {
		r = cmd_action_print_raw(reply);
	} else {
		observation_print(&ob, &out);
		r = out.err ? out.err : out_write_text(STDOUT_FILENO, buf_view(&out));
	}
	if (!r && observation_is_failure(&ob))
		r = EXIT_FAILED;
	observation_free(&ob);
	buf_free(&out);
	return r;
}

static int cmd_action(const struct command_line *line)
{
	const struct action_options *o = line->options;
	struct buf request = BUF_INIT(INJECT_REPLY_MAX);
	struct reply reply;
	struct sandbox s = {0};
	struct engine e;
	uint64_t own, ms = 0;
	int r = cmd_action_make_request(line->operand[1], &request);

	own = r || o->limit.timeout ? 0 : observation_read_timeout(buf_view(&request));
	if (own)
		ms = own * 1000 + GRACE_MS;
	timeout_begin(&o->limit, 0);
	reply_init(&reply);
	if (!r)
		r = engine_open(&e, line->host);
	if (!r)
		r = sandbox_open(&e, line->operand[0], &s);
	if (!r)
		r = sandbox_send_action(&s, buf_view(&request),
			ms > UINT32_MAX ? 0 : (uint32_t)ms, &reply);
	if (!r)
		r = cmd_action_print_reply(line, &s, &reply);
	state_wipe_key(&s.state);
	reply_free(&reply);
	buf_free(&request);
	return timeout_end(line, &o->limit, r);
}

#define OPTIONS struct action_options
static const struct option action_options[] = {
	{"timeout", "DURATION",
		"stop waiting after DURATION; the action continues, and the exit code is "
		"124",
		DURATION(1, SECONDS_MAX), AT(limit.timeout), GIVEN_AS(limit.timeout_text),
		EXAMPLE("1h30m"),
		DEFAULT("30s more than the timeout of the action, if it has one"),
		GROUP(COMMAND)},
	{0},
};
#undef OPTIONS

const struct command command_action = {
	.name = "action",
	.usage = "SANDBOX JSON|-",
	.purpose = "send one action and print its observation",
	.more = "With -, the command reads the JSON from stdin.",
	.examples = {"od-runtime action box '{\"action\": \"run\", \"args\": "
		     "{\"command\": \"pwd\"}}'"},
	.operands = 2,
	.subject = SUBJECT_SANDBOX,
	.options = action_options,
	.options_size = sizeof(struct action_options),
	.run = cmd_action,
};
