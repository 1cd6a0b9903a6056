/*
 * A sandbox that dials out to a backend: the options --connect... of run. The files that
 * they name are put into the container before it starts. The container's settings, which
 * the engine shows to its users, have only the paths.
 */
#ifndef INJECT_SANDBOX_SETTINGS_CONNECT_H
#define INJECT_SANDBOX_SETTINGS_CONNECT_H

#include "base/jw.h"
#include "inject/engine/engine.h"
#include "inject/options/options_sets.h"

/*
 * The folder in the container. It is not below /.od, which is a volume with --via
 * volume.
 */
#define CONNECT_FOLDER ".od-connect/"

/* In byte order of their names, as an archive has them. */
enum connect_file {
	CONNECT_CA,
	CONNECT_CERT,
	CONNECT_KEY,
	CONNECT_TOKEN,
	CONNECT_FILES,
};

struct connect {
	const struct connect_options *options; /* borrowed */
	bool read_only;
	struct buf files[CONNECT_FILES];
};

/*
 * Checks the options and reads their files. Without --connect: 0. FAIL_* or -ENOMEM.
 * connect_free in any case. read_only: the sandbox is read-only, for messages.
 */
int connect_read(
	struct connect *c, const struct connect_options *o, bool read_only) MUST_USE;
void connect_free(struct connect *c);

/* The arguments of the client, as elements of an array. name is the sandbox's. */
void connect_write_arguments(const struct connect *c, const char *name, struct jw *w);

/*
 * Puts the files into the container, which has not been started. user: the user of its
 * server, as the engine has it; only if that is root can the commands of the sandbox not
 * read them. 0, -EINTR, -ENOMEM or FAIL_*.
 */
int connect_put(const struct connect *c, const struct engine *e, const char *id,
	struct str user) MUST_USE;

#endif
