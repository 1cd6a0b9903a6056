/*
 * Combines several MCP servers into one. Their lists are merged; if there is more than
 * one server, names get the server's name as a prefix. A client's request goes to the
 * server that it names. Requests and notifications of servers go to the clients
 * concerned.
 */
#ifndef MCP_MCP_PROXY_H
#define MCP_MCP_PROXY_H

#include "mcp/mcp_child.h"
#include "mcp/mcp_server.h"

extern const struct mcp_ops mcp_proxy_ops;

/* The arg of an mcp_server whose ops are mcp_proxy_ops. */
struct mcp_proxy {
	struct mcp_server *server;
	struct list children; /* in order of arrival */
	struct list requests; /* their questions that clients have not answered */
};

/* --- mcp_relay.c: messages from children; for mcp_child_ops */

void mcp_relay_on_message(
	struct mcp_proxy *p, struct mcp_child *c, const struct jsonrpc *m);
void mcp_relay_on_state(struct mcp_proxy *p, struct mcp_child *c);
/* c is about to leave the list: its questions are dropped. */
void mcp_relay_drop_child(struct mcp_proxy *p, const struct mcp_child *c);
/* The servers have changed: notifies all clients that the lists are new. */
void mcp_relay_lists_changed(struct mcp_proxy *p);

#endif
