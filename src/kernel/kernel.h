/*
 * A Jupyter kernel: a child process that is driven over ZMTP. It runs in the loop,
 * executes one cell at a time, and reports by callbacks. The caller interprets the
 * cell's messages.
 */
#ifndef KERNEL_KERNEL_H
#define KERNEL_KERNEL_H

#include "codec/jmsg.h"
#include "codec/zmtp.h"
#include "kernel/connection.h"
#include "kernel/kernelspec.h"
#include "loop/loop.h"
#include "proc/service.h"

struct kernel;

/*
 * No callback may free the kernel. During ready, done and ended, the next kernel_run or
 * kernel_start is legal.
 */
struct kernel_events {
	void (*ready)(struct kernel *k);
	/*
	 * A message of the running cell: output as it arrives, and the execute_reply.
	 * It is valid until this returns; the callback may allocate in the arena.
	 */
	void (*message)(struct kernel *k, const struct jmsg *m, struct arena *a);
	/*
	 * A message of this size could not be received; it may have belonged to the
	 * cell.
	 */
	void (*lost)(struct kernel *k, uint64_t bytes);
	/*
	 * The cell's reply and all of its output have come, except lost messages. The
	 * state is IDLE, or ended follows.
	 */
	void (*done)(struct kernel *k, enum jmsg_outcome outcome);
	/* The heartbeat has stopped while a cell runs; called once per cell. */
	void (*silent)(struct kernel *k);
	/* The kernel has ended; why is a message for humans, status as from wait(2). */
	void (*ended)(struct kernel *k, const char *why, int status);
};

struct kernel_setup {
	struct loop *loop;
	const struct kernel_events *events;
	const struct kernelspec *spec; /* this and the next are borrowed */
	const char *const *env;
	const struct spawn_user *user; /* NULL: the user of this process */
	const char *tmp;               /* absolute; writable by the user */
	const char *cwd;
	uint64_t start_ms; /* time limit until ready */
};

enum kernel_state {
	KERNEL_DEAD,
	KERNEL_STARTING, /* until it has replied and published */
	KERNEL_IDLE,
	KERNEL_BUSY,
	KERNEL_DRAINING, /* the process has ended in a cell; its last output is read */
	KERNEL_ENDING,   /* its service is being ended, or has ended */
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
	struct service service; /* the process */

	/* Internal members. */
	struct kernel_channel channels[CONNECTION_CHANNELS];
	struct connection connection;
	struct jmsg_session session;
	struct jmsg_out request;
	struct arena arena;
	struct timer timer;   /* for the current state */
	struct timer beat;    /* heartbeat, while a cell runs */
	uint64_t deadline;    /* monotonic ms: deadline of ready or of the rest */
	char id[JMSG_ID_MAX]; /* id of the awaited request */
	unsigned awaited;     /* its missing parts: REPLY, IDLE */
	enum jmsg_outcome outcome;
	unsigned beats;        /* unanswered beats */
	unsigned silent_beats; /* beats + 1 until the first message of the cell, then 0 */
};

/* Initializes a dead kernel; the objects that setup points to must outlive it. */
void kernel_init(struct kernel *k, const struct kernel_setup *setup);
/*
 * Kills all of its processes at once, without a callback. Not to be called from a
 * callback.
 */
void kernel_free(struct kernel *k);

/*
 * Starts a dead kernel: ready or ended follows. -errno if no child could be started;
 * then no callback follows.
 */
int kernel_start(struct kernel *k) MUST_USE;

/* Runs a cell in an idle kernel: done or ended follows. ERR_LIMIT, -ENOMEM. */
int kernel_run(struct kernel *k, struct str code) MUST_USE;

/*
 * Interrupts the running cell, in the way its kernelspec selects. It may have no
 * effect.
 */
void kernel_interrupt(struct kernel *k);

/*
 * Ends the kernel in steps: a shutdown request with restart set, SIGTERM, SIGKILL.
 * ended follows. No effect if the kernel is dead or ending.
 */
void kernel_stop(struct kernel *k);
/* Sends SIGKILL to all of its processes; ended follows. */
void kernel_kill(struct kernel *k);

#endif
