/*
 * Processes: programs that are executed without a shell session, with three pipes or a
 * pty of their own. Bytes are exact: nothing is decoded, cut or added.
 *
 * A process outlives a crash of serve: its record, its pipes and its outputs are in the
 * fd store of init (proc/store.h). It is executed at most once: the program begins only
 * after everything has been stored.
 *
 * All callbacks come from the loop, never from a function that is called here.
 */
#ifndef PROC_PROCESS_H
#define PROC_PROCESS_H

#include "base/hash.h"
#include "limits.h"
#include "loop/loop.h"
#include "proc/process_spool.h"
#include "proc/spawn.h"
#include "proc/store.h"

struct processes;
struct process;

enum {
	PROCESS_STDOUT, /* or the pty */
	PROCESS_STDERR,
	PROCESS_OUTPUTS,
};

enum {
	PROCESS_ID_MAX = 24, /* "p" and a number, with its NUL */
	PROCESS_TAG_MAX = 64,
};

enum process_state {
	PROCESS_STARTING, /* the program has not been executed yet */
	PROCESS_RUNNING,
	PROCESS_EXITED,
	PROCESS_FAILED, /* the program could not be executed; the process is in no list */
};

/* Why a program could not be executed; the names are in process_reason_names. */
enum process_reason {
	PROCESS_NOT_FOUND,
	PROCESS_NOT_EXECUTABLE,
	PROCESS_NO_DIRECTORY,
	PROCESS_NO_USER,
	PROCESS_NO_RIGHTS,
	PROCESS_START_FAILED,
};
extern const char *const process_reason_names[];

/* The program to execute. The texts may go once process_start has returned. */
struct process_spec {
	const char *const *argv; /* NULL at the end; one at least */
	const char *const *env;  /* NULL at the end: the complete environment */
	const char *cwd;         /* absolute; NULL: that of the sandbox */
	const char *user; /* name, uid, name:group or uid:gid; NULL: the sandbox's */
	const char *tag;  /* at most PROCESS_TAG_MAX bytes; NULL or "": none */
	bool pty;         /* instead of the pipes */
	uint16_t rows, columns; /* of the pty */
	bool takes_stdin;       /* stdin is a pipe; otherwise /dev/null */
	bool wait_when_full;    /* the process waits for its readers; otherwise the oldest
				    bytes of an output are released */
	bool kill_on_disconnect; /* see process_own */
	uint64_t timeout_ms;     /* 0: none */
	uint64_t output_limit;   /* bytes kept of each output */
	const char *const
		*defaults; /* the environment of the sandbox: what is of it in env
					follows the user, such as HOME */
	struct str key;    /* of the request, for process_key_find; empty: none */
	uint8_t request[SHA256_LEN]; /* the digest of the request with this key */
};

/* How a process has ended. */
struct process_exit {
	int status;     /* as from wait(2) */
	bool timed_out; /* the timeout has killed it */
	double at;      /* seconds since 1970 */
};

/* The visible facts of a process; the texts live as long as the process. */
struct process_info {
	const char *id, *tag, *cwd, *user;
	const char *argv; /* argv_n texts, each with its NUL */
	size_t argv_n;
	bool argv_truncated; /* there are more than PROCESS_ARGV_SHOWN bytes of them */
	pid_t pid;           /* stays after the exit, when it means nothing any more */
	bool pty;
	bool kill_on_disconnect;
	bool wait_when_full;
	double started_at; /* seconds since 1970 */
};

/* An output as it is now. */
struct process_output {
	uint64_t start;   /* the offset of the first byte that is kept */
	uint64_t end;     /* the offset behind the newest byte */
	uint64_t at_exit; /* what was written before the exit ends here; or UINT64_MAX */
	bool open;        /* more may come */
};

/* stdin as it is now. */
struct process_stdin {
	bool open;
	uint64_t offset; /* bytes taken in all; they outlive a crash of serve */
};

/* --- The table of all ------------------------------------------------------ */

/* Outlives the table; user, user_name and cwd are needed from the first start on. */
struct processes_conf {
	struct loop *loop;
	struct store *store;
	const struct spawn_user *user; /* of the sandbox; NULL: the present identity */
	const char *user_name;
	const char *cwd; /* of the sandbox */
	/* NULL or called when a process has started or ended. */
	void (*told)(void *arg, const struct process *p);
	void *arg;
};

/* NULL: out of memory. */
struct processes *processes_new(const struct processes_conf *conf);
/* Frees everything; processes that run are left alone, their end is the caller's. */
void processes_del(struct processes *all);

/* True: the record belonged to a process of an earlier serve, and fd was taken over. */
bool processes_keep(struct processes *all, const struct store_record *r, int fd);
/* Everything has come out of the store: the processes go on. */
void processes_restore(struct processes *all);
/* Init has reaped a process that an earlier serve had started. */
void processes_exited(struct processes *all, pid_t pid, int status);
/* No process is started from now on, and followers leave. */
void processes_stop(struct processes *all);

/* NULL: there is none. */
struct process *process_find(const struct processes *all, struct str id);
/* The oldest, and the next one. Those that are starting or have failed are left out. */
struct process *process_first(const struct processes *all);
struct process *process_next(const struct process *p);

