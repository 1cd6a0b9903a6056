/*
 * The state machine of a session, for the files that make its steps. A part with a state
 * of its own is an object with its own header: the terminal (shell_tty.h), the output
 * (shell_output.h), the restore after a crash, the check for a hang, the end from
 * outside, the lookup of python. The files:
 *
 *   shell.c         the states, the marks that change them, the exit of the shell
 *   shell_read.c    turns of the loop: output from the terminal to the marks
 *   shell_submit.c  IDLE to RUNNING: passes a command to the shell
 *   shell_input.c   RUNNING: input, keys and signals
 *   shell_start.c   NONE to STARTING, and what follows if the start fails
 *   shell_adopt.c   goes on in the state in which an earlier process was killed
 *   shell_follow.c  what observers read; changes nothing
 */
#ifndef SHELL_SHELL_PRIVATE_H
#define SHELL_SHELL_PRIVATE_H

#include "limits.h"
#include "proc/children.h"
#include "shell/handover.h"
#include "shell/python_lookup.h"
#include "shell/shell_end.h"
#include "shell/shell_hang.h"
#include "shell/shell_output.h"
#include "shell/shell_restore.h"
#include "shell/shell_tty.h"

/* The limits of a session, sizes in bytes. */
enum {
	SHELL_AWAKE_US = 200, /* most commands take less, our work included */
	SHELL_KEY_MS = 300,   /* from a key that interrupts to the prompt */
	SHELL_TAG_MAX = 64,   /* an id of an action */
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
	int no_pty;          /* see struct shell_tty */
	bool poor_tty;       /* the same */
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
	char python[PYTHON_PATH];
	char cwd[SHELL_CWD_MAX]; /* last, because unwritten pages cost no memory */
};
_Static_assert(sizeof(struct shell_record) <= SPOOL_STATE, "the record fits its place");

/* The shell has ended, and its last output is being read. */
struct shell_exit {
	bool under_way;
	int code;
	size_t bytes; /* read since */
};

struct shell {
	struct loop *loop;
	struct store *store;
	struct shell_setup setup;
	struct shell_ops ops;
	void *arg;

	struct shell_record *rec;
	struct shell_tty tty;
	struct shell_output output;
	struct shell_restore restore;
	struct shell_hang hang;
	struct python_lookup lookup;
	struct shell_end end;
	shell_ended_fn *ended; /* NULL: the session does not end */
	void *ended_arg;
	struct list followers;

	struct child child;
	struct spawn_report report; /* of the shell that is starting */
	struct timer timer;         /* of the state, or of the prompt after a command */
	struct timer turn;          /* feeds the backlog, see shell_read.c */
	struct shell_exit exit;
	unsigned prompts;  /* shown since a command was typed in */
	bool clean;        /* this start leaves start-up files out */
	bool in_folder;    /* the shell starts in the folder of tty_folder.h */
	bool cancelled;    /* the command, before the shell took it */
	bool probing;      /* an empty line has been typed, to see the prompt again */
	bool lost;         /* no start mark has come: the shell needs its set-up again */
	bool done_due;     /* ops.done waits for the lookup of python */
	bool tty_reported; /* the missing terminal has been reported */
	int verdict;     /* status of the command if we kill the shell; 0: the shell's */
	struct buf line; /* of the command, until it has started */
	const char *note;
};

/* --- shell.c --- */

/* The only function that changes the state; an illegal change asserts. */
void shell_set_state(struct shell *s, enum shell_state to);
/* Sets the state's deadline. */
void shell_arm(struct shell *s, uint64_t ms, timer_fn *fn);
/* The entry of the session in the fd store: kind is "pty" or "spool". */
void shell_store_name(const struct shell *s, const char *kind, char out[STORE_NAME]);
/* Closes the pty: any process that still reads from it gets a hang-up. */
void shell_close_pty(struct shell *s);
/* Kills the shell and all processes of its session. */
void shell_kill(struct shell *s);
/* Removes the file of the command if it still exists. */
void shell_remove_handover(struct shell *s);
/* The command has ended: DONE. */
void shell_finish(struct shell *s);
/* The command has ended: calls ops.done, at once or when python is known. */
void shell_notify_done(struct shell *s);
/* The last output of the shell is read. before: the state when the shell ended. */
void shell_finish_exit(struct shell *s, enum shell_state before);

/* --- shell_read.c --- */

/* Called by the loop when the terminal has output or takes input. */
io_fn shell_on_tty_ready;
/* The shell has ended: reads the rest of its output, then calls shell_finish_exit. */
void shell_drain_output(struct shell *s);
/* The backlog has its turn after the other events that wait in the loop. */
void shell_arm_turn(struct shell *s);
/* Writes input to the terminal, unless the shell would read it ahead. */
int shell_flush(struct shell *s) MUST_USE;

/* --- shell_submit.c --- */

/* Begins a new command: output that came before and was not taken belongs to it. */
int shell_begin(struct shell *s, struct str tag, struct str command) MUST_USE;
/* Types the line of the command again, because it has not reached the shell. */
void shell_retype_line(struct shell *s);
/* Types the set-up again; the mark of its prompt has the present id. */
void shell_retype_setup(struct shell *s);
/*
 * Types an empty line to a shell that may not have received its line: it shows a prompt.
 */
void shell_probe(struct timer *t);
/* RUNNING, at a prompt: whether it is the prompt of the line before a typed-in text. */
bool shell_is_lead(struct shell *s);
/* A random id for a command. */
int shell_new_id(char id[MARK_ID + 1]) MUST_USE;

/* --- shell_start.c --- */

/* The shell has ended while it was STARTING. */
void shell_on_start_exit(struct shell *s);

/* --- shell_follow.c --- */

/* Notifies the followers of output or another state. gone: the session is deleted. */
void shell_notify_followers(struct shell *s, bool gone);

#endif
