/* The inside of a shell session, shared by the shell_*.c files. */
#ifndef TERM_SHELL_PRIVATE_H
#define TERM_SHELL_PRIVATE_H

#include "limits.h"
#include "proc/children.h"
#include "proc/peek.h"
#include "term/handover.h"
#include "term/mark.h"
#include "term/shell.h"
#include "term/shell_end.h"
#include "term/spool.h"
#include "term/tty_folder.h"
#include "term/vt.h"

/* Lies in the spool: what the next process must know if this one is killed. */
struct record {
	enum shell_state state;
	pid_t pid; /* 0: no shell */
	char nonce[MARK_NONCE + 1];
	char id[MARK_ID + 1]; /* of the command, or of the start */
	bool started;         /* its start mark has come */
	bool typed_in;        /* as a person would, in lines: the first has a prompt */
	bool text_done;       /* its text has been executed; the prompt is due */
	bool edits;           /* it has a line editor: nothing is typed as it is */
	bool ended;           /* the shell has ended with status */
	bool again;           /* the result may have been told before a crash */
	int no_tty;           /* -errno for which the shell has a socket; 0: a pty */
	bool poor_tty;        /* gVisor's: no /dev/tty, and no key empties its line */
	int status;           /* of the last command */
	int64_t background;   /* process of the last background job, -1 for none */
	unsigned reports;     /* made about the present command */
	uint64_t reported;    /* raw bytes covered by them */
	uint64_t begun;       /* raw bytes before the present command */
	uint64_t entered;     /* when the state began, monotonic ms */
	bool exited;          /* the shell was reaped with this status, and its last */
	int exit_status;      /* output is being read */
	bool oom_known;       /* the count of OOM kills as the command began */
	uint64_t oom_before;  /* is this, */
	uint64_t oom_kills;   /* and so many came until it ended */
	char command[SHELL_COMMAND_SHOWN + 1];
	char tag[SHELL_TAG_MAX + 1]; /* of the command; "": none */
	char handover[HANDOVER_PATH];
	char python[1024];
	char cwd[SHELL_CWD_MAX]; /* last: what is never written costs no memory */
};
_Static_assert(sizeof(struct record) <= SPOOL_STATE, "the record fits its place");

/* Its end from outside, under way while there is a fn. */
struct shell_ending {
	struct timer timer;
	shell_ended_fn *fn;
	void *arg;
	struct tree tree; /* root: the shell that there was at the beginning */
	bool at_prompt;   /* it was idle then */
	size_t rung;
	uint64_t until; /* of the rung; 0: it has just been reached */
	uint64_t pause; /* to the next look */
	size_t most;    /* processes seen at once, without the shell */
};

/* After a crash, while the terminal model is shown again what it had seen. */
struct shell_restoring {
	struct timer timer; /* of the next step */
	uint64_t at;        /* what stands before in the spool has been shown */
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

/* After a key, whether the shell has hung itself up over it. */
struct shell_hang {
	struct timer timer;
	uint64_t pause;         /* to the next look */
	char where[PEEK_WHERE]; /* it hung at the last one; "" if it did not */
};

struct shell {
	struct loop *loop;
	struct store *store;
	struct shell_setup setup;
	struct shell_ops ops;
	void *arg;

