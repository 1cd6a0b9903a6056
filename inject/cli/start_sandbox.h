/* Starts a sandbox of an image, for run and mcp. */
#ifndef INJECT_CLI_START_SANDBOX_H
#define INJECT_CLI_START_SANDBOX_H

#include "inject/console/timing.h"
#include "inject/options/options_sets.h"
#include "inject/sandbox/sandbox.h"

struct sandbox_start {
	const struct command_line *line; /* the first operand is the image */
	const struct sandbox_options *options;
	const struct connect_options *connect;
	bool auto_remove;    /* the engine removes the sandbox once it has stopped */
	bool bound;          /* it is removed when this process ends */
	bool prints_timings; /* on stderr */
	/* Called when the sandbox is ready; its result is that of the command. */
	int (*on_ready)(const struct sandbox_start *start, const struct engine *e,
		const struct timing *t, const struct sandbox *s);
};

/*
 * Builds or pulls the image if that is needed, starts the sandbox, and calls on_ready.
 * The result of on_ready; -EINTR, -ENOMEM, FAIL_*.
 */
int sandbox_start_run(const struct sandbox_start *start) MUST_USE;

#endif
