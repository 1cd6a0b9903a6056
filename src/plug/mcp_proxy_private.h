/* What the files of the proxy of MCP share; for src/plug only. */
#ifndef PLUG_MCP_PROXY_PRIVATE_H
#define PLUG_MCP_PROXY_PRIVATE_H

#include "plug/mcp_proxy.h"

/* --- mcp_proxy.c: from clients to servers */

bool mcp_proxy_is_alone(const struct mcp_proxy *p);
/* A name of a tool or prompt, or a URI, as our clients see it: in JSON, with quotes. */
void mcp_put_shown(struct buf *out, const struct mcp_child *c, bool alone, bool uri,
	struct str name);
/* Appends a member to an object that begins with the first byte of out. */
void mcp_put_member(struct buf *out, struct str key, struct str value);
/*
 * The params, with the member called name (NULL: none) as value, which is JSON, and with
 * token in the place of a progressToken.
 */
void mcp_put_params(struct buf *out, struct json_val params, const char *name,
	struct str value, uint64_t token);
/* The call that a child was asked q for; NULL: that was for something else. */
struct mcp_call *mcp_call_of(const struct mcp_ask *q);

/* --- mcp_relay.c: what servers remember of one client */

/* logging/setLevel; answers it. */
void mcp_relay_set_level(struct mcp_call *c);
/* The server has agreed to tell of that URI, as it calls it. -ENOMEM, ERR_LIMIT. */
int mcp_relay_watch(struct mcp_session *s, const struct mcp_child *c, struct str uri);
/* Forgets that. True: somebody else still wants it. */
bool mcp_relay_unwatch(
	struct mcp_session *s, const struct mcp_child *c, struct str uri) MUST_USE;
/* Of mcp_ops. */
void mcp_relay_client_said(struct mcp_session *s, const struct jsonrpc *m);
void mcp_relay_hears(struct mcp_session *s, bool missed);
void mcp_relay_ended(struct mcp_session *s);

#endif
