/*
 * A connection to a sandbox's server that needs no network: the engine executes the
 * client in the container, which carries bytes between the engine's connection and the
 * port.
 */
#ifndef INJECT_SANDBOX_TUNNEL_H
#define INJECT_SANDBOX_TUNNEL_H

#include "base/jw.h"
#include "inject/engine/engine.h"

/*
 * Begins c as a connection to a port inside the running container; the caller closes c in
 * any case. 0; -EINTR, -ENOMEM; another negative error, which was not printed.
 */
int tunnel_open(const struct engine *e, const char *container, uint16_t port,
	uint32_t idle_ms, struct http_client *c) MUST_USE;

/*
 * Creates an exec with the words that write appends to its Cmd, after the client's path.
 * attach: stdin, stdout and stderr are attached. 0 with its id in room bytes; -EINTR,
 * -ENOMEM, FAIL_ENVIRONMENT; reply has the engine's answer if its status is not 201.
 */
int tunnel_exec(const struct engine *e, const char *container, const char *user,
	bool attach, void (*write)(void *arg, struct jw *w), void *arg,
	struct reply *reply, char *id, size_t room) MUST_USE;

#endif
