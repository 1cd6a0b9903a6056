/*
 * Finds the shell of an image and its kind. The commands that are sent at its prompt
 * depend on the kind.
 */
#ifndef PROC_SHELLS_H
#define PROC_SHELLS_H

#include "base/buf.h"
#include "limits.h"

enum shells_kind {
	SHELLS_POSIX, /* dash, and any shell of unknown kind */
	SHELLS_BASH,
	SHELLS_ASH, /* busybox */
	SHELLS_MKSH,
	SHELLS_ZSH,
};

struct shells_found {
	char path[FILE_PATH_MAX]; /* as the image names it; without the root */
	const char *arg0;         /* argv[0], by which busybox selects its applet */
	enum shells_kind kind;
};

/*
 * Paths at which a shell may be, best first, ended by NULL. The host tool checks them
 * before it adds a shell to an image.
 */
extern const char *const shells_paths[];

struct spawn_user;

struct shells_place {
	const char *root;              /* "" for the running system */
	const struct spawn_user *user; /* the user that executes it; NULL: this process */
};

/*
 * Finds a shell that user can execute: the configured one (an absolute path, or a name
 * that is searched in the usual folders; NULL or "" for none), then bash, sh, ash,
 * busybox, and one that may lie in /.od/bin. A file whose loader or interpreter is
 * missing is no shell. notes gets a line about a configured shell that is missing. 0, or
 * -ENOENT with a line in notes that lists the paths tried.
 */
int shells_find(const struct shells_place *p, const char *configured,
	struct shells_found *out, struct buf *notes) MUST_USE;

#endif
