/*
 * A kernel without Jupyter: a Python interpreter with our driver in it, which needs no
 * package. It runs as the sandbox user and executes one cell after another in one
 * namespace; IPython is used where it is there.
 *
 *   NONE -> PAUSED -> HELLO -> LOADING -> IDLE -> BUSY -> IDLE
 *                                       BUSY -> STOPPING -> IDLE
 *
 * Whatever state it is in, its death leads to HELLO (or PAUSED, then HELLO), and to NONE
 * when no interpreter starts.
 */
#ifndef KERNEL_DRIVER_H
#define KERNEL_DRIVER_H

#include "kernel/cell.h"
#include "loop/loop.h"
#include "proc/spawn.h"

enum driver_state {
	DRIVER_NONE,     /* there is no process, and none is to come */
	DRIVER_HELLO,    /* an interpreter is started; whether it is one is not known */
	DRIVER_LOADING,  /* it has said its version and reads the driver */
	DRIVER_IDLE,     /* waits for a cell */
	DRIVER_BUSY,     /* a cell runs */
	DRIVER_STOPPING, /* the same, but nobody waits for it any more */
	DRIVER_PAUSED,   /* it has died or was asked for, and is started in a moment */
};

/* Called from the loop. All may call back. */
struct driver_ops {
	/* IDLE: a cell can be given to it. After a start, and after each cell. */
	void (*idle)(void *arg);
	/* BUSY before: the cell has ended by itself; what it gave is in driver_cell. */
	void (*done)(void *arg);
	/*
	 * The kernel has ended, with all variables; status is as of wait(2). busy: a
	 * cell was running that somebody waits for. idle or none follows.
	 */
	void (*died)(void *arg, int status, bool busy);
	/* NONE: no interpreter could be started. */
	void (*none)(void *arg, const char *why);
};

struct driver;

/* env and user stay the caller's. NULL: out of memory. Nothing is started. */
struct driver *driver_new(struct loop *l, const char *const *env,
	const struct spawn_user *user, const struct driver_ops *ops, void *arg);
/* Kills the kernel and all below it. */
void driver_del(struct driver *d);

/*
 * A Python text that each interpreter executes before its first cell, in a namespace of
 * its own. Stays the caller's.
 */
void driver_prepare(struct driver *d, struct str text);

enum driver_state driver_state(const struct driver *d);
/* NONE: looks for an interpreter, to begin in cwd; idle or none follows, perhaps soon. */
void driver_start(struct driver *d, struct str cwd);
/*
 * IDLE: runs a cell, in cwd if that is another than the last time. -ENOMEM, ERR_LIMIT,
 * and the cell does not run.
 */
int driver_execute(struct driver *d, struct str code, struct str cwd) MUST_USE;
/*
 * BUSY: nobody wants the result. The cell is interrupted, and if that is of no use the
 * kernel is killed; then died is called with busy false.
 */
void driver_interrupt(struct driver *d);

/* What the cell has given so far; the words of others may be added. */
struct cell *driver_cell(struct driver *d);

/* Of the interpreter that has been ready last: "" before. */
const char *driver_python(const struct driver *d);  /* sys.executable */
const char *driver_version(const struct driver *d); /* as 3.11.2 */
const char *driver_mode(const struct driver *d);    /* ipython or plain */
const char *driver_why(const struct driver *d);     /* it is plain: or "" */
/* Its process, 0 for none; how often one has been started. */
pid_t driver_pid(const struct driver *d);
unsigned driver_starts(const struct driver *d);

/*
 * The skills as functions of a Python kernel of any kind: its __name__ is to be
 * "agentskills", and behind it install(), to have them importable, or
 * install(NAMESPACE), to have them there, too.
 */
struct str skills_text(void);

#endif
