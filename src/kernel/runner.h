/*
 * A runner executes cells, one after another in one namespace: the embedded driver of a
 * Python (driver.h), or a Jupyter kernel by its name (named.h).
 *
 *   NONE -> PAUSED -> STARTING -> LOADING -> IDLE -> BUSY -> IDLE
 *                                            BUSY -> STOPPING -> IDLE
 *
 * From each state the death of the process leads to STARTING or PAUSED, and to NONE if
 * no process can be started.
 */
#ifndef KERNEL_RUNNER_H
#define KERNEL_RUNNER_H

#include "kernel/cell.h"
#include "limits.h"

#include <sys/types.h>

struct runner;

enum runner_state {
	RUNNER_NONE,     /* no process, and none will be started */
	RUNNER_PAUSED,   /* died or requested; started after a pause */
	RUNNER_STARTING, /* a process runs; it has not answered yet */
	RUNNER_LOADING,  /* it has answered and is being prepared */
	RUNNER_IDLE,     /* waits for a cell */
	RUNNER_BUSY,     /* a cell runs */
	RUNNER_STOPPING, /* a cell runs whose result is not wanted any more */
};

/* Called from the loop. No callback may delete the runner. */
struct runner_ops {
	/* IDLE: a cell can be executed. Called after a start and after each cell. */
	void (*idle)(void *arg);
	/* Still BUSY: the cell has ended by itself; its output is in runner.cell. */
	void (*done)(void *arg);
	/*
	 * The process has ended, and all variables are lost; status is as of wait(2).
	 * busy: the running cell's result was wanted. idle or none follows.
	 */
	void (*died)(void *arg, int status, bool busy);
	/* NONE: no process could be started. */
	void (*none)(void *arg, const char *why);
};

struct runner_kind {
	/* In NONE: starts in cwd. idle or none follows, after this has returned. */
	void (*start)(struct runner *r, struct str cwd);
	/*
	 * In IDLE: runs a cell, after a change to cwd if it differs from the last one.
	 * -EAGAIN if died is about to be called; -ENOMEM, ERR_LIMIT. After an error the
	 * cell does not run.
	 */
	int (*execute)(struct runner *r, struct str code, struct str cwd);
	/*
	 * In BUSY: the result is not wanted any more. The cell is interrupted. If that
	 * has no effect, the process is killed; then died is called with busy false.
	 */
	void (*interrupt)(struct runner *r);
	/* In BUSY: interrupts the cell once; its output is still the result. */
	void (*send_interrupt)(struct runner *r);
	/*
	 * Ends the process, if there is one: died follows. An idle process gets a
	 * shutdown request first, if its kind has one.
	 */
	void (*stop)(struct runner *r);
	/* Writes members of a JSON object that describes the runner. */
	void (*info)(const struct runner *r, struct jw *w);
	/* Kills the process and all below it. Not from a callback. */
	void (*del)(struct runner *r);
};

/*
 * Members are written by the runner's kind only. Others may read them, and add text to
 * the cell.
 */
struct runner {
	const struct runner_kind *kind;
	const struct runner_ops *ops;
	void *arg;
	enum runner_state state;
	struct cell cell; /* output of the running cell so far */
	pid_t pid;        /* of its process and group; 0: none */
	unsigned starts;
	uint64_t pause; /* ms, before the next start */
	/* sys.executable of the last process that was ready; "" if it has none. */
	char python[FILE_PATH_MAX];
};

void runner_init(struct runner *r, const struct runner_kind *kind,
	const struct runner_ops *ops, void *arg);
/* Changes the state by a legal transition. */
void runner_enter(struct runner *r, enum runner_state to);
/* The message shown as the content of a cell that could not be executed. */
extern const char runner_memory_error[];
/* The name of a state for humans. */
const char *runner_state_name(enum runner_state s);
/* Sets the pause that follows a death in the present state. */
void runner_set_pause(struct runner *r);

#endif
