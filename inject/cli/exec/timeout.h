/* The option --timeout of commands that wait for the end of something. */
#ifndef INJECT_CLI_EXEC_TIMEOUT_H
#define INJECT_CLI_EXEC_TIMEOUT_H

#include "inject/options/options.h"

struct timeout_options {
	uint64_t timeout;         /* seconds; 0: none */
	const char *timeout_text; /* as the user wrote it */
};
extern const struct option_set timeout_set; /* of exec and run */

/* Starts the limit, if given, for all later operations: the timeout and extra_ms. */
void timeout_begin(const struct timeout_options *o, uint64_t extra_ms);

/*
 * The result of a command that returned r: EXIT_TIMEOUT with a line printed if the limit
 * interrupted it, else r.
 */
int timeout_end(
	const struct command_line *line, const struct timeout_options *o, int r) MUST_USE;

#endif
