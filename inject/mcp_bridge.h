/*
 * A bridge for clients of the Model Context Protocol that speak over stdin and stdout:
 * a line each way is a message; to the sandbox, each is a POST to /mcp/sandbox.
 */
#ifndef INJECT_MCP_BRIDGE_H
#define INJECT_MCP_BRIDGE_H

#include "inject/sandbox.h"

/*
 * Carries messages until stdin ends and all that was asked is answered. 0; -EINTR,
 * -ENOMEM; -errno when stdin or stdout fails. What a sandbox fails to answer is an
 * error that its client is told, and no end.
 */
int mcp_bridge(const struct sandbox *s) MUST_USE;

#endif
