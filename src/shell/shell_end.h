/*
 * Ends a session from outside: all processes that come from its shell are ended, with
 * the gentler signals first.
 *
 *   interrupt key to the foreground, SIGTERM and SIGHUP to all but the shell,
 *   SIGKILL to all but the shell, a hang-up to the shell if it is at its prompt,
 *   SIGKILL to the shell
 *
 * A rung (step) ends as soon as it has no process left. The shell is stopped (SIGSTOP)
 * from the start, so that it does not go on with the text after a command that was
 * killed. Processes that had left the session when an earlier shell of it ended are not
 * found.
 */
#ifndef SHELL_SHELL_END_H
#define SHELL_SHELL_END_H

#include "proc/tree.h"
#include "shell/shell.h"

/*
 * Reports the processes that were ended (tree->killed, in whatever way, the shell
 * included) and those that are left; the report is valid during the call.
 */
typedef void shell_ended_fn(void *arg, const struct tree *report);

/*
 * Begins the end; fn is called once, from the loop, within about three seconds, unless
 * the shell is deleted before. If a command runs, it ends with the shell: the state is
 * DONE then (ops->done is called before fn), and note (static text) is the reason in its
 * result. Without a command the state is GONE, or SHELL_REPORTED until the next
 * shell_confirm. fn may delete the shell. -EALREADY if an end is under way.
 */
int shell_end(struct shell *s, const char *note, shell_ended_fn *fn, void *arg) MUST_USE;

/* True from shell_end until its fn: no command may be submitted. */
bool shell_is_ending(const struct shell *s);

#endif
