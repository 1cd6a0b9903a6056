/*
 * The plugins that go into an image below the client: each a folder of this machine or
 * an image, given as NAME=DIR or NAME=IMAGE, and seen at /.od/plugins/NAME.
 */
#ifndef INJECT_PLUGIN_H
#define INJECT_PLUGIN_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/hash.h"
#include "inject/options.h"

/* Where they stand in an image. */
#define PLUGIN_FOLDER "/.od/plugins/"

struct plugin {
	struct str name;
	const char *image;  /* NULL for a folder */
	bool named;         /* that image, besides its id */
	int top;            /* the folder; -1 for none; owned */
	struct arena arena; /* of paths */
	const char **paths; /* what is in the folder, sorted */
	size_t n;
	char hash[SHA256_HEX +
		1]; /* of its entries, or the id of the image; "" not known */
};

struct plugins {
	struct plugin list[INJECT_PLUGINS]; /* by name */
	size_t n;
};

/* The name in the value of a --plugin. */
struct str plugin_name(const char *value);

/*
 * Reads those options that name a source, and the folders. Owner, time and modes are
 * made the same for everybody: 0:0, 0, and 755 or 644. 0; FAIL_USAGE,
 * FAIL_ENVIRONMENT or -ENOMEM, with the reason printed. plugins_free in any case.
 */
int plugins_read(struct plugins *p, const struct options *o) MUST_USE;
void plugins_free(struct plugins *p);

/* Takes a piece of an archive; an error ends it. */
typedef int plugin_put_fn(void *arg, struct str piece);
/*
 * The entries for the context, of a folder: the same bytes as when it was read, piece by
 * piece, out of the files. 0, what put says, -ENOMEM, or FAIL_ENVIRONMENT with the
 * reason printed: they are others by now.
 */
int plugin_put(const struct plugin *p, plugin_put_fn *put, void *arg) MUST_USE;

/* Appends "name=hash name=hash"; nothing for none. */
void plugins_label(const struct plugins *p, struct buf *out);

#endif