	struct record *rec;
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
	bool in_folder;             /* it begins in the one of tty_folder.h */
	bool cancelled;             /* the command, before the shell took it */
	int verdict;      /* the command's code when we kill the shell; 0: as that ends */
	bool probing;     /* an empty line has been typed, to see the prompt again */
	bool lost;        /* the shell has told no start: it needs its set-up again */
	uint64_t told;    /* raw bytes covered by reports, confirmed or not */
	struct buf fresh; /* what was printed in the bytes that are looked at */
	struct buf line;  /* of the command, until it has started */
	struct buf typed; /* input that the terminal has not taken yet */
	const char *note;
	bool tty_told; /* that the shell has no terminal has been said */
	struct shell_ending end;
	struct shell_hang hang;
	struct shell_restoring restoring;
	struct shell_exit exit;
	struct timer turn; /* feeds the backlog, see shell_read.c */
	uint64_t fed;      /* bytes of the spool that were fed */
	struct shell_follower *followers;
	struct shell_lookup *lookup; /* of python; NULL: none runs, see shell_python.c */
	struct buf searched;         /* the PATH of the last one */
	uint64_t search_again;       /* the next one for the same PATH, at the earliest */
	bool awaits_python;          /* ops.done waits for the lookup... */
	bool done_due;               /* ...and is due */
	uint64_t forgotten;          /* bytes of output before offset 0 of the spool */
};

/* The one place that changes the state; what is not legal asserts. */
void shell_enter(struct shell *s, enum shell_state to);
/* The entry of the session in the fd store: kind is "pty" or "spool". */
void shell_store_name(const struct shell *s, const char *kind, char out[STORE_NAME]);

/* What stands before offset from in the spool is forgotten. */
void shell_forget(struct shell *s, uint64_t from);
/* There is news for those who look on. */
void shell_tell(struct shell *s, bool gone);
/* Has the loop look at the pty. */
int shell_watch(struct shell *s) MUST_USE;
/* Lets go of the pty: whoever still reads from it gets a hang-up. */
void shell_close_pty(struct shell *s);
/* Kills the shell and all processes of its session. */
void shell_kill(struct shell *s);
/* Types the line of the command, which has not reached the shell, once more. */
void shell_type_again(struct shell *s);
/* The command runs and shows a prompt: is it the one before its own text? */
bool shell_is_lead(struct shell *s);
/* Sets the state's deadline. */
void shell_arm(struct shell *s, uint64_t ms, timer_fn *fn);
/* Types the set-up once more; the mark of its prompt has the present id. */
void shell_set_up_again(struct shell *s);
/* Asks a shell that may have got its line, or may not, to show its prompt. */
void shell_probe(struct timer *t);

/*
 * RUNNING, and a key that interrupts was typed: looks in a while, and again at growing
 * distances, whether the shell sleeps where nobody can wake it. Such a one is killed,
 * and its command has ended by the key.
 */
void shell_expect_hang(struct shell *s);

/* GONE, after a start that failed: once more, without the user's start-up files. */
void shell_start_clean(struct shell *s);
/* The same, because it could not enter its directory in time: in "/". */
void shell_start_elsewhere(struct shell *s);
/* A new command: what came before it and was not taken belongs to it. */
int shell_begin(struct shell *s, struct str tag) MUST_USE;
/* Writes of the input what the terminal takes now. */
int shell_flush(struct shell *s) MUST_USE;
/* Takes the command's file away, if it is still there. */
void shell_remove_handover(struct shell *s);
/* The command has ended: DONE. */
void shell_finish(struct shell *s);

/* Notes the command for shell_command. */
void shell_remember(struct shell *s, struct str command);
/* A random id for a command. */
int shell_new_id(char id[MARK_ID + 1]) MUST_USE;
/*
 * The foreground process group, or -errno. A guess where the terminal does not tell it:
 * what the shell has started last.
 */
pid_t shell_front(const struct shell *s) MUST_USE;
/* True while nothing but the shell itself can take what is typed now. */
bool shell_is_in_front(const struct shell *s);
/* Whether /dev/tty leads to its terminal. */
bool shell_reaches_tty(const struct shell *s);
/* Writes one whole line to the terminal; -errno when it takes less. */
int shell_type_line(struct shell *s, struct str line) MUST_USE;
/* The offset behind all that was taken for data or for a mark. */
uint64_t shell_fed(const struct shell *s);
/* Whether bytes of the spool wait for their turn. */
bool shell_has_backlog(const struct shell *s);
/*
 * Feeds bytes to the mark splitter and the terminal model until the model has done
 * SHELL_WORK more units of work, and returns how many bytes were taken. *shown is set
 * when they held something to show.
 */
size_t shell_feed(struct shell *s, struct str in, bool *shown);
/* Feeds all of them. */
void shell_feed_all(struct shell *s, struct str in);
/* Adds bytes to the spool as if the terminal had printed them, and feeds them. */
void shell_print(struct shell *s, struct str bytes);
/* After the answer: what came after the last report is noise of the next command. */
void shell_keep_noise(struct shell *s);
/* Looks for the program python on PATH, without waiting for a disk. */
void shell_look_up_python(struct shell *s, struct str path);
/* Gives up a lookup that runs. */
void shell_drop_lookup(struct shell *s);
/* The command has ended: calls ops.done, at once or when python is known. */
void shell_notify_done(struct shell *s);
/* Handles a mark; see mark.h. */
void shell_on_mark(struct shell *s, const struct mark_event *e);
/* The shell has ended: reads what its terminal holds, then shell_finish_exit follows. */
void shell_read_last(struct shell *s);
/* before: the state when the shell ended. */
void shell_finish_exit(struct shell *s, enum shell_state before);

#endif
