/*
 * One shell session: a shell on a pty, the command that runs in it, its output.
 * Where the system has no ptys the shell has a socket, which takes lines of any
 * length and knows no keys; the signals of two of them are sent instead.
 *
 * The command is handed over in a file and the pty receives one short line that
 * evaluates it, because a typed line is cut silently at 4,095 bytes. What the
 * shell prints goes through the mark splitter (where a command ends is told by
 * the shell, never read off the screen) into the terminal model. State and raw
 * output lie in a spool that survives a crash of this process, as the pty and
 * the shell do; shell_adopt goes on where the last process stopped.
 *
 *   GONE -> STARTING -> IDLE -> RUNNING -> DONE -> TOLD -> IDLE | GONE
 */
#ifndef TERM_SHELL_H
#define TERM_SHELL_H

#include "base/buf.h"
#include "loop/loop.h"
#include "proc/cgroup.h"
#include "proc/shells.h"
#include "proc/spawn.h"
#include "proc/store.h"

enum shell_state {
	SHELL_GONE,     /* there is no process; shell_start makes one */
	SHELL_STARTING, /* it reads its start-up files */
	SHELL_IDLE,     /* at its prompt */
	SHELL_RUNNING,  /* a command runs */
	SHELL_DONE,     /* the command has ended, its result is not taken yet */
	SHELL_TOLD,     /* it is taken, but kept in case the answer was lost in a crash */
};

/* What a session is made from. Everything belongs to the caller and stays. */
struct shell_setup {
	const char *name;    /* of the session, short; keys it in the fd store */
	const char *path;    /* of the shell; NULL: there is none */
	const char *missing; /* then: why, in words */
	const char *arg0;
	enum shells_kind kind;
	const char *cwd; /* where the first shell starts */
	bool cwd_needed; /* and if it cannot, there is none; else it starts in "/" */
	const char *const *env;
	const struct spawn_user *user; /* NULL: the present identity */
	const struct cgroup *cgroup;   /* the sandbox's; NULL: unknown */
};

struct shell;

/* Called from the loop; any of them but printed may call back into the shell. */
struct shell_ops {
	/*
	 * What the programs of the present command have written to the terminal, marks
	 * left out, all of it in its order; to: the offset behind it, of shell_raw. May
	 * be NULL.
	 */
	void (*printed)(void *arg, struct str bytes, uint64_t to);
	/*
	 * The shell is at its prompt, or restored (err 0), or could not be started (why
	 * says it).
	 */
	void (*ready)(void *arg, int err, const char *why);
	/* The running command has printed something. */
	void (*output)(void *arg);
	/* The running command has ended: state DONE. */
	void (*done)(void *arg);
};

/* A session without a shell yet; NULL with *err set. store may have no init. */
struct shell *shell_new(struct loop *l, struct store *store,
	const struct shell_setup *setup, const struct shell_ops *ops, void *arg,
	int *err) MUST_USE;
/* Hangs up, kills the shell, frees everything. */
void shell_del(struct shell *s);

/*
 * Takes over what an earlier process left in the fd store, both fds included:
 * the pty master with the shell's pid (and its status if it has ended), or -1
 * where the shell had ended before, and the spool. What was taken but not
 * confirmed is DONE again. On failure the fds are closed and the session stays
 * GONE.
 *
 * The terminal is shown again what the spool holds, a step at once and the others from
 * the loop; then ops->ready is called.
 */
int shell_adopt(
	struct shell *s, int master, pid_t pid, const int *status, int spool) MUST_USE;
/*
 * From shell_adopt until ops->ready: state and raw output are there, and input may be
 * typed, but the screen and what is to be reported are not whole, and the state may
 * turn out to be a later one. Only what takes neither may be called.
 */
bool shell_is_restoring(const struct shell *s);
/* Ends that without waiting for the loop: all is shown again, and ops->ready called. */
void shell_restore_now(struct shell *s);
/* Init has reaped the shell of an adopted session. */
void shell_exited(struct shell *s, int status);

enum shell_state shell_state(const struct shell *s);
/* When that state began, in monotonic milliseconds; a crash of serve keeps it. */
uint64_t shell_entered(const struct shell *s);
/* The shell's process, 0 for none. */
pid_t shell_pid(const struct shell *s);
/* 0, or the -errno of /dev/ptmx for which the last shell had no terminal. */
int shell_no_terminal(const struct shell *s);
/* The same, but 0 once it has been told. */
int shell_tell_no_terminal(struct shell *s);

/* GONE: starts a shell; ops->ready follows, at once if it cannot be started. */
void shell_start(struct shell *s);
/*
 * IDLE: runs command (no NUL in it). tag, of SHELL_TAG_MAX bytes at most, says whose it
 * is, for shell_claim. ERR_LIMIT, or -errno if it cannot be handed over.
 */
