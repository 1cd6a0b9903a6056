/* Programs by their names, as shells and engines find them. */
#ifndef PROC_WHICH_H
#define PROC_WHICH_H

#include "base/str.h"
#include "limits.h"

/* Whether a regular file is there that somebody may execute. */
bool which_is_program(const char *path);

/*
 * The path of a program: a name with a slash is one, and not looked at; another stands
 * in the first of the absolute folders of path (of PATH; NULL is none) that has such a
 * program. 0; -ENOENT; -ENAMETOOLONG. out may be written to all the same.
 */
int which_find(const char *name, const char *path, char out[FILE_PATH_MAX]) MUST_USE;

#endif
