/*
 * Which shell there is in an image, and of what kind: what it is asked to run
 * at its prompt, and how, depends on the kind.
 */
#ifndef PROC_SHELLS_H
#define PROC_SHELLS_H

#include "base/buf.h"
#include "limits.h"

enum shells_kind {
	SHELLS_POSIX, /* dash, and any other of which no more is known */
	SHELLS_BASH,
	SHELLS_ASH, /* busybox */
	SHELLS_MKSH,
	SHELLS_ZSH,
};

struct shells_found {
	char path[FILE_PATH_MAX]; /* as the image names it; without the root */
	const char *arg0;         /* argv[0]: busybox goes by it */
	enum shells_kind kind;
};

/*
 * Where a shell may be, best first, ended by NULL. The host tool looks there before
 * it gives an image a shell.
 */
extern const char *const shells_ladder[];

struct spawn_user;

struct shells_place {
	const char *root;              /* "" for the running system */
	const struct spawn_user *user; /* that executes it; NULL: this process */
};

/*
 * Finds a shell that user can execute: the configured one (an absolute path, or a name
 * that is looked for in the usual folders; NULL or "" for none), then bash, sh, ash,
 * busybox, and one that may lie in /.od/bin. A file whose loader or interpreter is
 * missing is no shell. notes gets one line about a configured shell that is missing.
 * 0, or -ENOENT with one line in notes that lists what was tried.
 */
int shells_find(const struct shells_place *p, const char *configured,
	struct shells_found *out, struct buf *notes) MUST_USE;

#endif
