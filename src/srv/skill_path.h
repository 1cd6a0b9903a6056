/* Where shells find the skills. */
#ifndef SRV_SKILL_PATH_H
#define SRV_SKILL_PATH_H

#include "proc/user.h"

/*
 * Makes a folder with a link to this program for each skill: /.od/bin if the program
 * lies in /.od and that can be written, else STATE/bin. 0 with its path; -errno when
 * there is no place for it or nobody knows where this program is.
 */
int skill_path_make(const char *state, char out[USER_PATH_MAX]) MUST_USE;

#endif
