/*
 * The labels of a runtime image, whichever way it is made: what it was made from, what
 * is in it, and the settings of the base that ours replace. No I/O.
 */
#ifndef INJECT_LABELS_H
#define INJECT_LABELS_H

#include "inject/image.h"

/* How many labels there are at most. */
enum { LABELS_MAX = 28 };

struct labels {
	struct image *base;
	struct str base_ref; /* as the user typed it */
	struct str base_id;
	struct str arch;
	struct str client_sha256;
	struct str shell;          /* where commands find one, as image_shell has it */
	struct str busybox_sha256; /* of the one that goes in; empty for none */
	struct str plugins_sha256; /* of the od-plugins that goes in; empty for none */
	struct str key;            /* the tag of the product */
	struct str lock, version;  /* the tags of what it stands on; may be empty */
	struct str deps;           /* extra commands, as JSON; empty for none */
	struct str plugins;        /* as plugins_label has it; empty for none */
	struct str base_digest;    /* of its manifest in a registry, if known */
	struct str layer;          /* digest of our layer, unpacked; empty if not known */
	size_t base_layers;        /* of the base, without ours */
	struct str base_top;       /* the last of them, unpacked */
};

/*
 * Calls put for each label, in an order that is always the same; a value that put gets
 * lives as long as l and its base. Ends with the first result that is not 0.
 * labels_originals: only for the settings of the base.
 */
int labels_originals(const struct labels *l,
	int (*put)(void *arg, const char *name, struct str value), void *arg) MUST_USE;
int labels_each(const struct labels *l,
	int (*put)(void *arg, const char *name, struct str value), void *arg) MUST_USE;

/*
 * The words that the image would have started, or, if it has our client, its base: its
 * entrypoint and then its command. put gets each; NULL only counts. *n is how many there
 * are. ERR_* for a label that is not what ours are, -ENOMEM.
 */
int labels_command(struct image *im, void (*put)(void *arg, struct str word), void *arg,
	size_t *n) MUST_USE;

#endif
