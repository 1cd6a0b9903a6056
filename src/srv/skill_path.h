/* Where shells find the skills. */
#ifndef SRV_SKILL_PATH_H
#define SRV_SKILL_PATH_H

#include "proc/user.h"

/*
 * Makes a folder with a link to program, the path of od-plugins, for each skill:
 * /.od/bin if the program lies in /.od and that can be written, else STATE/bin. 0 with
 * the folder's path; -errno when there is no place for it.
 */
int skill_path_make(
	const char *program, const char *state, char out[USER_PATH_MAX]) MUST_USE;

#endif
