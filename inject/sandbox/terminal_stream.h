/*
 * Connects the user's terminal to a terminal of a sandbox over the sandbox's stream,
 * without the engine. A lost connection is made again, and the output continues with the
 * next byte.
 */
#ifndef INJECT_SANDBOX_TERMINAL_STREAM_H
#define INJECT_SANDBOX_TERMINAL_STREAM_H

#include "inject/sandbox/sandbox.h"

enum { TERMINAL_STREAM_NONE = 256 /* the sandbox has no stream, or does not answer */ };

struct terminal_stream_conf {
	const char *kind;    /* of the channel */
	const char *session; /* NULL: none */
	bool leaves;         /* ^] leaves, and input is only read from a terminal */
};

/*
 * Carries bytes until either side ends. Returns the exit code of the shell, or 0 if the
 * user left it; TERMINAL_STREAM_NONE: nothing was done; -EINTR, -ENOMEM, FAIL_*.
 */
int terminal_stream_run(
	const struct sandbox *s, const struct terminal_stream_conf *conf) MUST_USE;

#endif
