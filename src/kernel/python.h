/* Where a Python for cells may be. */
#ifndef KERNEL_PYTHON_H
#define KERNEL_PYTHON_H

#include "base/arena.h"

/*
 * Lists what may be a Python interpreter, best first: OD_PYTHON, OH_INTERPRETER_PATH
 * (also of /etc/environment), VIRTUAL_ENV, CONDA_PREFIX, the PATH, all of env, then
 * the usual places, and the plugin python. Each is an executable file, or was a moment
 * ago; which version it has is not asked. Paths go into list, which takes PYTHONS_MAX,
 * and are of the arena. Returns their number.
 */
size_t python_list(const char *const *env, struct arena *a, const char **list);

#endif
