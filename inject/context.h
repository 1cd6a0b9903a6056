/* The archive that goes to the builder, in pieces that are sent one by one. */
#ifndef INJECT_CONTEXT_H
#define INJECT_CONTEXT_H

#include "base/buf.h"

enum { CONTEXT_PARTS = 3 };

struct context {
	struct buf head, tail;           /* owned */
	struct str parts[CONTEXT_PARTS]; /* head, the client's bytes, tail */
};

/*
 * Lays out Dockerfile, rootfs/.od/od-runtime-client and, with drop_in, the link
 * rootfs/openhands/micromamba/bin/micromamba to it. Borrows client. The same
 * input gives the same bytes. 0 or a negative error; then c is freed.
 */
int context_init(struct context *c, struct str dockerfile, struct str client,
	bool drop_in) MUST_USE;
void context_free(struct context *c);

#endif
