/* The operand SANDBOX:PATH of cp and ls. */
#ifndef INJECT_CLI_REMOTE_PATH_H
#define INJECT_CLI_REMOTE_PATH_H

#include "base/buf.h"

/* Whether an operand is SANDBOX:PATH and not a path of this machine. */
bool remote_path_is(const char *operand);

/* Checks the name in SANDBOX:PATH. 0 or FAIL_USAGE. */
int remote_path_check(const char *operand) MUST_USE;

/*
 * Appends the path in the sandbox: "SANDBOX:work" means SANDBOX:/work, as in docker cp.
 * The NUL-terminated text of out; NULL: it does not fit.
 */
const char *remote_path_make_absolute(struct buf *out, const char *path) MUST_USE;

#endif
