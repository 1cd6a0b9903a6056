/* Finds programs by their names, as shells and engines do. */
#ifndef PROC_WHICH_H
#define PROC_WHICH_H

#include "base/str.h"
#include "limits.h"

/* Whether path is a regular file that some user may execute. */
bool which_is_program(const char *path);

/*
 * The path of a program. A name with a slash is a path, and is not checked. Another name
 * is searched in the absolute folders of path (the value of PATH; NULL: none); the first
 * folder that has such a program is used. 0; -ENOENT; -ENAMETOOLONG. On failure out may
 * be changed.
 */
int which_find(const char *name, const char *path, char out[FILE_PATH_MAX]) MUST_USE;

#endif
