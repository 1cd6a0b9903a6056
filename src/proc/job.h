/*
 * Jobs: work that may block, done in a child of this process without an exec.
 *
 * A job acts with the rights of the sandbox user, so that a path leads nowhere the user
 * could not go. It alone blocks on what never ends: a dead network disk, an endless file.
 * It has a copy of this process's memory as of its start, which the user cannot read (the
 * job is not dumpable). The only descriptors it has are standard error, its input at 0,
 * its output at 1 and, with input, the mark of its end at 3. It dies with this process.
 *
 * JOBS_MAX jobs run at a time, JOBS_OF_KIND_MAX of each kind that takes long. Up to
 * JOBS_WAITING_MAX jobs wait in a queue, FIFO per kind. A killed job counts until the
 * kernel has ended it.
 */
#ifndef PROC_JOB_H
#define PROC_JOB_H

#include "base/buf.h"
#include "base/list.h"
#include "loop/loop.h"
#include "proc/spawn.h"

struct job;

/*
 * Runs in the child. in is -1 for a job without input, whose 0 is /dev/null; both
 * descriptors block. A result other than 0 (out of memory, out is closed): the output
 * must not be used.
 */
typedef int job_work_fn(void *arg, int in, int out);
/*
 * In the child, at the end of the input: whether job_feed_end was called. If not, the job
 * was given up or the parent is dead, and the input is truncated.
 */
bool job_is_input_complete(void);

enum job_outcome {
	JOB_DONE,          /* the work returned 0, and all its output was read */
	JOB_FAILED,        /* the work returned another value */
	JOB_NO_START,      /* its turn came, but the system had no process left */
	JOB_QUEUE_TIMEOUT, /* its time limit passed before its turn came */
	JOB_RIGHTS,        /* the user's rights could not be taken */
	JOB_KILLED,        /* by a signal that is not ours */
	JOB_TIMED_OUT,     /* its time limit passed; it was killed */
	JOB_OUTPUT_LIMIT,  /* more output than out_max; it was killed */
};

/* Called from the loop, never by job_start; each callback may call job_free. */
struct job_ops {
	/* Output as it comes, in pieces of at most 64 KiB. NULL: it is collected. */
	void (*output)(struct job *j, struct str piece);
	/*
	 * Output is available: true leaves it in the pipe, and the callback must have
	 * paused the job; false has it read. May be NULL.
	 */
	bool (*output_ready)(struct job *j);
	/* job_feed did not take everything before, and will now take more. */
	void (*writable)(struct job *j);
	/* The last call: j->outcome is the reason of the end. */
	void (*done)(struct job *j);
};

/* The expected duration of a job. */
enum job_kind {
	JOB_SHORT,   /* usually finished at once */
	JOB_LONG,    /* up to minutes: a search */
	JOB_LASTING, /* as long as a peer needs: a transfer */
};

struct job_conf {
	const struct job_ops *ops;
	const struct spawn_user *user; /* NULL keeps the present identity */
	job_work_fn *work;
	/* Runs in the child before it takes the user's rights; NULL: nothing does. */
	void (*prepare)(void *arg);
	/* of work and prepare; must stay until the job has started or is over */
	void *arg;
	uint64_t ms;    /* from job_start on; 0 for no limit */
	size_t out_max; /* of collected output */
	/* capacity of its input and output pipes each; 0: the system's default */
	int pipe_size;
	bool input; /* job_feed will be used */
	enum job_kind kind;
};

enum job_state {
	JOB_NONE,
	JOB_WAITS, /* for its turn */
	JOB_RUNS,
	JOB_OVER,
};

struct job_process;

/* Embedded in its owner; zeroed to begin with. */
struct job {
	enum job_outcome outcome;
	struct buf out; /* what was collected */

	struct loop *loop;
	struct job_conf conf;
	enum job_state state;
	struct list node;            /* in the queue */
	struct job_process *process; /* the process; NULL once it is reaped */
	int status;                  /* of the process, as from wait(2) */
	int in, out_fd;              /* our ends; -1 when closed */
	int in_end;                  /* where the end of the input is marked; -1 as in */
	bool fed;                    /* no more input follows */
	bool paused;
	struct io in_io;
	struct io out_io;
	struct timer deadline;
};

/*
 * Starts a job, or queues it. 0: ops->done follows. ERR_LIMIT: too many wait; -errno: the
 * system has no process or descriptor left.
 */
int job_start(struct job *j, struct loop *l, const struct job_conf *conf) MUST_USE;

/*
 * Gives up a job in any state, zeroed too: kills it, calls no callback any more and frees
 * the output. Inside a callback of the loop the memory of j itself must stay until
 * loop_defer_free.
 */
void job_free(struct job *j);

/*
 * Feeds input; returns how much was taken. If that is not all, ops->room follows. For a
 * job that reads no more, the input counts as taken and is dropped.
 */
size_t job_feed(struct job *j, struct str piece) MUST_USE;
/*
 * Feeds up to n bytes that fd, a socket, has received, without a copy of them. Returns
 * their number; 0 at the end of fd; -EAGAIN: fd has none; -ENOBUFS: the job takes no
 * more, and ops->room follows; another -errno: job_feed has to be used.
 */
ssize_t job_splice_in(struct job *j, int fd, size_t n) MUST_USE;
/* Ends the input. */
void job_feed_end(struct job *j);

/* The number of bytes of output that can be read now. */
size_t job_count_output(const struct job *j);
/*
 * Sends up to n bytes of output to fd, a socket, without a copy. Returns their number; 0:
 * there are none; -EAGAIN: fd is full; -EINVAL: not supported; another -errno, of fd.
 * SIGPIPE must be ignored.
 */
ssize_t job_splice_out(struct job *j, int fd, size_t n) MUST_USE;

/* Pauses or resumes reading the output; the job blocks when its pipe is full. */
void job_pause(struct job *j, bool pause);

/* Whether a job with this outcome cannot have had an effect. */
bool job_has_no_effect(enum job_outcome outcome);

/* The pid of its process; 0 when it waits or is over. */
pid_t job_pid(const struct job *j);

/*
 * The outcome as a text for people: "it took longer than it may...", with the next step
 * if there is one. A static string.
 */
const char *job_outcome_text(enum job_outcome outcome);

#endif
