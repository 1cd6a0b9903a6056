/*
 * All processes that come from one: its descendants, and the members of the
 * kernel session that it leads, found in /proc.
 *
 * Who leaves the session (setsid, a double fork) stays a descendant as long as
 * the root lives, because spawn makes every child a subreaper. The root is
 * therefore never signalled here, unless the name says so: it ends last.
 */
#ifndef PROC_TREE_H
#define PROC_TREE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { TREE_LEFT = 16, TREE_NAME = 16 };

/* A process that could not be ended. */
struct tree_left {
	pid_t pid;
	char name[TREE_NAME]; /* as of the kernel: may hold any byte but NUL */
	int err;              /* of kill, negative; 0: it was killed and does not end */
};

/* What is known of the end of a tree. Zeroed but for the root to begin with. */
struct tree {
	pid_t root;
	/*
	 * Calls of tree_kill with the same number share one list of all processes. Then
	 * "nobody was" is seen only once. 0: a list of its own.
	 */
	uint64_t moment;
	bool blind;    /* /proc cannot be read: only process groups were reached */
	size_t killed; /* at least so many processes were sent a SIGKILL */
	size_t live;   /* at the last look, without the root */
	size_t left_n; /* filled in left */
	struct tree_left left[TREE_LEFT];
};

/*
 * Looks, and sends signo (0 for none) to all but the root; returns how many were
 * there, or -errno without a /proc. Root 1 has all processes as descendants; the
 * caller is never one.
 */
int tree_signal(pid_t root, int signo) MUST_USE;

/*
 * As tree_signal, and also signals the root. The root is signalled first, so that it
 * does not replace a child that has ended.
 */
int tree_signal_all(pid_t root, int signo) MUST_USE;

/*
 * Which group is in the foreground of root, a shell, as far as that can be seen from
 * outside: that of its newest child which is not stopped; its own while it works itself
 * or has no such child. A guess: a newer job in the background is taken for it. -errno
 * without a /proc.
 */
pid_t tree_guess_front(pid_t root) MUST_USE;

/*
 * Sends SIGKILL to all but the root, once, and notes who is there. 0 when nobody
 * was; positive: to be called again, because who was forked meanwhile is found
 * only then (one that forks and ends all the time, faster than we look, may never
 * be); -EPERM when all who are there may not be killed. Without /proc the
 * root's group gets the signal (the root too, if it leads it), and that is all.
 */
int tree_kill(struct tree *t) MUST_USE;

/* Sends SIGKILL to those of all but the root that are stopped; how many there were. */
size_t tree_kill_stopped(pid_t root);

/* Kills all others, then the root, without waiting for their end. */
void tree_kill_now(pid_t root);

/*
 * Asks all but the root to end, by SIGTERM, which those hear, too, who are stopped.
 * Shells are stopped before: they do not heed it, and would go on with what stands
 * behind the command that does. As tree_signal.
 */
int tree_ask(pid_t root) MUST_USE;
/* Whether anybody but the root may heed that: is not stopped, nor ignores SIGTERM. */
bool tree_heeds(pid_t root);
/* SIGHUP, by which shells end, and most others without another word. As tree_signal. */
int tree_hang_up(pid_t root) MUST_USE;

/*
 * For the end of a program, which cannot come back to it: asks all but the root, hangs
 * up when nobody is left who heeds that, or after half of grace_ms, and kills after
 * grace_ms; waits for those, TREE_KILL_MS at most.
 */
void tree_end(struct tree *t, uint64_t grace_ms);

/* From now on orphans below this process become its children. -errno. */
int tree_adopt_orphans(void) MUST_USE;

#endif
