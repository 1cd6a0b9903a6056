/*
 * The files that are added to an image, as entries of an archive: /.od/ with the client
 * and perhaps a busybox and od-plugins, and the link /openhands/micromamba/bin/micromamba
 * to the client. The archive consists of parts; each part ends with the bytes of one
 * program. No I/O.
 */
#ifndef INJECT_IMAGE_ROOTFS_H
#define INJECT_IMAGE_ROOTFS_H

#include "codec/archive/tar.h"

struct rootfs {
	const char *prefix; /* of all names: "", or a folder with its slash */
	struct str client, busybox, plugins_program; /* empty for none */
	bool drop_in; /* with the link that unmodified backends execute */
	bool inside;  /* names are relative to /.od/, which exists */
};

enum { ROOTFS_PARTS = 4 };

/*
 * Writes the entries of part number part; the caller begins with 0 and goes on in order.
 * *bytes follow these entries in the archive; they are borrowed from f.
 */
int rootfs_write_part(
	const struct rootfs *f, size_t part, struct tar *t, struct str *bytes) MUST_USE;

#endif
