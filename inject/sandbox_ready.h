/* Waiting for the server of a sandbox that was started again. */
#ifndef INJECT_SANDBOX_READY_H
#define INJECT_SANDBOX_READY_H

#include "inject/sandbox.h"

/*
 * Waits at most seconds until the server of s->state.id answers. s is read anew, with
 * the key if that is known here: another start may have another port and another TLS
 * key. 0; -EINTR, -ENOMEM or FAIL_*, also when the container ends.
 */
int sandbox_ready_wait(
	const struct engine *e, struct sandbox *s, uint64_t seconds) MUST_USE;

#endif
