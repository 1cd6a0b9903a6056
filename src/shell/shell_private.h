/* The inside of a shell session, shared by the shell_*.c files. */
#ifndef SHELL_SHELL_PRIVATE_H
#define SHELL_SHELL_PRIVATE_H

#include "codec/mark.h"
#include "codec/vt/vt.h"
#include "limits.h"
#include "proc/children.h"
#include "proc/inspect.h"
#include "shell/handover.h"
#include "shell/shell.h"
#include "shell/shell_end.h"
#include "shell/spool.h"
#include "shell/tty_folder.h"

/* The limits of a session, sizes in bytes. */
enum {
	SHELL_AWAKE_US = 200,  /* most commands take less, our work included */
	SHELL_KEY_MS = 300,    /* from a key that interrupts to the prompt */
	SHELL_LINE_MAX = 4094, /* without the newline: the kernel drops the rest */
	SHELL_TAG_MAX = 64,    /* an id of an action */
};

/* Stored in the spool: the state that the next process needs if this one is killed. */
struct shell_record {
	enum shell_state state;
	pid_t pid; /* 0: no shell */
	char nonce[MARK_NONCE + 1];
	char id[MARK_ID + 1]; /* of the command, or of the start */
	bool started;         /* its start mark has come */
	bool typed_in;        /* in lines, as by a person; its first line has a prompt */
	bool text_done;       /* its text has been executed; the prompt is due */
	bool edits;          /* the shell has a line editor: no text is typed unchanged */
	bool ended;          /* the shell has ended with status */
	bool maybe_reported; /* the result may have been reported before a crash */
	int no_tty;          /* -errno for which the shell has a socket; 0: a pty */
	bool poor_tty;       /* gVisor's: no /dev/tty, and no key erases its line */
	int status;          /* of the last command */
	int64_t background;  /* process of the last background job, -1 for none */
	unsigned reports;    /* made about the present command */
	uint64_t reported;   /* raw bytes covered by them */
	uint64_t begun;      /* raw bytes before the present command */
	uint64_t entered;    /* when the state began, monotonic ms */
	bool exited;         /* the shell was reaped; its last output is being read */
	int exit_status;     /* its wait status, if exited */
	bool oom_known;      /* oom_before is known */
	uint64_t oom_before; /* OOM kills of the sandbox before the command */
	uint64_t oom_kills;  /* OOM kills of the sandbox during the command */
	char command[SHELL_COMMAND_SHOWN + 1];
	char tag[SHELL_TAG_MAX + 1]; /* of the command; "": none */
	char handover[HANDOVER_PATH];
	char python[1024];
	char cwd[SHELL_CWD_MAX]; /* last, because unwritten pages cost no memory */
};
_Static_assert(sizeof(struct shell_record) <= SPOOL_STATE, "the record fits its place");

/* The end of the session from outside, under way while fn is set. */
struct shell_ending {
	struct timer timer;
	shell_ended_fn *fn;
	void *arg;
	struct tree tree; /* root: the shell at the beginning */
	bool at_prompt;   /* the shell was idle then */
	size_t rung;
	uint64_t until; /* end of the rung; 0: the rung begins */
	uint64_t pause; /* to the next look */
	size_t most;    /* processes seen at a time, without the shell */
};

/* After a crash, while the terminal model is fed again with the output of the spool. */
struct shell_restoring {
	struct timer timer; /* of the next step */
	uint64_t at;        /* offset in the spool up to which all is shown */
	bool under_way;
	bool exited; /* the shell has ended meanwhile, with status */
	int status;
};

struct shell_lookup;

/* The shell has ended, and its last output is being read. */
struct shell_exit {
	bool under_way;
	int code;
	size_t bytes; /* read since */
};

/* After a key: checks whether the shell hangs because of it. */
struct shell_hang {
	struct timer timer;
	uint64_t pause;               /* to the next look */
	char where[INSPECT_TEXT_MAX]; /* of the hang seen last; "" for none */
};

struct shell {
	struct loop *loop;
	struct store *store;
	struct shell_setup setup;
	struct shell_ops ops;
	void *arg;

	struct shell_record *rec;
	struct spool spool;
	struct mark_splitter marks;
	struct vt *vt;
	struct vt_mark shown;

	int master; /* of the pty, or our end of a socket instead; -1: none */
	struct io io;
	struct child child;
	struct spawn_report report; /* of the shell that is starting */
	struct timer timer;         /* of the state, or of the prompt after a command */
	unsigned prompts;           /* shown since a command was typed in */
	bool clean;                 /* this start leaves start-up files out */
	bool in_folder;             /* the shell starts in the folder of tty_folder.h */
	bool cancelled;             /* the command, before the shell took it */
	int verdict;  /* status of the command if we kill the shell; 0: the shell's */
	bool probing; /* an empty line has been typed, to see the prompt again */
	bool lost;    /* no start mark has come: the shell needs its set-up again */
	uint64_t reported; /* raw bytes covered by reports, confirmed or not */
	struct buf fresh;  /* output in the bytes that are being fed */
	struct buf line;   /* of the command, until it has started */
	struct buf typed;  /* input that the terminal has not taken yet */
	const char *note;
	bool tty_reported; /* the missing terminal has been reported */
	struct shell_ending end;
	struct shell_hang hang;
	struct shell_restoring restoring;
	struct shell_exit exit;
	struct timer turn; /* feeds the backlog, see shell_read.c */
	uint64_t fed;      /* bytes of the spool that were fed */
	struct list followers;
	struct shell_lookup *lookup; /* of python; NULL: none runs, see shell_python.c */
	struct buf searched;         /* the PATH of the last one */
	uint64_t search_again;  /* earliest time of the next lookup for the same PATH */
	bool awaits_python;     /* ops.done waits for the lookup... */
	bool done_due;          /* ...and is due */
	uint64_t dropped_bytes; /* bytes of output before offset 0 of the spool */
};

