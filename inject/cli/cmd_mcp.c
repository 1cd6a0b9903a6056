/* Serves the tools of a sandbox over MCP. */
#include "inject/cli/commands.h"

#include "inject/cli/start_sandbox.h"
#include "inject/console/out.h"
#include "inject/control/mcp_bridge.h"
#include "inject/options/options_rows.h"

struct mcp_options {
	struct sandbox_options sandbox;
};

static int mcp_on_ready(const struct sandbox_start *start, const struct engine *e,
	const struct timing *t, const struct sandbox *s)
{
	int r;

	(void)start;
	(void)t;
	out_note("sandbox %s", s->state.name);
	r = bridge_run(s);
	sandbox_remove(e, &s->state);
	return r;
}

static int mcp_start_sandbox(const struct command_line *line)
{
	static const struct connect_options no_backend;
	const struct mcp_options *o = line->options;
	const struct sandbox_start start = {
		.line = line,
		.options = &o->sandbox,
		.connect = &no_backend,
		.bound = true,
		.on_ready = mcp_on_ready,
	};

	return sandbox_start_run(&start);
}

/* The name is a sandbox or an image; sandboxes are looked up first. */
static int cmd_mcp(const struct command_line *line)
{
	const char *name = line->operand[0];
	struct sandbox s = {0};
	struct engine e;
	int r = engine_open(&e, line->host);

	if (!r)
		r = state_is_name(str_c(name)) ? sandbox_find(&e, name, &s) : 1;
	if (r == 1)
		return mcp_start_sandbox(line);
	if (!r && line->specific)
		r = out_fail_usage(
			"leave the option out, or name an image to start a new "
			"sandbox",
			"--%s applies only to a new sandbox, and the sandbox "
			"%s exists already",
			line->specific, name);
	if (!r)
		r = sandbox_open(&e, name, &s);
	if (!r)
		r = bridge_run(&s);
	state_wipe_key(&s.state);
	return r;
}

#define OPTIONS struct mcp_options
static const struct option mcp_options[] = {
	{SET(pull_set, sandbox.image)},
	{SET(platform_set, sandbox.image)},
	{SET(server_set, sandbox)},
	{SET(entrypoint_set, sandbox)},
	{SET(container_set, sandbox)},
	{SET(start_set, sandbox)},
	{SET(engine_set, sandbox)},
	{SET(stop_set, sandbox)},
	{0},
};
#undef OPTIONS

const struct command command_mcp = {
	.name = "mcp",
	.usage = "SANDBOX|IMAGE [OPTION...]",
	.purpose = "serve the tools of a sandbox over MCP on stdin and stdout",
	.more = "MCP is the Model Context Protocol. With IMAGE, the command "
		"starts a sandbox of it and removes the sandbox at the end.",
	.examples = {"od-runtime mcp box", "od-runtime mcp debian:12"},
	.operands = 1,
	.subject = SUBJECT_ANY,
	.options = mcp_options,
	.options_size = sizeof(struct mcp_options),
	.run = cmd_mcp,
};
