/*
 * A shell session: a shell on a pty, the command that runs in it, its output. If the
 * system has no ptys, the shell has a socket, which takes lines of any length and
 * handles no keys; for two keys (C and \) the signal is sent instead.
 *
 * The command is passed in a file, and the pty receives one short line that evaluates
 * it, because a typed line is cut silently at 4,095 bytes. The shell's output goes
 * through the mark splitter into the terminal model: the shell reports the end of a
 * command, which is never read off the screen. State and raw output are in a spool that
 * survives a crash of this process, as the pty and the shell do; shell_adopt continues
 * where the last process stopped.
 *
 *   GONE -> STARTING -> IDLE -> RUNNING -> DONE -> SHELL_REPORTED -> IDLE | GONE
 */
#ifndef SHELL_SHELL_H
#define SHELL_SHELL_H

#include "base/buf.h"
#include "base/list.h"
#include "loop/loop.h"
#include "proc/cgroup.h"
#include "proc/shells.h"
#include "proc/spawn.h"
#include "proc/store.h"
#include "proc/tree.h"

enum shell_state {
	SHELL_NONE,     /* no process; shell_start starts a shell */
	SHELL_STARTING, /* the shell reads its start-up files */
	SHELL_IDLE,     /* the shell is at its prompt */
	SHELL_RUNNING,  /* a command runs */
	SHELL_DONE,     /* the command has ended, its result is not taken yet */
	SHELL_REPORTED, /* the result is read, and kept for the case of a crash */
};

/* The settings of a session. The caller owns everything and keeps it until shell_del. */
struct shell_setup {
	const char *name;    /* of the session, short; its key in the fd store */
	const char *path;    /* of the shell's program; NULL: none */
	const char *missing; /* the reason, if path is NULL */
	const char *arg0;
	enum shells_kind kind;
	const char *cwd; /* where the first shell starts */
	bool cwd_needed; /* without cwd no shell starts; false: it starts in "/" */
	const char *const *env;
	const struct spawn_user *user; /* NULL: the present identity */
	const struct cgroup *cgroup;   /* the sandbox's; NULL: unknown */
};

struct shell;

/* The loop calls these; any of them but printed may call back into the shell. */
struct shell_ops {
	/*
	 * The programs of the present command have written bytes to the terminal: all
	 * their output, in order, without marks. to: the offset after bytes, as in
	 * shell_raw. May be NULL.
	 */
	void (*printed)(void *arg, struct str bytes, uint64_t to);
	/*
	 * The shell is at its prompt, or restored (err 0), or could not be started (why
	 * is the reason).
	 */
	void (*ready)(void *arg, int err, const char *why);
	/* The running command has printed something. */
	void (*output)(void *arg);
	/* The running command has ended: state DONE. */
	void (*done)(void *arg);
};

/* Makes a session without a shell; NULL with *err set. store may have no init. */
struct shell *shell_new(struct loop *l, struct store *store,
	const struct shell_setup *setup, const struct shell_ops *ops, void *arg,
	int *err) MUST_USE;
/* Hangs up, kills the shell, frees everything. */
void shell_del(struct shell *s);

/*
 * Takes over a session that an earlier process left in the fd store, and owns both fds:
 * the pty master with the shell's pid (and its status if it has ended), or -1 if the
 * shell had ended before, and the spool. A result that was taken but not confirmed is
 * DONE again. On failure the fds are closed and the session stays GONE.
 *
 * The terminal model is fed again with the content of the spool, one step in this call
 * and the others from the loop; then ops->ready is called.
 */
int shell_adopt(
	struct shell *s, int master, pid_t pid, const int *status, int spool) MUST_USE;
/*
 * True from shell_adopt until ops->ready. State and raw output are available then, and
 * input may be typed, but the screen and the report are incomplete, and the state may
 * turn out to be a later one. Only functions that need neither may be called.
 */
bool shell_is_restoring(const struct shell *s);
/* Completes the restore without waiting for the loop, and calls ops->ready. */
void shell_restore_now(struct shell *s);
/* Init has reaped the shell of an adopted session. */
void shell_exited(struct shell *s, int status);

enum shell_state shell_state(const struct shell *s);
/* When that state began, in monotonic milliseconds; a crash of serve keeps it. */
uint64_t shell_get_state_time(const struct shell *s);
/* The shell's process, 0 for none. */
pid_t shell_pid(const struct shell *s);
/* 0, or the -errno of /dev/ptmx because of which the last shell had no terminal. */
int shell_no_terminal(const struct shell *s);
/* As shell_no_terminal, but each error is returned only once; then 0. */
int shell_report_no_terminal(struct shell *s);

/* GONE: starts a shell; ops->ready follows, within this call if it cannot be started. */
void shell_start(struct shell *s);
/*
 * IDLE: runs command (no NUL in it). tag, of SHELL_TAG_MAX bytes at most, names the
 * owner of the command for shell_claim. ERR_LIMIT, or -errno if it cannot be passed to
 * the shell.
 */
