/* The identity of the sandbox: its user, working directory, shell and environment. */
#ifndef SERVER_IDENTITY_H
#define SERVER_IDENTITY_H

#include "base/arena.h"
#include "config.h"
#include "proc/shells.h"
#include "proc/user.h"
#include "proc/userdirs.h"
#include "shell/shell.h"

struct user_identity {
	struct user user;
	struct spawn_user identity;
	struct shells_found shell;
	char cwd[USER_PATH_MAX];
	bool gives_cwd;           /* the server is root and has given cwd to the user */
	struct buf missing;       /* why there is no shell */
	struct arena memory;      /* of the environment */
	struct shell_setup setup; /* for session_new; without a session name */
};

/*
 * Finds or makes the sandbox user and the working directory, finds a shell and makes its
 * environment. A missing part of the image is logged and not fatal; without a shell,
 * setup.missing has the reason. again: an earlier process has set up the user and the
 * directory, so they are only looked up. Returns 0, -ENOMEM, or the error of entering a
 * working directory that is needed, which is logged.
 */
int identity_find(struct user_identity *w, const struct config *c, bool again) MUST_USE;
void identity_free(struct user_identity *w);

#endif
