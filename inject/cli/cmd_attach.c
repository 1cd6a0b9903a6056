/* Prints new output of a sandbox's server, or attaches to a shell session. */
#include "inject/cli/commands.h"

#include "inject/console/out.h"
#include "inject/engine/container_log.h"
#include "inject/options/options_rows.h"
#include "inject/sandbox/sandbox.h"
#include "inject/sandbox/terminal_stream.h"
#include "limits.h"

struct attach_options {
	const char *session;
};

/*
 * Copies output from now on, as docker attach, but without input: the server reads none.
 */
static int attach_copy_output(const struct engine *e, const struct sandbox *s)
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
static int attach_to_session(const struct engine *e, const struct command_line *line)
{
	const struct attach_options *o = line->options;
	const struct terminal_stream_conf conf = {
		.kind = "session", .session = o->session, .leaves = true};
	struct sandbox s = {0};
	int r = sandbox_open(e, line->operand[0], &s);

	if (!r)
		r = terminal_stream_run(&s, &conf);
	if (r == TERMINAL_STREAM_NONE)
		r = out_fail("its client may be too old: od-runtime update SANDBOX "
			     "replaces it",
			"the sandbox %s does not offer the output of its "
			"sessions",
			s.state.name);
	state_wipe_key(&s.state);
	return r;
}

static int cmd_attach(const struct command_line *line)
{
	const struct attach_options *o = line->options;
	struct sandbox s = {0};
	struct engine e;
	int r = engine_open(&e, line->host);

	if (!r && o->session)
		return attach_to_session(&e, line);
	if (!r)
		r = sandbox_require(&e, line->operand[0], &s);
	if (!r && !s.running)
		r = out_fail("od-runtime logs shows the log up to its end; od-runtime "
			     "start starts it",
			"the sandbox %s is not running", s.state.name);
	return r ? r : attach_copy_output(&e, &s);
}

#define OPTIONS struct attach_options
static const struct option attach_options[] = {
	{"session", "NAME",
		"attach to the terminal of shell session NAME: print its screen and its "
		"output, and send input to the command that runs; ^] detaches",
		TEXT, AT(session), GROUP(COMMAND)},
	{0},
};
#undef OPTIONS

const struct command command_attach = {
	.name = "attach",
	.usage = "SANDBOX [OPTION...]",
	.purpose = "print new lines of the log, or attach to a shell session",
	.examples = {"od-runtime attach box", "od-runtime attach box --session build"},
	.operands = 1,
	.subject = SUBJECT_SANDBOX,
	.options = attach_options,
	.options_size = sizeof(struct attach_options),
	.run = cmd_attach,
};
