/* Copies the client and its files into a container that exists. */
#ifndef INJECT_IMAGE_CLIENT_FILES_H
#define INJECT_IMAGE_CLIENT_FILES_H

#include "inject/engine/engine.h"

/*
 * Copies the client, perhaps od-plugins, a busybox and the link of unmodified backends
 * into a container through its archive, or, without the link, into the volume at its
 * /.od. The status of the answer is stored in reply, which the caller frees in any case.
 * 0, -EINTR, -ENOMEM or FAIL_*.
 */
struct client_files {
	/* Each may be empty: an existing file stays then. */
	struct str client, busybox, plugins_program;
	bool drop_in, volume;
};
int client_files_put(const struct engine *e, const char *id, const struct client_files *f,
	struct reply *reply) MUST_USE;

/*
 * Unpacks an archive of several parts into a folder of a container. A folder of the
 * archive replaces no link. The status of the answer is stored in reply, which the caller
 * has initialized. Errors as above.
 */
int client_files_put_archive(const struct engine *e, const char *id, const char *path,
	const struct str *parts, size_t parts_n, struct reply *reply) MUST_USE;

#endif
