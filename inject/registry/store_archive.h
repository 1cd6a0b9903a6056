/* Writing of archives, "archive:FILE[:REF]". */
#ifndef INJECT_REGISTRY_STORE_ARCHIVE_H
#define INJECT_REGISTRY_STORE_ARCHIVE_H

#include "inject/registry/store.h"

/*
 * Writes FILE, which is replaced once all bytes are written: an archive that is an OCI
 * layout and, if it holds one image, also a docker-archive. ref is the name after the
 * file; may be empty.
 */
int store_archive_write_file(struct image_store *s, const char *path, struct str ref,
	const struct store_item *items, size_t n) MUST_USE;

#endif
