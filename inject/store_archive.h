/* The two halves of the archives, "archive:FILE[:REF]". */
#ifndef INJECT_STORE_ARCHIVE_H
#define INJECT_STORE_ARCHIVE_H

#include "inject/store.h"

/*
 * Writes FILE, which it replaces once all is there: an archive that is an OCI layout
 * and, if it holds one image, a docker-archive as well. ref is the name behind the
 * file; may be empty.
 */
int archive_write(struct image_store *s, const char *path, struct str ref,
	const struct store_item *items, size_t n) MUST_USE;

#endif
