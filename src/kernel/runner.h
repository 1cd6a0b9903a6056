/*
 * What executes cells, one after another in one namespace: the embedded driver of a
 * Python (driver.h), or a Jupyter kernel by its name (named.h).
 *
 *   NONE -> PAUSED -> STARTING -> LOADING -> IDLE -> BUSY -> IDLE
 *                                            BUSY -> STOPPING -> IDLE
 *
 * Whatever state it is in, its death leads to STARTING or PAUSED, and to NONE when
 * nothing starts.
 */
#ifndef KERNEL_RUNNER_H
#define KERNEL_RUNNER_H

#include "kernel/cell.h"
#include "limits.h"

#include <sys/types.h>

struct runner;

enum runner_state {
	RUNNER_NONE,     /* there is no process, and none is to come */
	RUNNER_PAUSED,   /* it has died or was asked for, and is started in a moment */
	RUNNER_STARTING, /* a process runs; whether it is of use is not known */
	RUNNER_LOADING,  /* it has answered, and is made ready */
	RUNNER_IDLE,     /* waits for a cell */
	RUNNER_BUSY,     /* a cell runs */
	RUNNER_STOPPING, /* the same, but nobody waits for it any more */
};

/* Called from the loop. None may delete the runner. */
struct runner_ops {
	/* IDLE: a cell can be given to it. After a start, and after each cell. */
	void (*idle)(void *arg);
	/* Still BUSY: the cell has ended by itself; what it gave is in runner.cell. */
	void (*done)(void *arg);
	/*
	 * It has ended, with all variables; status is as of wait(2). busy: a cell was
	 * running that somebody waits for. idle or none follows.
	 */
	void (*died)(void *arg, int status, bool busy);
	/* NONE: nothing could be started. */
	void (*none)(void *arg, const char *why);
};

struct runner_kind {
	/* NONE: idle or none follows, not before this has returned. It begins in cwd. */
	void (*start)(struct runner *r, struct str cwd);
	/*
	 * IDLE: runs a cell, in cwd if that is another than the last time. Else the cell
	 * does not run: -EAGAIN when died is about to be called; -ENOMEM, ERR_LIMIT.
	 */
	int (*execute)(struct runner *r, struct str code, struct str cwd);
	/*
	 * BUSY: nobody wants the result. The cell is interrupted, and if that is of no
	 * use the process is killed; then died is called with busy false.
	 */
	void (*interrupt)(struct runner *r);
	/* BUSY: interrupts the cell once, and what it says to that is its result. */
	void (*nudge)(struct runner *r);
	/*
	 * Ends the process, if there is one: died follows. One that is idle is asked
	 * first, where it can be.
	 */
	void (*stop)(struct runner *r);
	/* Writes members of an object: what it is. */
	void (*info)(const struct runner *r, struct jw *w);
	/* Kills the process and all below it. Not from a callback. */
	void (*del)(struct runner *r);
};

/* To be read by all, written by its kind; words may be added to the cell. */
struct runner {
	const struct runner_kind *kind;
	const struct runner_ops *ops;
	void *arg;
	enum runner_state state;
	struct cell cell; /* what the running cell has given so far */
	pid_t pid;        /* of its process and group; 0: none */
	unsigned starts;
	uint64_t pause; /* ms, before the next start */
	/* sys.executable of the one that was ready last; "" if it has none. */
	char python[FILE_PATH_MAX];
};

void runner_init(struct runner *r, const struct runner_kind *kind,
	const struct runner_ops *ops, void *arg);
/* A step, which must be legal. */
void runner_enter(struct runner *r, enum runner_state to);
/* For people: the content of a cell that could not be handed over. */
extern const char runner_no_memory[];
/* A word for people. */
const char *runner_state_name(enum runner_state s);
/* Sets the pause that follows a death in the present state. */
void runner_rest(struct runner *r);

#endif
