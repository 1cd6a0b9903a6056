/* Names of the images that od-runtime makes, from the exact inputs of their bytes. */
#ifndef INJECT_NAMES_TAG_H
#define INJECT_NAMES_TAG_H

#include "base/buf.h"

enum { TAG_DIGITS = 16, TAG_HASH_MAX = TAG_DIGITS + 1 };

/* The repository of our images, and that of the names lent to a base image. */
#define TAG_REPO "od-runtime"
#define TAG_BASE_REPO "od-runtime-base"
/* The former names of the repository; the second was for a client in development. */
#define TAG_LEGACY_REPO "od_runtime"
#define TAG_LEGACY_DEV_REPO "od_runtime_dev"

/*
 * Part of every lock hash. Incremented whenever the Dockerfile or the context would
 * differ for the same inputs.
 */
#define TAG_TEMPLATE "5"

/*
 * The first 16 digits, the least significant first, of the 128-bit number in
 * base 36. Fewer for numbers below 36^15; none for zero. out is NUL-terminated.
 */
void tag_truncate(const uint8_t digest[16], char out[TAG_HASH_MAX]);

/* The inputs of an image that od-runtime makes. */
struct tag_inputs {
	struct str base_ref; /* canonical */
	struct str base_id;
	struct str arch;
	struct str deps;           /* commands, as the label od.deps has them */
	struct str plugins;        /* names and hashes, as the label od.plugins */
	struct str client_sha256;  /* hexadecimal */
	struct str busybox_sha256; /* hexadecimal; empty if no busybox goes in */
	struct str plugins_sha256; /* of od-plugins, hexadecimal */
};

/*
 * Each appends a valid tag. The versioned tag depends on the base's name alone,
 * "oh_v{VERSION}_{base}"; the lock tag on everything below the client,
 * "oh_v{VERSION}_{lock}"; the source tag on everything, "oh_v{VERSION}_{lock}_{source}".
 */
void tag_write_versioned(const struct tag_inputs *in, struct buf *out);
void tag_write_lock(const struct tag_inputs *in, struct buf *out);
void tag_write_source(const struct tag_inputs *in, struct buf *out);

/* Appends the former form of the versioned tag, "od_v{VERSION}_image_{repo}__{tag}". */
void tag_write_legacy(const struct tag_inputs *in, struct buf *out);

#endif
