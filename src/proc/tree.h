/*
 * All processes that come from a root: its descendants, and the members of the kernel
 * session that it leads, found in /proc.
 *
 * A process that leaves the session (setsid, a double fork) stays a descendant as long as
 * the root lives, because spawn makes every child a subreaper. The root is therefore
 * never signalled here, unless the name says so: it ends last.
 */
#ifndef PROC_TREE_H
#define PROC_TREE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { TREE_SURVIVORS = 16, TREE_NAME = 16 };

/* A process that could not be ended. */
struct tree_survivor {
	pid_t pid;
	char name[TREE_NAME]; /* as of the kernel: may hold any byte but NUL */
	/* of kill, negative; 0: it was killed and has not ended yet */
	int err;
};

/* The progress of ending a tree. To be zeroed except for the root. */
struct tree {
	pid_t root;
	/*
	 * Calls of tree_kill with the same number share one list of all processes; an
	 * empty tree is then not checked a second time. 0: a list of its own.
	 */
	uint64_t moment;
	bool blind;         /* /proc cannot be read: only process groups were reached */
	size_t killed;      /* at least so many processes were sent a SIGKILL */
	size_t live;        /* in the last snapshot, without the root */
	size_t survivors_n; /* entries filled in survivors */
	struct tree_survivor survivors[TREE_SURVIVORS];
};

/*
 * Takes a snapshot, and sends signo (0 for none) to all processes but the root; returns
 * how many there were, or -errno without a /proc. Root 1 has all processes as
 * descendants; the caller is never one of them.
 */
int tree_signal(pid_t root, int signo) MUST_USE;

/*
 * As tree_signal, and also signals the root. The root is signalled first, so that it
 * does not replace a child that has ended.
 */
int tree_signal_all(pid_t root, int signo) MUST_USE;

/*
 * The foreground group of root, a shell, as far as it can be seen from outside: the group
 * of its newest child that is not stopped; the shell's own while it works itself or has
 * no such child. A guess: a newer background job is taken for it. -errno without a /proc.
 */
pid_t tree_guess_foreground(pid_t root) MUST_USE;

/*
 * Sends SIGKILL to all processes but the root, once, and notes them. 0 when there were
 * none; positive: to be called again, because processes forked meanwhile are found only
 * then (a process that forks and ends all the time, faster than a snapshot, may never be
 * found); -EPERM when none of the processes may be killed. Without /proc the root's group
 * gets the signal (the root too, if it leads it), and that is all.
 */
int tree_kill(struct tree *t) MUST_USE;

/* Sends SIGKILL to all stopped processes but the root; returns how many there were. */
size_t tree_kill_stopped(pid_t root);

/* Kills all others, then the root, without waiting for their end. */
void tree_kill_now(pid_t root);

/*
 * Sends SIGTERM to all processes but the root, and continues stopped jobs, so that they
 * receive it. Shells are stopped before: SIGTERM does not end them, and they would
 * execute the commands behind the one that ends. Results as of tree_signal.
 */
int tree_terminate(pid_t root) MUST_USE;
/*
 * Whether a process other than the root may end by SIGTERM: it is not stopped and does
 * not ignore SIGTERM.
 */
bool tree_can_terminate(pid_t root);
/*
 * Sends SIGHUP, which ends shells and most other programs, and SIGCONT. Results as of
 * tree_signal.
 */
int tree_hang_up(pid_t root) MUST_USE;

/*
 * For the end of the program: sends SIGTERM to all processes but the root; sends SIGHUP
 * when no process is left that may end by SIGTERM, or after half of grace_ms; kills after
 * grace_ms, and waits TREE_KILL_MS at most for the killed ones.
 */
void tree_end(struct tree *t, uint64_t grace_ms);

/* From now on orphans below this process become its children. -errno. */
int tree_adopt_orphans(void) MUST_USE;

#endif
