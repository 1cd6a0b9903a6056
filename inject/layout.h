/*
 * The index.json of an OCI image layout, in a folder or an archive: names and what
 * they point at (image specification, "Image Layout"). No I/O.
 */
#ifndef INJECT_LAYOUT_H
#define INJECT_LAYOUT_H

#include "inject/store.h"

/* The content of the file oci-layout. */
#define LAYOUT_MARK "{\"imageLayoutVersion\":\"1.0.0\"}"

/* Where a content lies in a layout, "blobs/sha256/..."; room for all digests. */
enum { LAYOUT_PATH_MAX = DIGEST_MAX + 8 };
void layout_path(const char *digest, char path[LAYOUT_PATH_MAX]);

/*
 * Finds what ref names; an empty ref names the only image there is. 0; ERR_SYNTAX
 * when this is no index.json, ERR_RANGE when ref is empty and there are more or
 * none, -ENOENT when no image is called so, -ENOMEM.
 */
int layout_find(struct str index, struct str ref, struct content *c) MUST_USE;

/*
 * Appends index (empty for a new one) with the name ref pointing at c, and nothing
 * else called so; an empty ref adds no name, and c only where it is not yet. image
 * is the name for engines, full and with a tag; may be empty. Errors as above.
 */
int layout_add(struct str index, struct str ref, struct str image,
	const struct content *c, struct buf *out) MUST_USE;

#endif
