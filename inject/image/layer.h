/*
 * The layer that is added to an image: a gzipped archive, held in memory. Equal programs
 * give equal bytes. No I/O.
 */
#ifndef INJECT_IMAGE_LAYER_H
#define INJECT_IMAGE_LAYER_H

#include "inject/image/rootfs.h"
#include "inject/registry/store.h"

struct layer {
	struct buf gzip;         /* owned */
	struct content unpacked; /* of the archive in it: the diff id */
};

/* 0; -ENOMEM, ERR_LIMIT. layer_free in any case, which takes a zeroed object too. */
int layer_make(struct layer *l, const struct rootfs *files) MUST_USE;
void layer_free(struct layer *l);

#endif
