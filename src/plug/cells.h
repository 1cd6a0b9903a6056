/*
 * The cells of one kernel: one is executed, those that come meanwhile wait in a line.
 * Each is answered with the observation of run_ipython.
 */
#ifndef PLUG_CELLS_H
#define PLUG_CELLS_H

#include "kernel/native.h"
#include "kernel/runner.h"
#include "plug/plug.h"

struct cell_run;

struct cells {
	char name[KERNELSPEC_NAME_MAX + 1];
	struct later later; /* its end */
	struct box *box;
	struct plug *plug; /* whose state is that of this kernel; or NULL */
	struct runner *runner;
	struct native *native;    /* executes calls of skills without a kernel; or NULL */
	const char *sorry;        /* for a cell without a kernel; NULL: why says it all */
	char why[PLUGIN_WHY_MAX]; /* there is no kernel; "" */

	struct cell_run *current;
	struct cell_run *line;
	size_t line_n;
	struct timer limit; /* of a cell that runs, but nobody waits for */
	bool lost;          /* the variables, and nobody has been told */

	struct rich rich; /* of the last cell that has ended by itself... */
	uint64_t done_n;  /* ...which is this one, from 1 on */
};

/* For the makers of its runner and its native; arg is the cells. */
extern const struct runner_ops cells_ops;
void cells_calls_done(void *arg);

/* Starts the kernel where there is none. */
void cells_start(struct cells *c);
/* Answers who waits, kills the kernel, frees the runner. */
void cells_end(struct cells *c);

/*
 * Executes a cell when those before it are done. ACT_WAIT, also if it is answered
 * already; ACT_DONE with the words that there are too many; -ENOMEM.
 */
int cells_run(struct cells *c, struct act *a, struct str code) MUST_USE;
/* The one who asked has hung up. */
void cells_abandon(struct act *a);
/* The same, and wants the cell to end. */
void cells_cancel(struct act *a);
/* For one that runs. */
int cells_stop(struct act *a, enum act_stop how) MUST_USE;

#endif
