/*
 * Checks whether a shell hangs after an interrupt key: a shell whose signal handler jumps
 * out of the C library may leave a lock of the library locked, and hangs when it takes
 * that lock again (busybox ash with glibc jumps out of malloc). No key reaches the shell
 * any more, and its command would never end.
 */
#ifndef SHELL_SHELL_HANG_H
#define SHELL_SHELL_HANG_H

#include "loop/loop.h"
#include "proc/inspect.h"

struct shell_hang;

struct shell_hang_ops {
	/* Whether the shell sleeps in a lock now; where identifies the sleep. */
	bool (*is_deadlocked)(struct shell_hang *h, char where[INSPECT_TEXT_MAX]);
	/* The shell hangs: no process will release the lock. */
	void (*hung)(struct shell_hang *h);
};

struct shell_hang {
	struct loop *loop;
	const struct shell_hang_ops *ops;
	struct timer timer;
	uint64_t pause;               /* to the next check */
	char where[INSPECT_TEXT_MAX]; /* of the sleep seen last; "" for none */
};

/* An interrupt key was sent: checks at growing intervals, up to some seconds. */
void shell_hang_expect(struct shell_hang *h);
/* Ends the checks. */
void shell_hang_cancel(struct shell_hang *h);

#endif
