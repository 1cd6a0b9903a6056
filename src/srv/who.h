/* Who runs in the sandbox, and in what surroundings. */
#ifndef SRV_WHO_H
#define SRV_WHO_H

#include "base/arena.h"
#include "config.h"
#include "proc/shells.h"
#include "proc/user.h"
#include "proc/userdirs.h"
#include "term/shell.h"

struct who {
	struct user user;
	struct spawn_user identity;
	struct shells_found shell;
	char cwd[USER_PATH_MAX];
	bool gives_cwd;           /* a server that is root has given cwd to the user */
	struct buf missing;       /* why there is no shell */
	struct arena memory;      /* of the environment */
	struct shell_setup setup; /* all of it, for session_new; without a name */
};

/*
 * Finds or makes the sandbox user and his working directory, finds a shell and
 * composes its environment. What an image lacks is logged and never fatal:
 * without a shell, setup.missing says so. again: an earlier process has set up
 * the user and his directory already; they are only looked up. -ENOMEM, and the error of
 * entering a working directory that is needed, which is logged.
 */
int who_find(struct who *w, const struct config *c, bool again) MUST_USE;
void who_free(struct who *w);

#endif