int shell_submit(struct shell *s, struct str command, struct str tag) MUST_USE;
/*
 * After shell_adopt: whether the command that runs, or has ended, is the one of this
 * tag, of which nothing has been told; then its result is as if there had been no
 * crash.
 */
bool shell_claim(struct shell *s, struct str tag) MUST_USE;
/* The offset, of shell_raw, at which the present command was submitted. */
uint64_t shell_begun(const struct shell *s);
/*
 * RUNNING: types bytes, now or as the terminal takes them. -EMSGSIZE where a
 * line is longer than a terminal that collects lines takes; ERR_LIMIT when too
 * much is waiting; nothing has been typed then. -errno.
 */
int shell_type(struct shell *s, struct str bytes) MUST_USE;
/* Whether the Enter key is a carriage return now: a program takes every key itself. */
bool shell_takes_keys(const struct shell *s);
/*
 * IDLE or RUNNING: the control character of key, a letter or one of [\]^_. -ENOTTY:
 * only a terminal would have a meaning for it, and there is none.
 */
int shell_key(struct shell *s, char key) MUST_USE;
/*
 * What the key C would do, but nothing that was printed is lost: for a key the kernel
 * throws away what we have not read yet, perhaps the mark of the command's end.
 */
int shell_interrupt(struct shell *s) MUST_USE;

/* Sends signo to all that has come out of the shell: 0, or -errno. */
int shell_signal(struct shell *s, int signo) MUST_USE;

/*
 * Appends the text that has not been reported yet and counts it as reported.
 * *kept is 0, or the number of lines left where older ones had to be dropped.
 */
int shell_report(struct shell *s, struct buf *out, size_t *kept) MUST_USE;
/* Reports made about the present command so far. */
unsigned shell_reports(const struct shell *s);

struct shell_result {
	int status;         /* exit code; 128 + n for signal n */
	bool ended;         /* the shell itself has ended with that status */
	int64_t background; /* process of the last background job, -1 for none */
	const char *note;   /* why the shell was replaced, or NULL */
	/* Processes of the sandbox that the OOM killer ended meanwhile, if known. */
	uint64_t oom_kills;
	uint64_t memory_limit; /* of the sandbox, if there are any; 0: unknown */
};
/* DONE: the result; the session is TOLD then. */
struct shell_result shell_take(struct shell *s);
/*
 * What has been reported and taken so far has reached its reader: a crash will not
 * bring it back. TOLD becomes IDLE, or GONE if the shell has ended.
 */
void shell_confirm(struct shell *s);

/* A part of the raw output of a command. Offsets count its bytes, marks included. */
struct shell_part {
	uint64_t asked;
	uint64_t from; /* the first byte that is still there; the ones before are lost */
	uint64_t next; /* where the next part begins */
};
/*
 * Appends output of the present command, as the programs wrote it, from offset on;
 * max bytes of the spool at most (more than a mark has), and none behind a gap in it.
 * ERR_RANGE: so much was not written yet. After a command its output stays until the
 * next shell_confirm.
 */
int shell_raw(struct shell *s, uint64_t offset, size_t max, struct buf *out,
	struct shell_part *part) MUST_USE;
/*
 * Who looks on. fn is called, often without need, when there is output or another state:
 * it must not call anything that changes the shell. gone: there is no shell any more.
 */
struct shell_follower {
	struct shell_follower *next;
	void (*fn)(struct shell_follower *f, bool gone);
};
void shell_follow(struct shell *s, struct shell_follower *f);
void shell_unfollow(struct shell *s, struct shell_follower *f);
/*
 * The offsets of shell_raw begin anew with commands. This is how much this process has
 * forgotten before offset 0: added to them, they count all output it has seen.
 */
uint64_t shell_forgotten(const struct shell *s);
/* The offset behind the last byte of output. */
uint64_t shell_output_end(const struct shell *s);
/* The offset behind the output that the screen shows, of which more may wait. */
uint64_t shell_screen_end(const struct shell *s);
/* The screen, from its first row on, as text with '\n' between the rows. */
int shell_screen(struct shell *s, struct buf *out) MUST_USE;
/* Tells programs in it how large the screen of a person who looks on is. */
int shell_resize(struct shell *s, uint16_t rows, uint16_t columns) MUST_USE;

/* RUNNING, DONE: the text of the command, cut to SHELL_COMMAND_SHOWN bytes; or "". */
struct str shell_command(const struct shell *s);
/* Another one for each command. */
struct str shell_command_id(const struct shell *s);

/* The working directory and the python on PATH, as of the last prompt. */
struct str shell_cwd(const struct shell *s);
struct str shell_python(const struct shell *s);

#endif
