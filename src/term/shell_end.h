/*
 * The end of a session from outside: everything that has come out of its shell
 * is ended, the polite way first.
 *
 *   interrupt key to the foreground, SIGTERM and SIGHUP to all but the shell,
 *   SIGKILL to all but the shell, a hang-up to the shell if it is at its prompt,
 *   SIGKILL to the shell
 *
 * A rung is left as soon as nothing is left. The shell is stopped from the start
 * on, so that it does not go on with what comes behind a command that was killed.
 * Not found is what had left the session when an earlier shell of it ended.
 */
#ifndef TERM_SHELL_END_H
#define TERM_SHELL_END_H

#include "proc/tree.h"
#include "term/shell.h"

/*
 * What was ended (tree->killed processes, the shell included, in whatever way)
 * and what is left; the report lives during the call.
 */
typedef void shell_ended_fn(void *arg, const struct tree *report);

/*
 * Begins it; fn is called once, from the loop, within about three seconds, unless
 * the shell is deleted before. A command that runs ends by the shell's end: the
 * state is DONE then (ops->done comes before fn), and note (static text) says why
 * in its result. Without a command the state is GONE, or TOLD until the next
 * shell_confirm; fn may delete the shell. -EALREADY while one is under way; -ENOMEM.
 */
int shell_end(struct shell *s, const char *note, shell_ended_fn *fn, void *arg) MUST_USE;

/* From shell_end until its fn: nothing may be submitted. */
bool shell_is_ending(const struct shell *s);

#endif