/* The only function that changes the state; an illegal change asserts. */
void shell_set_state(struct shell *s, enum shell_state to);
/* The entry of the session in the fd store: kind is "pty" or "spool". */
void shell_store_name(const struct shell *s, const char *kind, char out[STORE_NAME]);

/* Drops the bytes before offset from in the spool. */
void shell_drop_output(struct shell *s, uint64_t from);
/*
 * Notifies the followers of output or another state. gone: the session is being deleted.
 */
void shell_notify_followers(struct shell *s, bool gone);
/* Has the loop watch the pty. */
int shell_watch(struct shell *s) MUST_USE;
/* Closes the pty: any process that still reads from it gets a hang-up. */
void shell_close_pty(struct shell *s);
/* Kills the shell and all processes of its session. */
void shell_kill(struct shell *s);
/* Types the line of the command again, because it has not reached the shell. */
void shell_retype_line(struct shell *s);
/* RUNNING, at a prompt: whether it is the prompt of the line before a typed-in text. */
bool shell_is_lead(struct shell *s);
/* Sets the state's deadline. */
void shell_arm(struct shell *s, uint64_t ms, timer_fn *fn);
/* Types the set-up again; the mark of its prompt has the present id. */
void shell_retype_setup(struct shell *s);
/*
 * Types an empty line to a shell that may not have received its line: it shows a prompt.
 */
void shell_probe(struct timer *t);

/*
 * RUNNING, after an interrupt key: checks at growing intervals whether the shell sleeps
 * in a lock that no process will release. If so, the shell is killed, and its command
 * ends with the status of SIGINT.
 */
void shell_expect_hang(struct shell *s);

/* GONE, after a start that failed: starts again, without the user's start-up files. */
void shell_start_clean(struct shell *s);
/* As shell_start_clean, in "/", because the shell did not enter its directory in time. */
void shell_start_in_root(struct shell *s);
/* Begins a new command: output that came before and was not taken belongs to it. */
int shell_begin(struct shell *s, struct str tag) MUST_USE;
/* Writes as much of the input as the terminal takes now. */
int shell_flush(struct shell *s) MUST_USE;
/* Removes the file of the command if it still exists. */
void shell_remove_handover(struct shell *s);
/* The command has ended: DONE. */
void shell_finish(struct shell *s);

/* Stores the command for shell_command. */
void shell_store_command(struct shell *s, struct str command);
/* A random id for a command. */
int shell_new_id(char id[MARK_ID + 1]) MUST_USE;
/*
 * The foreground process group, or -errno. If the terminal does not report it, this is a
 * guess: the group of the newest process that the shell has started.
 */
pid_t shell_get_foreground(const struct shell *s) MUST_USE;
/* True while only the shell itself can read what is typed now. */
bool shell_is_foreground(const struct shell *s);
/* Whether /dev/tty leads to the shell's terminal. */
bool shell_is_tty_reachable(const struct shell *s);
/* Writes a whole line to the terminal; -errno if the terminal takes less. */
int shell_type_line(struct shell *s, struct str line) MUST_USE;
/* The offset after all bytes that were taken for data or for a mark. */
uint64_t shell_get_fed(const struct shell *s);
/* Whether bytes of the spool wait for their turn. */
bool shell_has_backlog(const struct shell *s);
/*
 * Feeds bytes to the mark splitter and the terminal model until the model has done
 * SHELL_WORK more units of work, and returns how many bytes were taken. *shown is set
 * when they held something to show.
 */
size_t shell_feed(struct shell *s, struct str in, bool *shown);
/* Feeds all bytes. */
void shell_feed_all(struct shell *s, struct str in);
/* Adds bytes to the spool as if the terminal had printed them, and feeds them. */
void shell_print(struct shell *s, struct str bytes);
/* After the answer: output after the last report belongs to the next command. */
void shell_carry_output(struct shell *s);
/* Finds the program python on PATH, without waiting for a disk. */
void shell_find_python(struct shell *s, struct str path);
/* Cancels a lookup that runs. */
void shell_drop_lookup(struct shell *s);
/* The command has ended: calls ops.done, at once or when python is known. */
void shell_notify_done(struct shell *s);
/* Handles a mark; see mark.h. */
void shell_on_mark(struct shell *s, const struct mark_event *e);
/* The shell has ended: reads the rest of its output, then calls shell_finish_exit. */
void shell_drain_output(struct shell *s);
/* before: the state when the shell ended. */
void shell_finish_exit(struct shell *s, enum shell_state before);

#endif
