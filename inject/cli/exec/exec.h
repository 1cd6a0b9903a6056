/* Executes a command in a sandbox, for exec and run. */
#ifndef INJECT_CLI_EXEC_EXEC_H
#define INJECT_CLI_EXEC_EXEC_H

#include "inject/cli/exec/timeout.h"
#include "inject/options/options.h"
#include "inject/sandbox/sandbox.h"
#include "inject/sandbox/settings/settings.h"

/* The options that exec and run have for the command. */
struct terminal_options {
	bool detach, interactive, tty;
};
extern const struct option_set terminal_set; /* -i and -t */

/* A command in a sandbox. */
struct exec_command {
	char **argv; /* the program and its arguments, or the text of a session */
	size_t argc;
	struct terminal_options terminal;
	const struct timeout_options *timeout;
	bool json;
	bool starts_sandbox; /* of run --detach: the log gets the output */
	bool stops_sandbox;  /* of run --detach --rm: the sandbox ends with it */
	/* Only exec sets these; else they are those of the sandbox. */
	const struct settings *settings;
	const char *working_dir, *user, *session;
};

/* Checks -i and -t of exec and run: 0 or FAIL_USAGE with a line printed. */
int exec_check_terminal(const struct terminal_options *o, size_t argc) MUST_USE;

/* Starts the limit of --timeout, if given, for all later operations. */
void exec_set_limit(const struct timeout_options *o);

/*
 * Executes the command and transfers stdin, stdout and stderr. Returns the exit code of
 * the program, 128 and more for a signal; EXIT_TIMEOUT; 126 or 127 if it cannot be
 * executed; -EINTR, -ENOMEM, FAIL_*.
 */
int exec_run_argv(const struct exec_command *c, const struct sandbox *s) MUST_USE;

/*
 * Executes the arguments, joined by blanks, as text of the shell in the session: as
 * above.
 */
int exec_run_session(const struct exec_command *c, const struct sandbox *s) MUST_USE;

#endif
