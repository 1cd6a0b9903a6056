/*
 * The cells of a kernel: a single cell is executed at a time, the others wait in a queue.
 * Each is answered with the observation of run_ipython.
 */
#ifndef PLUGIN_CELLS_H
#define PLUGIN_CELLS_H

#include "base/list.h"
#include "kernel/native.h"
#include "kernel/runner.h"
#include "plugin/plugin.h"

struct cell_run;

struct cells {
	char name[KERNELSPEC_NAME_MAX + 1];
	struct later later; /* frees the cells after the batch */
	struct box *box;
	struct plugin_instance
		*plug; /* the plugin whose state is this kernel's; or NULL */
	struct runner *runner;
	struct native *native; /* executes calls of skills without a kernel; or NULL */
	const char *no_kernel_text; /* answer without a kernel; NULL: why is used */
	char why[PLUGIN_WHY_MAX];   /* why there is no kernel; or "" */

	struct cell_run *current;
	struct list queue;
	size_t queue_n;
	struct timer limit; /* next check of the client, or limit of an abandoned cell */
	bool vars_lost;     /* variables were lost, and no answer has said so */

	struct rich rich; /* of the last cell that ended by itself... */
	uint64_t done_n;  /* ...and the number of that cell, from 1 on */
};

/* For the code that creates the runner and the native; arg is the cells. */
extern const struct runner_ops cells_ops;
void cells_on_calls_done(void *arg);

/* Starts the kernel if there is none. */
void cells_start(struct cells *c);
/* Answers all clients that wait, kills the kernel, frees the runner. */
void cells_end(struct cells *c);

/*
 * Queues a cell, which is executed when those before it are done. ACT_WAIT, also if it is
 * answered already; ACT_DONE: too many cells wait, and the answer is an error; -ENOMEM.
 */
int cells_run(struct cells *c, struct act *a, struct str code) MUST_USE;
/* The client has disconnected: no answer is needed. */
void cells_abandon(struct act *a);
/* The client cancels the cell: no answer is needed, and the cell is to end. */
void cells_cancel(struct act *a);
/* Interrupts a running cell. ERR_CLOSED: it does not run. */
int cells_stop(struct act *a, enum act_stop how) MUST_USE;

#endif
