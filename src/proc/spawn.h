/*
 * Child processes: fork, a fixed order of steps in the child, exec.
 *
 * A child starts as a fresh login would leave it: default signal dispositions
 * and an empty mask, its own session, no descriptor but 0, 1, 2 and its channels, the
 * limits that this program was started with, an OOM score of +500 so that the kernel
 * ends it before it ends us. It is a child subreaper: whoever it leaves behind,
 * in whatever session, stays its descendant, so that proc/tree finds all of them.
 */
#ifndef PROC_SPAWN_H
#define PROC_SPAWN_H

#include "base/err.h"
#include "limits.h"

#include <stdbool.h>
#include <sys/types.h>

/* Whom a child runs as. uid -1 keeps the present identity. */
struct spawn_user {
	uid_t uid;
	gid_t gid;
	size_t ngroups;
	gid_t groups[USER_GROUPS_MAX];
};

/* The steps of a child up to its exec, in their order. */
enum spawn_step {
	SPAWN_SESSION,
	SPAWN_IDENTITY,
	SPAWN_TTY,
	SPAWN_FDS,
	SPAWN_GROUPS,
	SPAWN_GID,
	SPAWN_UID,
	SPAWN_CWD,
	SPAWN_GATE,
	SPAWN_EXEC,
};

struct spawn {
	const char *path; /* the program, without a search of PATH */
	const char *const
		*paths; /* or these, tried in order as execvp does; ends with NULL */
	const char *const *argv; /* NULL at the end */
	const char *const *env;  /* NULL at the end */
	const char *cwd;         /* "/" where it cannot be entered */
	bool cwd_needed;         /* then the child fails instead */
	/*
	 * A folder that is entered after cwd if it can be, with the argv that is used
	 * then: for a program that opens a file in it by name. NULL: there is none.
	 */
	const char *folder;
	const char *const *folder_argv;
	int tty;            /* slave of a pty: 0, 1, 2 and controlling; or -1 */
	int fds[3];         /* without tty: 0, 1, 2; -1 is /dev/null */
	int channel;        /* what the child has as 3; 0: nothing */
	int answers;        /* the same as 4 */
	bool dies_with_us;  /* the kernel ends it when this process has ended */
	bool orphans_leave; /* it is no subreaper: it would not bury them */
	const struct spawn_user *user; /* NULL keeps the present identity */
	/*
	 * Called in the child, where it may block; may change user and env of this
	 * struct. 0 or -errno. NULL: no call.
	 */
	int (*find_identity)(struct spawn *s, void *arg);
	void *arg;
	bool gated;   /* the child waits before its exec for spawn_open_gate */
	int *failure; /* shared memory for the errno of a failed start; or NULL */
};

/* What the child tells of itself up to its exec. */
struct spawn_report {
	int fd;             /* -1: nothing more to come */
	pid_t pid;          /* of the child */
	enum spawn_step at; /* the last one it has begun, if there is a child */
	const char *step;   /* the same in words */
};

/*
 * Starts a child; *pid is its id and that of its session and process group. Does not
 * wait for what the child does: to enter a directory or to read a program may take
 * for ever on a network disk. A child that fails ends by itself; *report then knows
 * why. -errno when there is no child, with report->step naming what failed. The
 * caller's descriptors stay its own.
 */
int spawn(const struct spawn *s, pid_t *pid, struct spawn_report *report) MUST_USE;

/*
 * How far the child has come: 0 when the program runs; -EAGAIN while nobody knows;
 * -errno of the step that failed; -EINTR if the child was ended before its exec.
 * report->step is always that of the answer.
 */
int spawn_outcome(struct spawn_report *report) MUST_USE;
void spawn_report_close(struct spawn_report *report);
/* Lets a gated child execute its program. Without this call the child fails to start. */
void spawn_open_gate(struct spawn_report *report);

/*
 * Becomes the program itself, where the caller's 0, 1 and 2 are what it shall have:
 * identity, directory, signals, exec. Only returns when that fails: -errno.
 */
int spawn_replace(const struct spawn *s) MUST_USE;

/*
 * Remembers the limits that children get, once, and raises our own number of
 * descriptors as far as it goes: the usual 1024 are too few for 256 sessions and as
 * many connections, but what selects on descriptors does not stand more.
 */
void spawn_remember_limits(void);

/*
 * Steps that other children take, too. All are async-signal-safe.
 *
 * Closes every descriptor from first on.
 */
void spawn_close_from(int first);
/* Default dispositions, an empty mask. */
void spawn_default_signals(void);
/*
 * The kernel shall end it before it ends us. Where that may not be said it goes on: a
 * child that is not dumpable and not root's cannot write there, nor who has no /proc.
 */
void spawn_raise_oom_score(void);
/* Takes the identity of u (NULL: keeps its own); -1 with errno. */
int spawn_become(const struct spawn_user *u) MUST_USE;

/*
 * Tries in a child whether u (NULL: the present identity) can enter a folder: 0 or
 * -errno. Blocks, possibly on a network disk: to be used at the start alone.
 */
int spawn_try_folder(const struct spawn_user *u, const char *folder) MUST_USE;

#endif
