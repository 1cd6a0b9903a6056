/*
 * What an engine says about an image, read from GET /images/{name}/json. No I/O.
 * From API 1.52 on members without a value are left out; absent, null and empty
 * mean the same here.
 */
#ifndef INJECT_IMAGE_H
#define INJECT_IMAGE_H

#include "base/buf.h"
#include "inject/doc.h"

/* The path that unmodified OpenHands backends execute: a link to the client. */
#define IMAGE_DROP_IN "/openhands/micromamba/bin/micromamba"
/* Where the client stands in an image; also the first word of its entry point. */
#define IMAGE_CLIENT "/.od/od-runtime-client"
/* The program beside it, with the browser driver and the skills. */
#define IMAGE_PLUGINS "/.od/od-plugins"

struct image {
	struct buf text; /* owned; what the doc indexes */
	struct doc doc;
	struct str id;
	struct str os, arch;
	struct json_val config; /* Config */
	struct json_val layers; /* RootFS.Layers */
};

/*
 * Reads the answer in *text, which becomes im's. im must not move afterwards. 0,
 * or ERR_SYNTAX and its like when it is no description of an image; then im is
 * freed. image_free takes a zeroed object too.
 */
int image_read_take(struct image *im, struct buf *text) MUST_USE;
void image_free(struct image *im);

/*
 * The same from the config of an image (OCI image specification, "Image
 * Configuration"), whose digest, the id of the image, is id, which is borrowed.
 */
int image_read_config_take(struct image *im, struct buf *text, struct str id) MUST_USE;

/* A label's value; the empty str when there is none. */
struct str image_label(struct image *im, const char *name);

/* What runs commands in an image of ours; the label od.shell says it. */
enum image_shell {
	IMAGE_SHELL_UNKNOWN,
	IMAGE_SHELL_OWN,     /* the image's own */
	IMAGE_SHELL_BUSYBOX, /* the one that we have put in */
	IMAGE_SHELL_NONE,
};

/* The label's value, and back. */
struct str image_shell_word(enum image_shell shell);
enum image_shell image_shell(struct image *im);

/* Whether the engine would run a check in a container of im. */
bool image_has_healthcheck(struct image *im);

/* Why no runtime image can be made from im, in words; NULL when it can. */
const char *image_refusal(struct image *im);
/* Why a builder cannot make one; for those that append a layer it does not matter. */
const char *image_build_refusal(struct image *im);

/* True if im's file system is base's, with or without layers on top of it. */
bool image_begins_with(struct image *im, struct image *base);
/*
 * True if im's file system is base's with layers on top of it. Ours is one, but a
 * classic builder adds another when it makes a missing WORKDIR.
 */
bool image_is_above(struct image *im, struct image *base);

/* True if im has the name that we gave to a product of ours, as its label says. */
bool image_is_product(struct image *im);

/* Whether it has a name of some sort besides its id; the last one keeps it alive. */
bool image_has_name(struct image *im);

/* The digest of the uppermost layer, unpacked; empty for an image without any. */
struct str image_top(struct image *im);
/* The digest under which a registry has im, "sha256:..."; empty when none is known. */
struct str image_digest(struct image *im);

/*
 * The layers that the base of an image of ours had, from its labels: 0 with *n,
 * or ERR_TYPE when im was not made by us or from an image of ours, or says
 * so without having the layers that its labels name.
 */
int image_base_layers(struct image *im, size_t *n) MUST_USE;

#endif