int shell_submit(struct shell *s, struct str command, struct str tag) MUST_USE;
/*
 * After shell_adopt: whether the command that runs or has ended has this tag. If so,
 * nothing of it counts as reported, and its result is as if there had been no crash.
 */
bool shell_claim(struct shell *s, struct str tag) MUST_USE;
/* The offset (as in shell_raw) at which the present command was submitted. */
uint64_t shell_get_command_start(const struct shell *s);
/*
 * RUNNING: types bytes, now or as the terminal takes them. -EMSGSIZE if a line is longer
 * than a terminal in canonical mode takes; ERR_LIMIT if too much is waiting; -errno.
 * After -EMSGSIZE and ERR_LIMIT nothing has been typed.
 */
int shell_type(struct shell *s, struct str bytes) MUST_USE;
/*
 * Whether the Enter key is a carriage return now, because a program takes every key
 * itself.
 */
bool shell_takes_keys(const struct shell *s);
/*
 * IDLE or RUNNING: types the control character of key, a letter or one of [\]^_.
 * -ENOTTY: there is no terminal, and only a terminal handles this key.
 */
int shell_key(struct shell *s, char key) MUST_USE;
/*
 * As shell_key with C, but no output is lost: for a key the kernel discards output that
 * is not read yet, perhaps with the mark of the command's end.
 */
int shell_interrupt(struct shell *s) MUST_USE;

/* Sends signo to all processes that come from the shell: 0, or -errno. */
int shell_signal(struct shell *s, int signo) MUST_USE;

/*
 * Reports the processes that were ended (tree->killed, in whatever way, the shell
 * included) and those that are left; the report is valid during the call.
 */
typedef void shell_ended_fn(void *arg, const struct tree *report);
/*
 * Ends all processes of the session, see shell_end.h; fn is called once, from the loop,
 * within about three seconds, unless the shell is deleted before. If a command runs, it
 * ends with the shell: the state is DONE then (ops->done is called before fn), and note
 * (static text) is the reason in its result. Without a command the state is GONE, or
 * SHELL_REPORTED until the next shell_confirm. fn may delete the shell. -EALREADY if an
 * end is under way.
 */
int shell_end(struct shell *s, const char *note, shell_ended_fn *fn, void *arg) MUST_USE;
/* True from shell_end until its fn: no command may be submitted. */
bool shell_is_ending(const struct shell *s);

/*
 * Appends the text that has not been reported yet and counts it as reported. *kept is 0;
 * if older lines had to be dropped, it is the number of lines left.
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
/* DONE: returns the result; the state becomes SHELL_REPORTED. */
struct shell_result shell_take_result(struct shell *s);
/*
 * All output reported and the result taken so far have reached the reader: a crash does
 * not bring them back. SHELL_REPORTED becomes IDLE, or GONE if the shell has ended.
 */
void shell_confirm(struct shell *s);

/* A part of the raw output of a command. Offsets count its bytes, marks included. */
struct shell_part {
	uint64_t asked;
	uint64_t from; /* the first byte that is still there; the ones before are lost */
	uint64_t next; /* where the next part begins */
};
/*
 * Appends output of the present command from offset on, as the programs wrote it: at
 * most max bytes of the spool (max is more than the size of a mark), and none after a
 * gap. ERR_RANGE: offset is after the end of the output. The output of a command stays
 * until the next shell_confirm.
 */
int shell_raw(struct shell *s, uint64_t offset, size_t max, struct buf *out,
	struct shell_part *part) MUST_USE;
/*
 * An observer. fn is called, often without need, when there is output or another state;
 * fn must not call anything that changes the shell. gone: the session is being deleted.
 */
struct shell_follower {
	struct list node;
	void (*fn)(struct shell_follower *f, bool gone);
};
void shell_follow(struct shell *s, struct shell_follower *f);
/* No effect on an observer that was called with gone. */
void shell_unfollow(struct shell_follower *f);
/*
 * The offsets of shell_raw start at 0 with each command. This is the number of bytes
 * that this process has dropped before offset 0: added to an offset, it gives a position
 * in all output that this process has read.
 */
uint64_t shell_get_dropped(const struct shell *s);
/* The offset after the last byte of output. */
uint64_t shell_output_end(const struct shell *s);
/* The offset after the output that the screen shows; more output may wait. */
uint64_t shell_screen_end(const struct shell *s);
/* The screen, from its first row on, as text with '\n' between the rows. */
int shell_screen(struct shell *s, struct buf *out) MUST_USE;
/* Sets the terminal's window size, for a person who watches the session. */
int shell_resize(struct shell *s, uint16_t rows, uint16_t columns) MUST_USE;

/* RUNNING, DONE: the text of the command, cut to SHELL_COMMAND_SHOWN bytes; or "". */
struct str shell_command(const struct shell *s);
/* The random id of the command; each command has another. */
struct str shell_command_id(const struct shell *s);

/* The working directory and the python on PATH, as of the last prompt. */
struct str shell_cwd(const struct shell *s);
struct str shell_python(const struct shell *s);

#endif
