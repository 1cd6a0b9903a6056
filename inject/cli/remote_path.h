/* The operand SANDBOX:PATH of cp and ls. */
#ifndef INJECT_CLI_REMOTE_PATH_H
#define INJECT_CLI_REMOTE_PATH_H

#include "base/buf.h"

/*
 * Appends the path in the sandbox: "SANDBOX:work" means SANDBOX:/work, as in docker cp.
 * The NUL-terminated text of out; NULL: it does not fit.
 */
const char *remote_path_make_absolute(struct buf *out, const char *path) MUST_USE;

#endif