/* --- Start and end --------------------------------------------------------- */

/*
 * Starts a process: *out is in state STARTING, and followers are called when it is
 * RUNNING or FAILED. A process that starts, or has failed, and is followed by nobody is
 * removed. ERR_LIMIT: PROCESSES_MAX run; ERR_CLOSED: the server stops; -errno with *why.
 */
int process_start(struct processes *all, const struct process_spec *spec,
	struct process **out, const char **why) MUST_USE;

enum process_state process_state(const struct process *p);
void process_info(const struct process *p, struct process_info *out);
/* For state FAILED: the reason, and a sentence that lives as long as p. */
enum process_reason process_failure(const struct process *p, const char **detail);
/* NULL unless it is EXITED. */
const struct process_exit *process_exit_of(const struct process *p);

enum process_target { PROCESS_TREE, PROCESS_GROUP, PROCESS_ALONE };
/*
 * Sends a signal to the root and all its descendants, to the process group (with a pty:
 * the one in the foreground), or to the root alone. SIGKILL to the tree is process_kill.
 * -ESRCH: it does not run; -errno.
 */
int process_signal(struct process *p, int signo, enum process_target to) MUST_USE;
/* Kills the root and all its descendants, again until none is left. */
void process_kill(struct process *p);
/* -ENOTTY: it has no pty; -ESRCH: it does not run; -errno. */
int process_resize(struct process *p, uint16_t rows, uint16_t columns) MUST_USE;

/*
 * Forgets a process that is EXITED: it is in no list any more, and followers are called,
 * who find process_is_removed and have to leave. The memory goes with the last of them.
 */
void process_remove(struct process *p);
/* True, too, when the server stops: then followers have to leave. */
bool process_is_removed(const struct process *p);
/* Its end has been shown to somebody: it may make room for others sooner. */
void process_set_seen(struct process *p);

/*
 * A connection owns the process: when the last owner has gone, a process with
 * kill_on_disconnect is killed. After a crash of serve a new owner has
 * PROCESS_ORPHAN_MS to come.
 */
void process_own(struct process *p);
void process_disown(struct process *p);

/* --- Followers ------------------------------------------------------------- */

/* Embedded in its owner; zeroed but for fn. */
struct process_follower {
	/*
	 * Something has changed: the state, an output, space of stdin, removal. It may
	 * leave here, and call everything but process_start.
	 */
	void (*fn)(struct process_follower *f);
	struct process *process; /* NULL: it does not follow */
	struct process_follower *next;
	bool releases; /* see process_release */
	uint64_t released[PROCESS_OUTPUTS];
};

void process_follow(struct process *p, struct process_follower *f);
/* Legal for one that does not follow. p may be no more. */
void process_unfollow(struct process_follower *f);

/* --- Outputs --------------------------------------------------------------- */

/* 1 with a pty, otherwise 2. */
unsigned process_outputs(const struct process *p);
void process_output(const struct process *p, unsigned no, struct process_output *out);
/* As process_spool_read. */
int process_output_read(const struct process *p, unsigned no, uint64_t at, size_t max,
	struct buf *out, struct process_part *part) MUST_USE;
/* As process_spool_send. */
ssize_t process_output_send(
	const struct process *p, unsigned no, uint64_t at, size_t n, int sock) MUST_USE;

/*
 * For when_full "wait": the bytes of the output before this offset have reached their
 * reader, and need not be kept. While followers with f->releases are there, the slowest
 * of them counts; set f->releases before process_follow. f NULL: a reader that comes
 * and goes, which counts while there is no such follower.
 */
void process_release(
	struct process *p, unsigned no, struct process_follower *f, uint64_t offset);

/* --- stdin ----------------------------------------------------------------- */

void process_stdin(const struct process *p, struct process_stdin *out);
/*
 * Takes bytes for stdin; how many. Fewer than all: followers are called when there is
 * space again. -EPIPE: stdin is closed, or nobody reads it any more.
 */
ssize_t process_stdin_write(struct process *p, struct str bytes) MUST_USE;
/*
 * Takes up to n bytes that fd, a socket, has received, without a copy: how many; 0 at
 * the end of fd; -EAGAIN: fd has none; -ENOBUFS: stdin has no space, followers are
 * called; -EPIPE as above; another -errno: process_stdin_write is the way.
 */
ssize_t process_stdin_move(struct process *p, int fd, size_t n) MUST_USE;
/* stdin ends behind what was taken. To a pty that collects lines its end key is sent. */
void process_stdin_end(struct process *p);

/* --- Idempotency ----------------------------------------------------------- */

/* The record of a key; the last PROCESS_KEYS of them are kept. */
enum process_key_state {
	PROCESS_KEY_NEW,   /* nothing, or its start has failed */
	PROCESS_KEY_KNOWN, /* *p is the process that was started with it */
	PROCESS_KEY_OTHER, /* it was used with another request */
	PROCESS_KEY_GONE,  /* its process was removed */
};
enum process_key_state process_key_find(struct processes *all, struct str key,
	const uint8_t request[SHA256_LEN], struct process **p) MUST_USE;

#endif
