/* Names of the images that we make, from the exact inputs of their bytes. */
#ifndef INJECT_TAG_H
#define INJECT_TAG_H

#include "base/buf.h"

enum { TAG_DIGITS = 16, TAG_HASH_MAX = TAG_DIGITS + 1 };

/* The repository of our images, and that of the names lent to a base. */
#define TAG_REPO "od-runtime"
#define TAG_BASE_REPO "od-runtime-base"
/* What they were called once; the second for one with a client in development. */
#define TAG_LEGACY_REPO "od_runtime"
#define TAG_LEGACY_DEV_REPO "od_runtime_dev"

/*
 * Part of every lock hash: counts up whenever the Dockerfile or the context would
 * differ for the same inputs.
 */
#define TAG_TEMPLATE "5"

/*
 * The first 16 digits, the least significant first, of the 128-bit number in
 * base 36. Fewer for numbers below 36^15; none for zero. out is NUL-terminated.
 */
void tag_truncate(const uint8_t digest[16], char out[TAG_HASH_MAX]);

/* What an image of ours is made from. */
struct tag_inputs {
	struct str base_ref; /* canonical */
	struct str base_id;
	struct str arch;
	struct str deps;           /* commands, as the label od.deps has them */
	struct str plugins;        /* names and hashes, as the label od.plugins */
	struct str client_sha256;  /* hexadecimal */
	struct str busybox_sha256; /* the same; empty when none goes in */
	struct str plugins_sha256; /* the same of od-plugins */
};

/*
 * Each appends a legal tag: the versioned one goes by the base's name alone,
 * "oh_v{VERSION}_{base}"; the lock by all that stands below the client,
 * "oh_v{VERSION}_{lock}"; the source by everything, "oh_v{VERSION}_{lock}_{source}".
 */
void tag_versioned(const struct tag_inputs *in, struct buf *out);
void tag_lock(const struct tag_inputs *in, struct buf *out);
void tag_source(const struct tag_inputs *in, struct buf *out);

/* The old form of the first, "od_v{VERSION}_image_{repo}__{tag}". */
void tag_legacy(const struct tag_inputs *in, struct buf *out);

#endif
