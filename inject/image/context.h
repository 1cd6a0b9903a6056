/*
 * The archive that is sent to the builder, in pieces that are sent one after the other:
 * the content of folders is not held in memory.
 */
#ifndef INJECT_IMAGE_CONTEXT_H
#define INJECT_IMAGE_CONTEXT_H

#include "inject/image/plugin.h"
#include "inject/image/rootfs.h"

/* The Dockerfile and the files beside it, then the files of the root. */
enum { CONTEXT_PARTS = 1 + 2 * ROOTFS_PARTS };

/* The contents of the archive; all borrowed. */
struct context_files {
	struct str dockerfile;
	const struct plugins *plugins; /* their folders; NULL for none */
	struct str client;  /* empty: no client and no other file of the product */
	struct str busybox; /* empty for none */
	struct str plugins_program; /* empty for none */
	bool drop_in;               /* with the link that unmodified backends execute */
	bool ignore;                /* with a .dockerignore: for a folder */
};

struct context {
	struct buf text, root[ROOTFS_PARTS]; /* owned */
	struct str parts[CONTEXT_PARTS];
	const struct plugins *plugins; /* they follow the first part; or NULL */
};

/*
 * Lays out Dockerfile, plugins/NAME/.od/plugins/NAME, rootfs/.od/bin/busybox,
 * rootfs/.od/od-plugins, rootfs/.od/od-runtime-client and the link
 * rootfs/openhands/micromamba/bin/micromamba to it. Equal input gives equal bytes. 0 or
 * a negative error; then c is freed.
 */
int context_init(struct context *c, const struct context_files *f) MUST_USE;
/* Passes the whole archive to put, in order; results are those of plugin_put_archive. */
int context_put(const struct context *c, plugin_put_fn *put, void *arg) MUST_USE;
void context_free(struct context *c);

#endif
