/* Executes the words of a command line in a sandbox, for exec and run. */
#ifndef INJECT_CLI_EXEC_EXEC_H
#define INJECT_CLI_EXEC_EXEC_H

#include "inject/options/options.h"
#include "inject/sandbox/sandbox.h"
#include "inject/sandbox/settings/settings.h"

/* Checks -i and -t of exec and run: 0 or FAIL_USAGE with a line printed. */
int exec_check_options(const struct options *o) MUST_USE;

/* Starts the limit of --timeout, if given, for all later operations. */
void exec_set_limit(const struct options *o);

/*
 * Executes o->words as a program and its arguments and transfers stdin, stdout and
 * stderr. settings: environment, user and folder of exec; NULL: those of the sandbox.
 * Returns the exit code of the program, 128 and more for a signal; EXIT_TIMEOUT; 126 or
 * 127 if it cannot be executed; -EINTR, -ENOMEM, FAIL_*.
 */
int exec_run_argv(const struct options *o, const struct settings *settings,
	const struct sandbox *s) MUST_USE;

/*
 * Executes o->words, joined by blanks, as text of the shell in the session o->session:
 * as above.
 */
int exec_run_session(const struct options *o, const struct sandbox *s) MUST_USE;

#endif
