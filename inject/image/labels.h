/*
 * The labels of a runtime image, for each method that makes one: the base, the contents,
 * and the settings of the base that od-runtime replaces. No I/O.
 */
#ifndef INJECT_IMAGE_LABELS_H
#define INJECT_IMAGE_LABELS_H

#include "inject/image/image.h"

/* The maximum number of labels. */
enum { LABELS_MAX = 28 };

struct labels {
	struct image *base;
	struct str base_ref; /* as the user typed it */
	struct str base_id;
	struct str arch;
	struct str client_sha256;
	struct str shell;          /* the shell for commands, see image_shell */
	struct str busybox_sha256; /* of the busybox that goes in; empty for none */
	struct str plugins_sha256; /* of the od-plugins that goes in; empty for none */
	struct str key;            /* the tag of the product */
	struct str lock, version;  /* the tags of the stages below; may be empty */
	struct str deps;           /* the extra commands, as JSON; empty for none */
	struct str plugins;        /* see plugins_write_label; empty for none */
	struct str base_digest;    /* of its manifest in a registry, if known */
	struct str layer;          /* digest of our layer, unpacked; empty if not known */
	size_t base_layers;        /* of the base, without our layers */
	struct str base_top;       /* the last of these layers, unpacked */
};

/*
 * Calls put for each label, always in the same order. A value that put receives lives as
 * long as l and its base. Ends with the first result that is not 0. labels_each_original:
 * only the labels with settings of the base.
 */
int labels_each_original(const struct labels *l,
	int (*put)(void *arg, const char *name, struct str value), void *arg) MUST_USE;
int labels_each(const struct labels *l,
	int (*put)(void *arg, const char *name, struct str value), void *arg) MUST_USE;

/*
 * The start command of the image, or of its base if the image has our client: the
 * entrypoint and then the command. put receives each word; NULL: only counts. *n is the
 * number of words. ERR_*: a label does not have our format; -ENOMEM.
 */
int labels_command(struct image *im, void (*put)(void *arg, struct str word), void *arg,
	size_t *n) MUST_USE;

#endif
