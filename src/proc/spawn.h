/*
 * Child processes: fork, a fixed order of steps in the child, exec.
 *
 * A child starts as after a fresh login: default signal dispositions and an empty mask,
 * its own session, no descriptor but 0, 1, 2 and its channels, the limits that this
 * program was started with, an OOM score of +500 so that the kernel kills it before it
 * kills us. It is a child subreaper: processes that leave its session stay its
 * descendants, so that proc/tree finds all of them.
 */
#ifndef PROC_SPAWN_H
#define PROC_SPAWN_H

#include "base/err.h"
#include "limits.h"

#include <stdbool.h>
#include <sys/types.h>

/* The identity that a child runs with. uid -1 keeps the present identity. */
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
	const char *cwd;         /* "/" if it cannot be entered */
	bool cwd_needed;         /* the child fails if cwd cannot be entered */
	/*
	 * A folder that is entered after cwd if it can be, with the argv that is used
	 * then: for a program that opens a file in it by name. NULL: there is none.
	 */
	const char *folder;
	const char *const *folder_argv;
	int tty;               /* slave of a pty: 0, 1, 2 and controlling; or -1 */
	int fds[3];            /* without tty: 0, 1, 2; -1 is /dev/null */
	int channel;           /* 3 of the child; 0: none */
	int answers;           /* 4 of the child; 0: none */
	bool dies_with_parent; /* the kernel ends it when this process has ended */
	bool orphans_leave;    /* it is no subreaper, since it would not reap orphans */
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

/* The progress of the child up to its exec. */
struct spawn_report {
	int fd;             /* -1: no more reports follow */
	pid_t pid;          /* of the child */
	enum spawn_step at; /* the last step it has begun, if there is a child */
	const char *step;   /* the name of that step */
};

/*
 * Starts a child; *pid is its id and that of its session and process group. Does not wait
 * for the steps of the child: to enter a directory or to read a program may take for ever
 * on a network disk. A child that fails ends by itself; *report then holds the reason.
 * -errno when there is no child; report->step is the step that failed. The caller's
 * descriptors stay its own.
 */
int spawn(const struct spawn *s, pid_t *pid, struct spawn_report *report) MUST_USE;

/*
 * The progress of the child: 0 when the program runs; -EAGAIN while that is unknown;
 * -errno of the step that failed; -EINTR if the child was ended before its exec.
 * report->step is always the step of the result.
 */
int spawn_read_outcome(struct spawn_report *report) MUST_USE;
void spawn_report_close(struct spawn_report *report);
/* Lets a gated child execute its program. Without this call the child fails to start. */
void spawn_open_gate(struct spawn_report *report);

/*
 * Replaces this process by the program, which gets the caller's 0, 1 and 2: identity,
 * directory, signals, exec. Returns only on failure: -errno.
 */
int spawn_replace(const struct spawn *s) MUST_USE;

/*
 * Stores the limits that children get, once, and raises our own limit of descriptors to
 * its maximum: the usual 1024 are too few for 256 sessions and as many connections.
 * Children keep the original limit, since programs that use select(2) cannot handle more.
 */
void spawn_save_limits(void);

/*
 * Steps that other kinds of children take, too. All are async-signal-safe.
 *
 * Closes every descriptor from first on.
 */
void spawn_close_from(int first);
/* Default dispositions, an empty mask. */
void spawn_reset_signals(void);
/*
 * Raises the OOM score, so that the kernel kills the child before it kills us. A failure
 * is ignored: a child that is not dumpable and not root cannot write the file, and there
 * may be no /proc.
 */
void spawn_raise_oom_score(void);
/* Takes the identity of u (NULL: keeps its own); -1 with errno. */
int spawn_set_user(const struct spawn_user *u) MUST_USE;

/*
 * Tests in a child whether u (NULL: the present identity) can enter a folder: 0 or
 * -errno. Blocks, possibly on a network disk: only to be used at the start.
 */
int spawn_check_folder(const struct spawn_user *u, const char *folder) MUST_USE;

#endif
