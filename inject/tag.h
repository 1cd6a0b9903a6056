/* Names of the images that we make, from the exact inputs of their bytes. */
#ifndef INJECT_TAG_H
#define INJECT_TAG_H

#include "base/buf.h"

enum { TAG_DIGITS = 16, TAG_HASH_MAX = TAG_DIGITS + 1 };

/* The repository of our images, and that of the names lent to a base. */
#define TAG_REPO "od-runtime"
#define TAG_BASE_REPO "od-runtime-base"

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
	struct str client_sha256;  /* hexadecimal */
	struct str busybox_sha256; /* the same; empty when none goes in */
};

/* Appends "oh_v{VERSION}_{lock}_{source}", which is a legal tag. */
void tag_source(const struct tag_inputs *in, struct buf *out);

#endif
