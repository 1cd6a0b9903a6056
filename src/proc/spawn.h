/*
 * Child processes: fork, a fixed order of steps in the child, exec.
 *
 * A child starts as a fresh login would leave it: default signal dispositions
 * and an empty mask, its own session, no descriptor but 0, 1 and 2, the limits
 * that this program was started with, an OOM score of +500 so that the kernel
 * ends it before it ends us. It is a child subreaper: whoever it leaves behind,
 * in whatever session, stays its descendant, so that proc/tree finds all of them.
 */
#ifndef PROC_SPAWN_H
#define PROC_SPAWN_H

#include "base/err.h"

#include <sys/types.h>

enum { SPAWN_GROUPS = 64 };

/* Whom a child runs as. uid -1 keeps the present identity. */
struct spawn_user {
	uid_t uid;
	gid_t gid;
	size_t ngroups;
	gid_t groups[SPAWN_GROUPS];
};

struct spawn {
	const char *path;        /* what is executed; no PATH search */
	const char *const *argv; /* NULL at the end */
	const char *const *env;  /* NULL at the end */
	const char *cwd;         /* "/" where it cannot be entered */
	int tty;                 /* slave of a pty: 0, 1, 2 and controlling; or -1 */
	int fds[3];              /* without tty: 0, 1, 2; -1 is /dev/null */
	const struct spawn_user *user; /* NULL keeps the present identity */
};

/* Why a child did not start: the step that failed, in words. */
struct spawn_error {
	const char *step;
};

/*
 * Starts a child; *pid is its id and that of its session and process group.
 * Waits until the exec has happened or failed; -errno of the failing step with
 * e->step naming it. The caller's descriptors stay its own.
 */
int spawn(const struct spawn *s, pid_t *pid, struct spawn_error *e) MUST_USE;

/* Remembers the limits that children get; once, before any limit is changed. */
void spawn_remember_limits(void);

/* Closes every descriptor from first on. Async-signal-safe. */
void spawn_close_from(int first);

#endif
