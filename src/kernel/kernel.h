/*
 * One Jupyter kernel: a child that is spoken to over ZMTP. Runs by the loop, one cell
 * at a time, and tells what happens by callbacks; what the cell's messages mean for
 * people is the caller's.
 */
#ifndef KERNEL_KERNEL_H
#define KERNEL_KERNEL_H

#include "kernel/connection.h"
#include "kernel/jmsg.h"
#include "kernel/kernelspec.h"
#include "kernel/zmtp.h"
#include "loop/loop.h"
#include "proc/children.h"

struct kernel;

/*
 * None may free the kernel. ready, done and ended leave it in a state in which the
 * next kernel_run or kernel_start is legal, and may call it.
 */
struct kernel_events {
	void (*ready)(struct kernel *k);
	/*
	 * A message of the running cell: output as it comes, and the execute_reply. It
	 * lives until this returns; the arena may be used for what is read of it.
	 */
	void (*message)(struct kernel *k, const struct jmsg *m, struct arena *a);
	/* A message of this size could not be taken, and perhaps belonged to the cell. */
	void (*lost)(struct kernel *k, uint64_t bytes);
	/*
	 * The cell's reply and all of its output are here, or what was not lost of it.
	 * It is IDLE, or ended follows.
	 */
	void (*done)(struct kernel *k, enum jmsg_outcome outcome);
	/* It runs a cell and its heartbeat has stopped; told once for each cell. */
	void (*silent)(struct kernel *k);
	/* It is no more; why is for people, status as from wait(2). */
	void (*ended)(struct kernel *k, const char *why, int status);
};

struct kernel_setup {
	struct loop *loop;
	const struct kernel_events *events;
	const struct kernelspec *spec; /* this and the next are borrowed for good */
	const char *const *env;
	const struct spawn_user *user; /* NULL: as we are */
	const char *tmp;               /* absolute; of the user */
	const char *cwd;
	uint64_t start_ms; /* for it to become ready */
};

enum kernel_state {
	KERNEL_DEAD,
	KERNEL_STARTING, /* until it has answered on all that matters */
	KERNEL_IDLE,
	KERNEL_BUSY,
	KERNEL_LAST,   /* its process has ended in a cell; what it has said is read */
	KERNEL_ENDING, /* on the way down the rungs */
};

struct kernel_channel {
	struct kernel *kernel;
	struct io io;
	int fd; /* -1: not connected */
	bool up;
	struct zmtp zmtp;
};

struct kernel {
	struct kernel_setup setup;
	enum kernel_state state;
	const char *why; /* it ends */

	/* Of use to kernel.c alone. */
	struct kernel_channel channels[CONNECTION_CHANNELS];
	struct connection connection;
	struct jmsg_session session;
	struct jmsg_out request;
	struct arena arena;
	struct child child;
	pid_t pid; /* and its group; 0: there is none */
	struct spawn_report report;
	struct timer timer;   /* of the present state */
	struct timer beat;    /* while a cell runs */
	uint64_t by;          /* monotonic ms: ready, or all that is awaited */
	char id[JMSG_ID_MAX]; /* of the request that is waited for */
	unsigned awaited;     /* what of it has not come */
	enum jmsg_outcome outcome;
	unsigned beats;   /* not answered */
	unsigned unheard; /* beats, one more, until anything tells of the cell; then 0 */
	size_t rung;
};

/* A dead kernel; what setup points to must outlive it. */
void kernel_init(struct kernel *k, const struct kernel_setup *setup);
/* Kills what runs, at once and without a word. Not from a callback. */
void kernel_free(struct kernel *k);

/*
 * Starts a dead kernel: ready or ended will be told. -errno when there is no child, and
 * then nothing more is told.
 */
int kernel_start(struct kernel *k) MUST_USE;

/* Runs a cell in an idle kernel: done or ended will be told. ERR_LIMIT, -ENOMEM. */
int kernel_run(struct kernel *k, struct str code) MUST_USE;

/* Interrupts the running cell, in the way its kernelspec wants. May change nothing. */
void kernel_interrupt(struct kernel *k);

/*
 * Asks the kernel to end, since another one follows it, and makes it, in rungs: the
 * message, SIGTERM, SIGKILL. ended will be told. Nothing for one that is dead or ending.
 */
void kernel_stop(struct kernel *k);
/* SIGKILL to all of its processes; ended will be told. */
void kernel_kill(struct kernel *k);

#endif
