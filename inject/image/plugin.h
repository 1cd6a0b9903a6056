/*
 * The plugins that go into an image below the client. Each is a folder of this machine or
 * an image, given as NAME=DIR or NAME=IMAGE, and appears at /.od/plugins/NAME.
 */
#ifndef INJECT_IMAGE_PLUGIN_H
#define INJECT_IMAGE_PLUGIN_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/hash.h"
#include "inject/options/options_sets.h"

/* The folder of the plugins in an image. */
#define PLUGIN_FOLDER "/.od/plugins/"

struct plugin {
	struct str name;
	const char *image;  /* NULL for a folder */
	bool named;         /* the image has a name besides its id */
	int top;            /* the folder; -1 for none; owned */
	struct arena arena; /* of paths */
	const char **paths; /* paths in the folder, sorted */
	size_t n;
	char hash[SHA256_HEX +
		1]; /* of its entries, or the id of the image; "": not known */
};

struct plugins {
	struct plugin list[INJECT_PLUGINS]; /* in the order of the names */
	size_t n;
};

/* The name in the value of an option --plugin. */
struct str plugin_option_name(const char *value);

/*
 * Reads the options that name a source, and the folders. Owner, time and modes are
 * normalized, so that every machine makes equal bytes: 0:0, 0, and 755 or 644. 0;
 * FAIL_USAGE, FAIL_ENVIRONMENT or -ENOMEM, with the reason printed. plugins_free in any
 * case.
 */
int plugins_read(struct plugins *p, const struct plugin_options *o) MUST_USE;
void plugins_free(struct plugins *p);

/* Receives a piece of an archive; an error ends the archive. */
typedef int plugin_put_fn(void *arg, struct str piece);
/*
 * Passes the entries of a folder for the build context to put, in pieces, read from the
 * files. The bytes equal those at the first reading. 0, the result of put, -ENOMEM, or
 * FAIL_ENVIRONMENT with the reason printed: the files have changed.
 */
int plugin_put_archive(const struct plugin *p, plugin_put_fn *put, void *arg) MUST_USE;

/* Appends "name=hash name=hash"; nothing for none. */
void plugins_write_label(const struct plugins *p, struct buf *out);

#endif
