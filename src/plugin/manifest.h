/*
 * The manifest of a plugin from a folder: the file plugin.json, see docs/plugins.md. An
 * engine without I/O: checks a text and fills a struct; no file is looked up.
 */
#ifndef PLUGIN_MANIFEST_H
#define PLUGIN_MANIFEST_H

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
		const char *path; /* relative to the plugin's path; may end in a "*" */
	} * routes;
	size_t actions_n, routes_n;
	uint64_t ready_ms, call_ms;
};

/*
 * Whether name has only lower-case letters, digits, '_', '-' and '.', does not begin with
 * '-' or '.', and is not too long.
 */
bool manifest_is_name(struct str name);
/*
 * Parses the manifest of the folder called name. The strings live in the arena. 0;
 * ERR_SYNTAX: the key and the reason are appended to why; -ENOMEM.
 */
int plugin_manifest_read(struct plugin_manifest *m, struct str text, struct str name,
	struct arena *a, struct buf *why) MUST_USE;

#endif
