/*
 * Jobs: work that may block, done in a child of this process without an exec.
 *
 * A job acts with the rights of the sandbox user, so that a path leads nowhere he
 * could not go himself, and alone meets what never ends: a dead network disk, an
 * endless file. It has this process's memory as of its start, which he cannot read
 * (it is not dumpable), and of its descriptors only standard error, its input at
 * 0, its output at 1 and, with input, at 3 what tells its end. It dies with this process.
 *
 * JOBS_MAX run at a time, JOBS_OF_KIND_MAX of each kind that takes long; up to
 * JOBS_WAITING_MAX wait for their turn, and nobody is let past whom a place would
 * suit. One that was killed counts until the kernel lets go of it.
 */
#ifndef PROC_JOB_H
#define PROC_JOB_H

#include "base/buf.h"
#include "loop/loop.h"
#include "proc/spawn.h"

struct job;

/*
 * Runs in the child. in is -1 for a job without input, whose 0 is /dev/null; both
 * descriptors block. Not 0
 * (out of memory, out is closed): what was written is not to be used.
 */
typedef int job_work_fn(void *arg, int in, int out);
/*
 * At the end of the input, in the child: whether job_feed_end has said so. Otherwise
 * the job was given up, or the parent is dead, and what has come is a part.
 */
bool job_input_is_whole(void);

enum job_outcome {
	JOB_DONE,     /* the work returned 0, and all its output has come */
	JOB_FAILED,   /* it returned something else */
	JOB_NO_START, /* its turn came, but no process was to be had */
	JOB_NO_TURN,  /* its time was over before its turn came */
	JOB_RIGHTS,   /* the user's rights could not be taken */
	JOB_KILLED,   /* by a signal that is not ours */
	JOB_LATE,     /* its time was over; it was killed */
	JOB_TOO_MUCH, /* more output than out_max; it was killed */
};

/* Called from the loop, never by job_start; each may call job_free. */
struct job_ops {
	/* Output as it comes, in pieces of 64 KiB at most. NULL: it is collected. */
	void (*output)(struct job *j, struct str piece);
	/*
	 * Output is there: true leaves it where it is, and the job must be paused; false
	 * has it read. May be NULL.
	 */
	bool (*waiting)(struct job *j);
	/* job_feed, which has not taken everything, will now take more. */
	void (*room)(struct job *j);
	/* The last call: j->outcome tells how it ended. */
	void (*done)(struct job *j);
};

/* How long one may take by its nature. */
enum job_kind {
	JOB_SHORT,   /* it answers at once, as a rule */
	JOB_LONG,    /* up to minutes: a search */
	JOB_LASTING, /* as a peer likes: a transfer */
};

struct job_conf {
	const struct job_ops *ops;
	const struct spawn_user *user; /* NULL keeps the present identity */
	job_work_fn *work;
	/* Runs in the child before it takes the user's rights; NULL: nothing does. */
	void (*prepare)(void *arg);
	void *arg;      /* of both; must stay until the job has started or is over */
	uint64_t ms;    /* from job_start on; 0 for no limit */
	size_t out_max; /* of collected output */
	int wide;       /* what its input and output hold each; 0: as they come */
	bool input;     /* job_feed will be used */
	enum job_kind kind;
};

enum job_state {
	JOB_NONE,
	JOB_WAITS, /* for its turn */
	JOB_RUNS,
	JOB_OVER,
};

struct job_kid;

/* Embedded in its owner; zeroed to begin with. */
struct job {
	enum job_outcome outcome;
	struct buf out; /* what was collected */

	struct loop *loop;
	struct job_conf conf;
	enum job_state state;
	struct job *next;    /* in line */
	struct job_kid *kid; /* the process; NULL once it is reaped */
	int status;          /* of the process, as from wait(2) */
	int in, out_fd;      /* our ends; -1 when closed */
	int in_end;          /* where the end of the input is told; like in */
	bool fed;            /* there is no more input */
	bool paused;
	struct io in_io;
	struct io out_io;
	struct timer deadline;
};

/*
 * Starts a job, or puts it in line. 0: ops->done follows. ERR_LIMIT: too many wait;
 * -errno: the system has no process or descriptor left.
 */
int job_start(struct job *j, struct loop *l, const struct job_conf *conf) MUST_USE;

/*
 * Gives up a job in any state, zeroed too: kills it, calls nobody any more and frees
 * the output. Inside a callback of the loop the memory of j itself must stay until
 * loop_free_later.
 */
void job_free(struct job *j);

/*
 * Hands over input; how much of it was taken. If that is not all, ops->room follows.
 * A job that reads no more takes everything and forgets it.
 */
size_t job_feed(struct job *j, struct str piece) MUST_USE;
/*
 * Hands over up to n bytes of what fd, a socket, has received, without a copy of them.
 * How many; 0 at the end of fd; -EAGAIN: it has none; -ENOBUFS: the job takes no more,
 * and ops->room follows; another -errno: job_feed is the way.
 */
ssize_t job_move(struct job *j, int fd, size_t n) MUST_USE;
/* There is no more input. */
void job_feed_end(struct job *j);

/* How many bytes of output there are. */
size_t job_waiting(const struct job *j);
/*
 * Puts up to n of them onto fd, a socket, without a copy. How many; 0: there are none;
 * -EAGAIN: it takes no more now; -EINVAL: this cannot be; another -errno, of fd, whose
 * SIGPIPE must be ignored.
 */
ssize_t job_hand(struct job *j, int fd, size_t n) MUST_USE;

/* Output is not wanted, or wanted again; the job waits when its pipe is full. */
void job_pause(struct job *j, bool pause);

/* Whether a job that has ended so cannot have done anything. */
bool job_did_nothing(enum job_outcome outcome);

/* Its process; 0 when it waits or is over. */
pid_t job_pid(const struct job *j);

/*
 * How a job ended, for people: "it took longer than it may...", with the next step where
 * there is one. A static string.
 */
const char *job_words(enum job_outcome outcome);

#endif
