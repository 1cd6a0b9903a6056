/* Shared by the files of the MCP proxy; for src/mcp only. */
#ifndef MCP_MCP_PROXY_PRIVATE_H
#define MCP_MCP_PROXY_PRIVATE_H

#include "mcp/mcp_proxy.h"

/* --- mcp_proxy.c: from clients to servers */

bool mcp_proxy_is_single(const struct mcp_proxy *p);
/*
 * Appends a name of a tool or prompt, or a URI, as clients see it: in JSON, with quotes.
 */
void mcp_put_public_name(struct buf *out, const struct mcp_child *c, bool alone, bool uri,
	struct str name);
/* Appends a member to an object that begins at the first byte of out. */
void mcp_put_member(struct buf *out, struct str key, struct str value);
/*
 * Appends params with these changes: the member called name (NULL: none) becomes value,
 * which is JSON, and token replaces a progressToken.
 */
void mcp_put_params(struct buf *out, struct json_val params, const char *name,
	struct str value, uint64_t token);
/* The call for which q was sent to a child; NULL: q was sent for something else. */
struct mcp_call *mcp_call_of(const struct mcp_child_call *q);

/* --- mcp_relay.c: state of a client at the servers */

/* Handles logging/setLevel, and answers it. */
void mcp_relay_set_level(struct mcp_call *c);
/*
 * The server has accepted a subscription to uri, in its own spelling. -ENOMEM, ERR_LIMIT.
 */
int mcp_relay_watch(struct mcp_session *s, const struct mcp_child *c, struct str uri);
/* Removes a subscription. True: another session still has it. */
bool mcp_relay_unwatch(
	struct mcp_session *s, const struct mcp_child *c, struct str uri) MUST_USE;
/* For mcp_ops. */
void mcp_relay_on_notification(struct mcp_session *s, const struct jsonrpc *m);
void mcp_relay_on_reachable(struct mcp_session *s, bool missed);
void mcp_relay_on_session_end(struct mcp_session *s);

#endif
