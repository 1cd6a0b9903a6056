/*
 * Reads an engine's description of an image from GET /images/{name}/json. No I/O. From
 * API 1.52 on members without a value are left out; absent, null and empty have the same
 * meaning here.
 */
#ifndef INJECT_IMAGE_IMAGE_H
#define INJECT_IMAGE_IMAGE_H

#include "base/buf.h"
#include "inject/http/json_doc.h"

/* The path that unmodified OpenHands backends execute: a link to the client. */
#define IMAGE_DROP_IN "/openhands/micromamba/bin/micromamba"
/* The path of the client in an image; also the first word of its entry point. */
#define IMAGE_CLIENT "/.od/od-runtime-client"
/* The program in the same folder, with the browser driver and the skills. */
#define IMAGE_PLUGINS "/.od/od-plugins"

struct image {
	struct buf text; /* owned; the text that the doc indexes */
	struct json_doc doc;
	struct str id;
	struct str os, arch;
	struct json_val config; /* Config */
	struct json_val layers; /* RootFS.Layers */
};

/*
 * Reads the answer in *text, whose memory becomes im's. im must not move afterwards. 0,
 * or ERR_SYNTAX and other errors if the text is no description of an image; then im is
 * freed. image_free takes a zeroed object too.
 */
int image_read_take(struct image *im, struct buf *text) MUST_USE;
void image_free(struct image *im);

/*
 * As image_read_take, from the config of an image (OCI image specification, "Image
 * Configuration"). id is the digest of the config, which is the image's id; it is
 * borrowed.
 */
int image_read_config_take(struct image *im, struct buf *text, struct str id) MUST_USE;

/* A label's value; empty if there is none. */
struct str image_label(struct image *im, const char *name);

/*
 * The shell for commands in an image that od-runtime made; the label od.shell stores it.
 */
enum image_shell {
	IMAGE_SHELL_UNKNOWN,
	IMAGE_SHELL_OWN,     /* of the base image */
	IMAGE_SHELL_BUSYBOX, /* the busybox that od-runtime put in */
	IMAGE_SHELL_NONE,
};

/* The value of the label for shell, and the shell of a label. */
struct str image_shell_name(enum image_shell shell);
enum image_shell image_shell(struct image *im);

/* Whether the engine would run a health check in a container of im. */
bool image_has_healthcheck(struct image *im);

/* The reason why no runtime image can be made from im; NULL: it can. */
const char *image_refusal(struct image *im);
/*
 * The reason why a builder cannot make the image; it does not apply if a layer is
 * appended.
 */
const char *image_build_refusal(struct image *im);

/* True if im's file system is that of base, with or without layers on top of it. */
bool image_begins_with(struct image *im, struct image *base);
/*
 * True if im's file system is that of base with layers on top of it: our layer, and for a
 * classic builder perhaps another layer that it added for a missing WORKDIR.
 */
bool image_is_above(struct image *im, struct image *base);

/*
 * True if im is a runtime image with the name that od-runtime gave it, as its label says.
 */
bool image_is_product(struct image *im);

/* Whether im has a name or digest besides its id; the last name keeps the image. */
bool image_has_name(struct image *im);

/* The digest of the uppermost layer, unpacked; empty for an image without any. */
struct str image_top_layer(struct image *im);
/* The digest under which a registry has im, "sha256:..."; empty when none is known. */
struct str image_digest(struct image *im);

/*
 * The number of layers of the base of an image that od-runtime made, from its labels: 0
 * with *n. ERR_TYPE: im was not made by od-runtime or from such an image, or does not
 * have the layers that its labels name.
 */
int image_base_layers(struct image *im, size_t *n) MUST_USE;

#endif
