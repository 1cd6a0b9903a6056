/*
 * Feeds the terminal model, which is lost in a crash, with the spool of an earlier
 * process: in steps, so that a long output delays no other work. Meanwhile nothing reads
 * from the terminal: new output comes after the restored.
 */
#ifndef SHELL_SHELL_RESTORE_H
#define SHELL_SHELL_RESTORE_H

#include "shell/shell_output.h"

struct shell_restore;

struct shell_restore_ops {
	void (*stepped)(struct shell_restore *r);
	/* All is fed, and the restore is not under way any more. */
	void (*done)(struct shell_restore *r);
};

struct shell_restore {
	struct loop *loop;
	struct shell_output *output;
	const struct shell_restore_ops *ops;
	uint64_t reported;  /* bytes that were reported before the crash */
	struct timer timer; /* of the next step */
	uint64_t at;        /* offset in the spool up to which all is fed */
	bool under_way;
};

/* Feeds the first step now, and the others from the loop. */
void shell_restore_begin(struct shell_restore *r, uint64_t reported);
/* Feeds all that is left at once; no effect if no restore is under way. */
void shell_restore_complete(struct shell_restore *r);
/* Ends the restore without a call. */
void shell_restore_cancel(struct shell_restore *r);

#endif
