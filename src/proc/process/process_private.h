/*
 * The state machine of a process, for the files that make its steps. The output
 * (process_spool.h) and the table of numbers and keys (process_table.h) are objects with
 * their own headers. The files:
 *
 *   process_record.c   the memory of a process that outlives serve
 *   process.c          the list, the states, the followers
 *   process_output.c   the sources: pipes or a pty, read into spools within bounds
 *   process_stdin.c    the sink: bytes from peers pass through a stage into the pipe
 *   process_end.c      the exit, signals, timeouts and the end of the tree
 *   process_start.c    everything is stored, then the program begins
 *   process_restore.c  goes on with the processes of an earlier serve
 */
#ifndef PROC_PROCESS_PROCESS_PRIVATE_H
#define PROC_PROCESS_PROCESS_PRIVATE_H

#include "proc/children.h"
#include "proc/process/process.h"
#include "proc/process/process_table.h"
#include "proc/tree.h"

enum {
	PROCESS_PIPE = 256 << 10, /* bytes; the capacity of a pipe, if permitted */
	PROCESS_START_MS = 60000, /* a program may be on a slow network disk */
};

/* State of the stage of stdin; see process_stdin.c. */
enum process_stage {
	STAGE_IDLE,
	STAGE_FILLS,  /* bytes go into it from a peer */
	STAGE_DRAINS, /* bytes go from it to the process */
};

/* stdin in the record. */
struct process_stdin_record {
	uint64_t taken;      /* bytes taken from peers so far */
	uint64_t taken_then; /* value of taken when the step began */
	uint32_t held_then;  /* bytes that the stage held then */
	uint32_t stage;      /* enum process_stage */
	bool open;           /* more bytes are taken */
	bool ends;           /* the stage holds the last bytes */
};

/* An output in the record. */
struct process_output_record {
	bool open;
	uint64_t at_exit;  /* see struct process_output */
	uint64_t released; /* see process_release */
};

/*
 * The state of a process, in memory that outlives serve, and that the child shares until
 * its exec. A later serve relies on the order in which the members are stored.
 */
struct process_record {
	uint32_t size;   /* of the record; it also identifies the layout */
	int32_t failure; /* errno of a start that failed, written by the child */
	uint32_t state;  /* enum process_state */
	bool released;   /* the gate was opened: the program may have been executed */
	bool pty, wait_when_full, kill_on_disconnect;
	bool killed;         /* its tree is being killed */
	bool timed_out;      /* the timeout has killed it */
	bool argv_truncated; /* see struct process_info */
	bool stops_sandbox;  /* the same */
	pid_t pid;
	int status;
	uint64_t output_limit;
	uint64_t deadline; /* of the timeout, monotonic ms; 0: none */
	double started_at, ended_at;
	struct process_stdin_record in;
	struct process_output_record out[PROCESS_OUTPUTS];
	uint32_t argv_n, cwd_at, user_at, tag_at; /* offsets in text */
	struct process_spool_meta spool[PROCESS_OUTPUTS];
	char text[]; /* each with its NUL: argv, cwd, user, tag */
};

/* Pipes of a process that transfers many bytes are larger, for fewer wake-ups. */
enum {
	PROCESS_WIDE_AFTER = 16 << 20, /* bytes of one direction */
	PROCESS_PIPE_WIDE = 1 << 20,   /* the most that a user may have in one pipe */
};

struct process_source {
	struct process *process;
	struct process_spool spool;
	struct io io; /* of the pipe or the pty; fd -1: it is not watched */
	int fd;       /* -1: it has ended */
	bool paused;  /* no byte is read before process_release makes space */
	bool wide;    /* see process_widen_pipe */
};

struct process_sink {
	struct io io;
	int fd;          /* of the pipe, or a copy of the pty; -1: closed */
	int stage[2];    /* a pipe; -1 with a pty */
	uint32_t held;   /* bytes in the stage */
	bool no_splice;  /* pipes cannot be spliced into one another */
	bool is_full;    /* a writer waits for space */
	bool is_blocked; /* the pipe of the process is full */
	bool wide;       /* see process_widen_pipe */
};

