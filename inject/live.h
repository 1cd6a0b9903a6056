/*
 * A terminal of a sandbox on the user's own, by the sandbox's stream: no engine is needed
 * for it. When the connection is lost it comes back, and goes on with the next byte.
 */
#ifndef INJECT_LIVE_H
#define INJECT_LIVE_H

#include "inject/sandbox.h"

enum { LIVE_NONE = 256 /* the sandbox has no stream, or does not answer */ };

struct live_conf {
	const char *kind;    /* of the channel */
	const char *session; /* NULL: none */
	bool leaves;         /* ^] leaves, and input is only read from a terminal */
};

/*
 * Carries bytes until either side ends. The exit code of the shell, 0 for one who has
 * left; LIVE_NONE with nothing done; -EINTR, -ENOMEM, FAIL_*.
 */
int live_run(const struct sandbox *s, const struct live_conf *conf) MUST_USE;

#endif
