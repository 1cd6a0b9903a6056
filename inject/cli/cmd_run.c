/* Starts a sandbox of an image, and executes a command in it. */
#include "inject/cli/commands.h"

#include "inject/cli/exec/exec.h"
#include "inject/cli/start_sandbox.h"
#include "inject/console/out.h"
#include "inject/options/options_rows.h"
#include "inject/sandbox/sandbox_info.h"
#include "limits.h"

struct run_options {
	struct sandbox_options sandbox;
	struct connect_options connect;
	struct terminal_options terminal;
	struct timeout_options timeout;
	struct timings_options timings;
};

static void run_append_timings(void *arg, struct jw *w)
{
	jw_key(w, "timings");
	timing_write_json(arg, w);
}

/*
 * The printed data is read before the command starts: with --rm, the sandbox may be gone
 * as soon as the command has started.
 */
static int run_exec_detached(const struct command_line *line,
	const struct exec_command *command, const struct engine *e,
	struct timing *timings, const struct sandbox *s)
{
	struct buf text = BUF_INIT(INJECT_TEXT_MAX);
	int r = sandbox_info_render(
		e, &s->state, line->json, run_append_timings, timings, &text);

	if (!r)
		r = exec_run_argv(command, s);
	if (!r)
		return out_write_line(&text);
	buf_free(&text);
	if (command->stops_sandbox)
		sandbox_remove(e, &s->state);
	else
		out_note("the sandbox %s is running, but the command was not started; "
			 "od-runtime rm -f %s removes it",
			s->state.name, s->state.name);
	return r;
}

/* The sandbox is ready: prints that, or executes the command in it. */
static int run_on_ready(const struct sandbox_start *start, const struct engine *e,
	const struct timing *t, const struct sandbox *s)
{
	const struct command_line *line = start->line;
	const struct run_options *o = line->options;
	const bool detach = o->terminal.detach, remove = o->sandbox.remove;
	const struct exec_command command = {
		.argv = line->argv,
		.argc = line->argc,
		.terminal = o->terminal,
		.timeout = &o->timeout,
		.json = line->json && !detach,
		.starts_sandbox = detach,
		.stops_sandbox = detach && remove,
	};
	struct timing timings = *t;
	int r;

	if (!line->argc)
		return sandbox_info_print(
			e, &s->state, line->json, run_append_timings, &timings);
	if (detach)
		return run_exec_detached(line, &command, e, &timings, s);
	if (!remove)
		out_note("sandbox %s", s->state.name);
	exec_set_limit(&o->timeout);
	r = exec_run_argv(&command, s);
	if (remove)
		sandbox_remove(e, &s->state);
	return r;
}

static int run_check_terminal(const struct terminal_options *o, size_t argc)
{
	int r = exec_check_terminal(o, argc);

	if (!r && o->detach && (o->interactive || o->tty))
		return out_fail_usage(
			"leave -i and -t out; od-runtime shell SANDBOX opens "
			"a terminal in the sandbox",
			"-i and -t cannot be combined with --detach: the "
			"command has neither stdin nor a terminal");
	return r;
}

static int cmd_run(const struct command_line *line)
{
	const struct run_options *o = line->options;
	const bool attached = line->argc && !o->terminal.detach;
	const struct sandbox_start start = {
		.line = line,
		.options = &o->sandbox,
		.connect = &o->connect,
		/* This process removes the sandbox after an attached command. */
		.auto_remove = o->sandbox.remove && !attached,
		.bound = o->sandbox.remove && attached,
		.prints_timings = o->timings.timings,
		.on_ready = run_on_ready,
	};
	int r = run_check_terminal(&o->terminal, line->argc);

	if (!r)
		r = sandbox_start_run(&start);
	return timeout_end(line, &o->timeout, r);
}

#define OPTIONS struct run_options
static const struct option run_options[] = {
	{SET(pull_set, sandbox.image)},
	{SET(platform_set, sandbox.image)},
	{SET(force_build_set, sandbox.image)},
	{SET(server_set, sandbox)},
	{SET(connect_set, connect)},
	{"detach", NULL,
		"leave the sandbox and CMD running and print the name of the sandbox; "
		"od-runtime logs prints the output of CMD",
		FLAG, .letter = 'd', AT(terminal.detach),
		DEFAULT("on if there is no CMD"), GROUP(COMMAND)},
	{SET(terminal_set, terminal)},
	{SET(entrypoint_set, sandbox)},
	{SET(timeout_set, timeout)},
	{SET(container_set, sandbox)},
	{"rm", NULL, "remove the sandbox when it stops or CMD ends", FLAG,
		AT(sandbox.remove), GROUP(LIFECYCLE)},
	{SET(start_set, sandbox)},
	{SET(timings_set, timings)},
	{SET(engine_set, sandbox)},
	{"restart", "no|on-failure[:N]|always|unless-stopped",
		"restart the sandbox when it ends; on-failure restarts it at most N "
		"times, and only if its exit code is not 0",
		TEXT, AT(sandbox.restart), DEFAULT("no"), EXAMPLE("on-failure:3"),
		GROUP(LIFECYCLE)},
	{SET(stop_set, sandbox)},
	{0},
};
#undef OPTIONS

const struct command command_run = {
	.name = "run",
	.usage = "[OPTION...] IMAGE [CMD [ARG...]]",
	.purpose = "start a sandbox of IMAGE and execute CMD in it",
	.more = "The sandbox is ready when CMD starts. Without CMD, the command "
		"prints the name of the sandbox and leaves it running.",
	.examples = {"od-runtime run --name box debian:12",
		"od-runtime run --rm -it -m 512m -v ./src:/work:overlay "
		"ubuntu:24.04 bash"},
	.operands = 1,
	.argv = ARGV_OPTIONAL,
	.subject = SUBJECT_IMAGE,
	.options = run_options,
	.options_size = sizeof(struct run_options),
	.run = cmd_run,
};
