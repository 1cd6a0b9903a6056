/* The archive that goes to the builder, in pieces that are sent one by one. */
#ifndef INJECT_CONTEXT_H
#define INJECT_CONTEXT_H

#include "base/buf.h"

enum { CONTEXT_PARTS = 5 };

/* What the archive is made of; all borrowed. */
struct context_files {
	struct str dockerfile;
	struct str client;
	struct str busybox; /* empty for none */
	bool drop_in;       /* with the link that unmodified backends execute */
};

struct context {
	struct buf head, middle, tail; /* owned */
	/* head, busybox, middle, client, tail */
	struct str parts[CONTEXT_PARTS];
};

/*
 * Lays out Dockerfile, rootfs/.od/bin/busybox, rootfs/.od/od-runtime-client and the
 * link rootfs/openhands/micromamba/bin/micromamba to it. The same input gives the
 * same bytes. 0 or a negative error; then c is freed.
 */
int context_init(struct context *c, const struct context_files *f) MUST_USE;
void context_free(struct context *c);

#endif
