/*
 * The manifest of a plugin on the disk: plugin.json in its folder, as docs/plugins.md
 * has it. An engine: text in, a checked struct out; nothing is looked up.
 */
#ifndef PLUG_MANIFEST_H
#define PLUG_MANIFEST_H

#include "base/arena.h"
#include "base/buf.h"

/* Lists end with a NULL, which the numbers do not count. */
struct plugin_manifest {
	const char **argv;
	const char **env; /* NAME=VALUE */
	const char **needs;
	const char **probe; /* empty: none */
	const char **actions;
	struct plugin_route {
		const char *method;
		const char *path; /* below the plugin's own; the end may be a "*" */
	} * routes;
	size_t actions_n, routes_n;
	uint64_t ready_ms, call_ms;
};

/* Lower-case letters, digits, '_', '-' and '.', which it does not begin with. */
bool plugin_name_ok(struct str name);
/*
 * Reads the text of a manifest in the folder called name; the strings are the arena's.
 * 0; ERR_SYNTAX with the key and what is wrong with it appended to why; -ENOMEM.
 */
int plugin_manifest_read(struct plugin_manifest *m, struct str text, struct str name,
	struct arena *a, struct buf *why) MUST_USE;

#endif
