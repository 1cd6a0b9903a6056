/*
 * The reference backend: sandboxes dial in, and each has its whole API under
 * /sandboxes/ID/ here, for clients that know nothing of that. What is on its way is
 * bounded; what has to outlive us is in the sandboxes.
 */
#ifndef INJECT_LISTEN_H
#define INJECT_LISTEN_H

#include "loop/loop.h"
#include "net/tls.h"

struct hub;

struct hub_conf {
	struct loop *loop;
	int fd; /* listening; the hub's from now on */
	const struct tls_credentials
		*tls;      /* NULL: plain; borrowed until hub_del, as is... */
	struct str secret; /* see listen_token.h; empty: sandboxes need no token */
	unsigned stall_ms; /* for a client to take any of his answer; 0: HTTP_STALL_MS */
};

/* NULL with *err set; the fd is closed then. */
struct hub *hub_new(const struct hub_conf *conf, int *err) MUST_USE;
/* Says goodbye to the sandboxes and ends all. */
void hub_del(struct hub *h);

#endif
