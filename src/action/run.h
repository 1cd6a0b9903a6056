/* A run request as a session handles it. */
#ifndef ACTION_RUN_H
#define ACTION_RUN_H

#include "action/act.h"
#include "base/list.h"
#include "shell/shell.h"

enum run_kind {
	RUN_POLL,         /* an empty command */
	RUN_KEY,          /* "C-x" for the program that reads the terminal */
	RUN_INPUT_KEY,    /* the same with is_input */
	RUN_INPUT,        /* text for the running program */
	RUN_COMMAND,      /* text for the shell */
	RUN_COMMAND_LIST, /* several commands, which are refused... */
	RUN_INPUT_LIST,   /* ...as input too */
	RUN_KINDS
};

/* Lives in its request's arena. */
struct run {
	struct list node; /* in the queue of the session */
	struct act *act;
	struct session *session;
	struct shell *shell;
	/* The observation of the request, which has the shell, is written. */
	void (*answered)(struct run *r);
	struct str command; /* without blanks at the ends */
	/* command with its leading blanks, as program text needs them */
	struct str input;
	enum run_kind kind;
	bool blocking;
	struct buf before; /* output of an earlier command, reported with this one */
	struct timer no_change;
	struct timer hard;
};

#endif
