/* Waits for the server of a sandbox that was started again. */
#ifndef INJECT_SANDBOX_SANDBOX_READY_H
#define INJECT_SANDBOX_SANDBOX_READY_H

#include "inject/sandbox/sandbox.h"

/*
 * Waits at most seconds until the server of s->state.id answers. s is read again, with
 * the key if that is known here: after a start the port and the TLS key may have changed.
 * 0; -EINTR, -ENOMEM or FAIL_*, also if the container ends.
 */
int sandbox_ready_wait(
	const struct engine *e, struct sandbox *s, uint64_t seconds) MUST_USE;

#endif