struct process_killing {
	bool active;
	bool was_empty; /* the last snapshot had no process of the tree */
	struct tree tree;
	uint64_t until; /* monotonic ms */
	struct timer timer;
};

struct process {
	struct list node;
	struct processes *all;
	struct process_record *record;
	size_t record_n; /* bytes mapped */
	int record_fd;
	uint64_t number;
	char id[PROCESS_ID_MAX]; /* "p" and the number */
	bool removed, seen;
	bool exited; /* init reaped it before the restoration: see exit.status */
	unsigned owners;
	struct child child;
	struct spawn_report report;
	struct io report_io;
	struct timer wake, timeout, orphan;
	struct timer signalling; /* armed: signals are waiting, one bit each */
	uint64_t signals;
	struct process_source out[PROCESS_OUTPUTS];
	struct process_sink in;
	struct process_killing killing;
	struct wait_queue followers;
	struct process_exit exit;
	struct later later;
	char detail[160]; /* of state FAILED */
	enum process_reason reason;
};

/* Work of the present batch of the loop that looks at all processes. */
struct process_turn {
	uint64_t batch; /* the number of the batch, plus 1 */
	uint64_t began; /* monotonic us */
	unsigned n;     /* snapshots in this batch */
};

struct processes {
	const struct processes_conf *conf;
	struct list list; /* in the order of their numbers */
	struct process_table table;
	unsigned running, exited; /* running includes STARTING */
	uint64_t output_bytes;    /* bytes of all outputs */
	struct process_turn kills, signals;
	unsigned kills_n,
		signals_n; /* processes that are killed; with signals that wait */
	bool stopping;
};

/* process.c */
extern const char process_prefix[]; /* of names in the store */
/* The name of a part of p in the store: "" for the record. */
void process_store_name(const struct process *p, const char *part, char out[STORE_NAME]);
int process_store(const struct process *p, const char *part, int fd) MUST_USE;
void process_store_drop(const struct process *p, const char *part);
/* Changes the state; no other function does. */
void process_enter(struct process *p, enum process_state to);
/* Calls the followers after the present batch. */
void process_wake(struct process *p);
/* A zeroed process in the list, without a record; NULL: out of memory. */
struct process *process_new(struct processes *all, uint64_t number);
/* Removes p from the list, and frees it after the batch. */
void process_del(struct process *p);
/* Removes exited processes beyond PROCESSES_EXITED. */
void processes_evict(struct processes *all);
/* The process with this number; NULL: there is none. */
struct process *process_find_number(const struct processes *all, uint64_t number);

/* process_record.c */
/* Makes the record of a new process. -errno. */
int process_record_make(struct process *p, const struct process_spec *spec) MUST_USE;
/* Takes fd over, the record of an earlier serve: 0 or -errno. */
int process_record_restore(struct process *p, int fd) MUST_USE;
void process_record_free(struct process *p);

/* Makes the pipe of fd larger, once, when many bytes have passed; fails silently. */
void process_widen_pipe(bool *wide, int fd, uint64_t moved);

/* process_output.c */
/* Watches a pipe or the pty as output no. -errno. */
int process_source_watch(struct process *p, unsigned no) MUST_USE;
/* To be called at the exit: records the end of what was written before. */
void process_source_mark_exit(struct process *p);
void process_source_close(struct process *p, unsigned no);
/* Continues to read a paused output if there is space. */
void process_source_resume(struct process *p, unsigned no);
/* Frees the spools, and subtracts their bytes from all->kept. */
void process_sources_free(struct process *p);

/* process_stdin.c */
int process_sink_watch(struct process *p) MUST_USE;
/* Completes the step of the stage that a crash has interrupted. */
void process_sink_restore(struct process *p);
void process_sink_close(struct process *p);

/* process_end.c */
void process_on_exit(struct process *p, int status);
/* Copies the exit from the record. */
void process_set_exit(struct process *p);
void process_end_timers(struct process *p);
void process_arm_timeout(struct process *p);
/* Kills the child if it has not executed the program within PROCESS_START_MS. */
void process_arm_start(struct process *p);
/* After a crash of serve: waits for an owner, see process_own. */
void process_await_owner(struct process *p);

/* process_start.c */
void process_on_child_exit(struct child *c, int status);

#endif
