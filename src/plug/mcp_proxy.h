/*
 * Several servers of MCP as one: what they list is merged, with their names in front
 * where there is more than one of them, and what is asked goes to the one it is meant
 * for. What they ask and tell goes to the clients that it is meant for.
 */
#ifndef PLUG_MCP_PROXY_H
#define PLUG_MCP_PROXY_H

#include "plug/mcp_child.h"
#include "plug/mcp_server.h"

extern const struct mcp_ops mcp_proxy_ops;

/* The arg of a server with those ops. */
struct mcp_proxy {
	struct mcp_server *server;
	struct mcp_child *children; /* in the order in which they came */
	struct mcp_asked *asked;    /* what they wait for */
};

/* --- mcp_relay.c: what children ask and tell; as of their ops */

void mcp_relay_heard(struct mcp_proxy *p, struct mcp_child *c, const struct jsonrpc *m);
void mcp_relay_changed(
	struct mcp_proxy *p, struct mcp_child *c, enum mcp_child_state from);
/* It is about to be taken from the list: its questions are dropped. */
void mcp_relay_drop(struct mcp_proxy *p, const struct mcp_child *c);
/* There are others than before: what they list is new to all clients. */
void mcp_relay_lists_changed(struct mcp_proxy *p);

#endif
