/* The folder of the skills, for the PATH of shells. */
#ifndef SERVER_SKILL_PATH_H
#define SERVER_SKILL_PATH_H

#include "proc/user.h"

/*
 * Makes a folder with a link for each skill to program, the path of od-plugins. The
 * folder is /.od/bin if program lies in /.od and that folder can be written to, else
 * STATE/bin. Returns 0 with its path in out, or -errno: no folder could be made.
 */
int skill_path_make(
	const char *program, const char *state, char out[USER_PATH_MAX]) MUST_USE;

#endif
