/*
 * What goes into an image, as entries of an archive: /.od/ with the client and perhaps
 * a busybox, and the link /openhands/micromamba/bin/micromamba to the client. In three
 * parts, the bytes of the two programs between them. No I/O.
 */
#ifndef INJECT_ROOTFS_H
#define INJECT_ROOTFS_H

#include "file/tar.h"

struct rootfs {
	const char *prefix;         /* of all names: "", or a folder with its slash */
	struct str client, busybox; /* empty for none */
	bool drop_in;               /* with the link that unmodified backends execute */
	bool inside;                /* names are those below /.od/, which is there */
};

/* Up to the bytes of the busybox, those up to the client's, and the rest. */
int rootfs_head(const struct rootfs *f, struct tar *t) MUST_USE;
int rootfs_middle(const struct rootfs *f, struct tar *t) MUST_USE;
int rootfs_tail(const struct rootfs *f, struct tar *t) MUST_USE;

#endif
