/*
 * Several servers of MCP as one: what they list is merged, with their names in front
 * where there is more than one of them, and what is asked goes to the one it is meant
 * for.
 */
#ifndef PLUG_MCP_PROXY_H
#define PLUG_MCP_PROXY_H

#include "plug/mcp_child.h"
#include "plug/mcp_server.h"

extern const struct mcp_ops mcp_proxy_ops;

/* The arg of a server with those ops. */
struct mcp_proxy {
	struct mcp_child *children; /* in the order in which they came */
};

#endif
