/*
 * The index.json of an OCI image layout, in a folder or an archive: names and the
 * descriptors that they point at (image specification, "Image Layout"). No I/O.
 */
#ifndef INJECT_REGISTRY_LAYOUT_H
#define INJECT_REGISTRY_LAYOUT_H

#include "inject/registry/store.h"

/* The content of the file oci-layout. */
#define LAYOUT_MARK "{\"imageLayoutVersion\":\"1.0.0\"}"

/* The path of a content in a layout, "blobs/sha256/..."; the size fits all digests. */
enum { LAYOUT_PATH_MAX = DIGEST_MAX + 8 };
void layout_path(const char *digest, char path[LAYOUT_PATH_MAX]);

/*
 * Finds the descriptor that ref names; an empty ref names the only image. 0; ERR_SYNTAX:
 * this is no index.json; ERR_RANGE: ref is empty, and there are several images or none;
 * -ENOENT: no image has that name; -ENOMEM.
 */
int layout_find(struct str index, struct str ref, struct content *c) MUST_USE;

/*
 * Appends index (empty: a new one) with the name ref pointing at c; an existing entry of
 * that name is replaced. If ref is empty, c gets no name, and is added only if it is
 * absent. image is the full name with a tag for engines; may be empty. Errors as above.
 */
int layout_add(struct str index, struct str ref, struct str image,
	const struct content *c, struct buf *out) MUST_USE;

#endif
