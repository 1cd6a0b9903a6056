/*
 * The HTTP interface: one table of routes, the key check, the handlers.
 * The wire contract is in docs/protocol.md.
 */
#ifndef SRV_API_H
#define SRV_API_H

#include "act/act.h"
#include "net/server.h"

struct api {
	struct box *box;
	uint64_t started;     /* monotonic ms */
	uint64_t last_action; /* when the last action was accepted, monotonic ms */
};

/* The callbacks for server_new; their arg is a struct api. */
extern const struct server_ops api_ops;

/* Writes the body of /server_info. */
void info_write(struct buf *out, const struct api *api);

#endif
