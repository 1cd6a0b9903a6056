/*
 * The reference backend. Sandboxes dial in, and each sandbox's whole API is served under
 * /sandboxes/ID/ for clients that do not support dial-out. Buffers are bounded.
 * Persistent data is stored only in the sandboxes.
 */
#ifndef INJECT_CONTROL_LISTEN_H
#define INJECT_CONTROL_LISTEN_H

#include "loop/loop.h"
#include "net/tls.h"

struct hub;

struct hub_conf {
	struct loop *loop;
	int fd;                            /* the listening socket; owned by the hub */
	const struct tls_credentials *tls; /* NULL: plain; borrowed until hub_del */
	struct str secret; /* borrowed, too; see listen_token.h; empty: no tokens */
	unsigned stall_ms; /* limit for a client that takes no byte; 0: HTTP_STALL_MS */
};

/* NULL with *err set; the fd is closed then. */
struct hub *hub_new(const struct hub_conf *conf, int *err) MUST_USE;
/* Closes the connections of the sandboxes and frees everything. */
void hub_del(struct hub *h);

#endif
