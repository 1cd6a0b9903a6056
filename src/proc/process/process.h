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
#ifndef PROC_PROCESS_PROCESS_H
#define PROC_PROCESS_PROCESS_H

#include "base/hash.h"
#include "base/wait_queue.h"
#include "limits.h"
#include "loop/loop.h"
#include "proc/process/process_spool.h"
#include "proc/spawn.h"
#include "proc/store.h"

struct processes;
struct process;

enum {
	PROCESS_STDOUT, /* or the output of the pty */
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

/* The program to execute. process_start keeps no pointer to the texts. */
struct process_spec {
	const char *const *argv; /* ends with NULL; at least one text */
	const char *const *env;  /* ends with NULL: the complete environment */
	const char *cwd;         /* absolute; NULL: that of the sandbox */
	const char *user; /* name, uid, name:group or uid:gid; NULL: the sandbox's */
	const char *tag;  /* at most PROCESS_TAG_MAX bytes; NULL or "": none */
	bool pty;         /* a pty instead of the pipes */
	uint16_t rows, columns; /* of the pty */
	bool takes_stdin;       /* stdin is a pipe; otherwise /dev/null */
	bool writes_to_log;     /* stdout and stderr are those of the server; no pty */
	bool stops_sandbox;     /* see struct process_info */
	bool wait_when_full;    /* the process waits for its readers; otherwise the oldest
				    bytes of an output are released */
	bool kill_on_disconnect; /* see process_own */
	uint64_t timeout_ms;     /* 0: none */
	uint64_t output_limit;   /* bytes kept of each output */
	const char *const
		*defaults; /* the environment of the sandbox: its entries in env that
					depend on the user, such as HOME, are replaced */
	struct str key;    /* the Idempotency-Key, see process_key_find; empty: none */
	uint8_t request[SHA256_LEN]; /* the digest of the request with this key */
};

/* How a process has ended. */
struct process_exit {
	int status;     /* as from wait(2) */
	bool timed_out; /* it was killed by the timeout */
	double at;      /* seconds since 1970 */
};

/* The attributes of a process for clients. The texts are valid as long as the process. */
struct process_info {
	const char *id, *tag, *cwd, *user;
	const char *argv; /* argv_n texts, each with its NUL */
	size_t argv_n;
	bool argv_truncated; /* the arguments have more than PROCESS_ARGV_SHOWN bytes */
	pid_t pid;           /* after the exit it may be the pid of another process */
	bool pty;
	bool kill_on_disconnect;
	bool wait_when_full;
	bool stops_sandbox; /* the sandbox stops when the process has exited */
	double started_at;  /* seconds since 1970 */
};

/* The present state of an output. */
struct process_output {
	uint64_t start;   /* the offset of the first byte that is kept */
	uint64_t end;     /* the offset after the newest byte */
	uint64_t at_exit; /* end of what was written before the exit; or UINT64_MAX */
	bool open;        /* more bytes may follow */
};

/* The present state of stdin. */
struct process_stdin {
	bool open;
	uint64_t offset; /* bytes taken so far, also before a crash of serve */
};

/* --- The table of all ------------------------------------------------------ */

/* Outlives the table. user, user_name and cwd are set before the first start. */
struct processes_conf {
	struct loop *loop;
	struct store *store;
	const struct spawn_user *user; /* of the sandbox; NULL: the identity of serve */
	const char *user_name;
	const char *cwd; /* of the sandbox */
	bool user_fixed; /* a start with another user is ERR_REFUSED */
	/* NULL or called when a process has started or ended. */
	void (*on_change)(void *arg, const struct process *p);
	void *arg;
};

/* NULL: out of memory. */
struct processes *processes_new(const struct processes_conf *conf);
/* Frees the table. It kills no process: the caller does that. */
void processes_del(struct processes *all);

/* True: r is of a process of an earlier serve, and the table owns fd from now on. */
bool processes_restore_fd(struct processes *all, const struct store_record *r, int fd);
/* Restores the processes, after processes_restore_fd got everything from the store. */
void processes_restore(struct processes *all);
/* To be called when init has reaped a process that an earlier serve had started. */
void processes_on_exit(struct processes *all, pid_t pid, int status);
/* Refuses further starts, and calls the followers, which have to leave. */
void processes_stop(struct processes *all);

/* The process with this id; NULL: there is none. */
struct process *process_find(const struct processes *all, struct str id);
/* The oldest process, and the next one, without STARTING and FAILED ones; or NULL. */
struct process *process_first(const struct processes *all);
struct process *process_next(const struct process *p);

/* --- Start and end --------------------------------------------------------- */

/*
 * Starts a process: *out is in state STARTING, and followers are called when it is
 * RUNNING or FAILED. A FAILED process is freed when its last follower leaves. ERR_LIMIT:
 * PROCESSES_MAX run; ERR_CLOSED: the server stops; -errno: *why names the step.
 */
int process_start(struct processes *all, const struct process_spec *spec,
	struct process **out, const char **why) MUST_USE;

enum process_state process_state(const struct process *p);
void process_info(const struct process *p, struct process_info *out);
/* The reason of state FAILED, and a sentence that is valid as long as p. */
enum process_reason process_failure(const struct process *p, const char **detail);
/* NULL unless it is EXITED. */
const struct process_exit *process_get_exit(const struct process *p);

enum process_target { PROCESS_TREE, PROCESS_GROUP, PROCESS_ALONE };
/*
 * Sends a signal to the root and all its descendants, to the process group (with a pty:
 * the one in the foreground), or to the root alone. SIGKILL to the tree is process_kill.
 * -ESRCH: it does not run; -errno.
 */
int process_signal(struct process *p, int signo, enum process_target to) MUST_USE;
/* Kills the root and all its descendants, and repeats that until none is left. */
void process_kill(struct process *p);
/* -ENOTTY: it has no pty; -ESRCH: it does not run; -errno. */
int process_resize(struct process *p, uint16_t rows, uint16_t columns) MUST_USE;

/*
 * Removes an EXITED process from the table and calls its followers. process_is_removed
 * is true for them then, and they have to leave. The last one that leaves frees it.
 */
void process_remove(struct process *p);
/* Whether followers have to leave: p was removed, or the server stops. */
bool process_is_removed(const struct process *p);
/* Records that a client has received the exit: such processes are evicted first. */
void process_set_seen(struct process *p);

/*
 * Adds or removes a connection that owns the process. When its last owner is removed, a
 * process with kill_on_disconnect is killed. After a crash of serve it is killed if it
 * has no new owner within PROCESS_ORPHAN_MS.
 */
void process_own(struct process *p);
void process_disown(struct process *p);

/* --- Followers ------------------------------------------------------------- */

/* Embedded in its owner, and zeroed except waiter.fn and releases. */
struct process_follower {
	/*
	 * Called after a change of the state, of an output or of the space of stdin, and
	 * after removal. fn may leave, and may call every function but process_start.
	 */
	struct waiter waiter;
	struct process *process; /* NULL: it does not follow */
	bool releases;           /* see process_release */
	uint64_t released[PROCESS_OUTPUTS];
};

void process_follow(struct process *p, struct process_follower *f);
/* No effect on a follower that has left. The process may be freed after the batch. */
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
 * reader, and need not be kept. The smallest offset of the followers with f->releases
 * counts; releases is set before process_follow. f NULL: a reader that does not follow,
 * whose offset counts if no follower has f->releases.
 */
void process_release(
	struct process *p, unsigned no, struct process_follower *f, uint64_t offset);

/* --- stdin ----------------------------------------------------------------- */

void process_stdin(const struct process *p, struct process_stdin *out);
/*
 * Takes bytes for stdin and returns their number. If some are left, followers are called
 * when there is space again. -EPIPE: stdin is closed, or has no reader.
 */
ssize_t process_stdin_write(struct process *p, struct str bytes) MUST_USE;
/*
 * Takes up to n bytes that fd, a socket, has received, without a copy. Returns their
 * number; 0 at the end of fd; -EAGAIN: fd has none; -ENOBUFS: stdin has no space, and
 * followers are called later; -EPIPE as above; another -errno: use process_stdin_write.
 */
ssize_t process_stdin_splice(struct process *p, int fd, size_t n) MUST_USE;
/* Calls the followers once stdin has space, or takes no bytes any more. */
void process_stdin_await(struct process *p);
/* Ends stdin after the bytes taken. A pty in canonical mode is sent its EOF character. */
void process_stdin_end(struct process *p);

/* --- Idempotency ----------------------------------------------------------- */

/* The result for an Idempotency-Key. The last PROCESS_KEYS keys are kept. */
enum process_key_state {
	PROCESS_KEY_NEW,      /* the key is not known, or its start has failed */
	PROCESS_KEY_KNOWN,    /* *p is the process that was started with it */
	PROCESS_KEY_MISMATCH, /* the key was used with another request */
	PROCESS_KEY_REMOVED,  /* the process of the key was removed */
};
enum process_key_state process_key_find(struct processes *all, struct str key,
	const uint8_t request[SHA256_LEN], struct process **p) MUST_USE;

#endif
