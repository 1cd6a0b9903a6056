/*
 * The sandbox as a server of the Model Context Protocol, at /mcp/sandbox: its actions
 * and searches are tools; see docs/mcp.md.
 */
#ifndef SERVER_SANDBOX_MCP_H
#define SERVER_SANDBOX_MCP_H

#include "server/api.h"

/*
 * Prepares api->mcp; it allocates nothing until a request arrives. mcp_server_free frees
 * it.
 */
void sandbox_mcp_init(struct api *api);

void sandbox_mcp_post(struct api *api, struct request *rq, struct str name);
void sandbox_mcp_delete(struct api *api, struct request *rq, struct str name);

#endif
