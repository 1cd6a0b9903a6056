/* Finds Python interpreters for cells. */
#ifndef KERNEL_PYTHON_H
#define KERNEL_PYTHON_H

#include "base/arena.h"

enum { PYTHONS_MAX = 32 }; /* interpreters that are tried */

/*
 * Lists possible Python interpreters, best first: OD_PYTHON, OH_INTERPRETER_PATH (also
 * of /etc/environment), VIRTUAL_ENV, CONDA_PREFIX, the PATH, all of env, then the usual
 * places, and the plugin python. Each was an executable file when it was checked; its
 * version is not checked. Paths go into list, which has space for PYTHONS_MAX, and are
 * allocated in the arena. Returns their number.
 */
size_t python_list(const char *const *env, struct arena *a, const char **list);

#endif
