/*
 * A bridge for clients of the Model Context Protocol that use the stdio transport: each
 * line is a message, which is sent to the sandbox as a POST to /mcp/sandbox.
 */
#ifndef INJECT_CONTROL_MCP_BRIDGE_H
#define INJECT_CONTROL_MCP_BRIDGE_H

#include "inject/sandbox/sandbox.h"

/*
 * Carries messages until stdin ends and all requests are answered. 0; -EINTR, -ENOMEM;
 * -errno if stdin or stdout fails. A failed request to the sandbox does not end the
 * bridge; the client receives a JSON-RPC error.
 */
int bridge_run(const struct sandbox *s) MUST_USE;

#endif
