/*
 * Makes a runtime image without an engine: our layer and our settings are added to an
 * image in one place (store.h) and the result is written to another. The layers of the
 * base are neither unpacked nor rewritten.
 */
#ifndef INJECT_IMAGE_APPEND_H
#define INJECT_IMAGE_APPEND_H

#include "base/jw.h"
#include "inject/image/image.h"
#include "inject/image/program.h"
#include "inject/options/options_sets.h"
#include "inject/registry/manifest.h"
#include "inject/registry/store.h"

/* Runs "build SOURCE --output TARGET". 0; -EINTR, -ENOMEM, FAIL_*. */
int append_run(const char *source, const struct image_options *image,
	const struct output_options *output, bool json) MUST_USE;

/* --- Between append.c and append_image.c ----------------------------------------- */

enum { APPEND_CLIENTS = 16 }; /* more than the architectures that have a name here */

struct append {
	const char *source;
	const struct image_options *options;
	const struct output_options *output;
	bool json; /* the result is printed as JSON */
	struct image_store from, to;
	struct arena arena; /* bytes of the contents that are made */
	struct buf items;   /* of struct store_item, in the order of store_write */
	struct program clients[APPEND_CLIENTS];
	size_t clients_n;
	struct buf report_text;
	struct jw report; /* of the images made, for --json; within an array */
	size_t made;
};

/*
 * Adds an item of bytes, which are copied; the caller sets c->media, this sets the rest.
 */
int append_add_new(
	struct append *a, struct str bytes, bool is_manifest, struct content *c) MUST_USE;
/* Adds an item that a->from has. */
int append_add_existing(struct append *a, const struct content *c) MUST_USE;

/* Prints why the image cannot be used; returns FAIL_*. */
int append_refuse(const struct append *a, const char *why) MUST_USE;

/* Finds the client for the architecture; 1 if there is none. */
int append_find_client(
	struct append *a, struct str arch, const struct program **client) MUST_USE;

/*
 * Makes the runtime image of the image with the manifest m: adds its items; *out becomes
 * its manifest. 0; -EINTR, -ENOMEM, FAIL_*.
 */
int append_make_image(struct append *a, struct manifest *m, struct content *out) MUST_USE;

#endif
