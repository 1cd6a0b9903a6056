/* Executing the words of a command line in a sandbox, for exec and run. */
#ifndef INJECT_CMD_EXEC_H
#define INJECT_CMD_EXEC_H

#include "inject/options.h"
#include "inject/sandbox.h"

/* Starts the limit of --timeout on the whole command, if the option is given. */
void exec_limit(const struct options *o);

/*
 * Executes o->words and prints what comes of it. The command's exit code, 0 to
 * 255; EXIT_TIMEOUT; -EINTR, also when --timeout ends, -ENOMEM, FAIL_*.
 */
int exec_words(const struct options *o, const struct sandbox *s) MUST_USE;

#endif
