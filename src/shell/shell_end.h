/*
 * Ends all processes that come from a shell, with the gentler signals first.
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
#include "shell/shell_tty.h"

struct shell_end;

/*
 * All rungs are passed. The report is valid during the call, see shell_ended_fn. The
 * function may free e if it returns true; after false it is called again.
 */
typedef bool shell_end_fn(struct shell_end *e, const struct tree *report);

struct shell_end {
	struct loop *loop;
	const struct shell_tty *tty;
	const pid_t *pid; /* of the shell; 0 as soon as it has ended */
	const char *name; /* of the shell's program, for the report */
	bool at_prompt;   /* the shell was idle when the end began */
	shell_end_fn *fn;

	/* The following members are zero before the end. */
	struct timer timer;
	struct tree tree; /* root: the shell at the beginning */
	size_t rung;
	uint64_t until; /* end of the rung; 0: the rung begins */
	uint64_t pause; /* to the next look */
	size_t most;    /* processes seen at a time, without the shell */
};

/* Begins the end; fn is called from the loop within about three seconds. */
void shell_end_begin(struct shell_end *e);
/* Legal when no end has begun. */
void shell_end_cancel(struct shell_end *e);

#endif
