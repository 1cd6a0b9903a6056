/* Executing the words of a command line in a sandbox, for exec and run. */
#ifndef INJECT_CMD_EXEC_H
#define INJECT_CMD_EXEC_H

#include "inject/options.h"
#include "inject/sandbox.h"

/*
 * Executes o->words and prints what comes of it. The command's exit code, 0 to
 * 255; EXIT_TIMEOUT; -EINTR, -ENOMEM, FAIL_*.
 */
int exec_words(const struct options *o, const struct sandbox *s) MUST_USE;

#endif
