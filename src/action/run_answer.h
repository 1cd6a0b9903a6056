/* Answers to run requests, made from the shell that the command runs in. */
#ifndef ACTION_RUN_ANSWER_H
#define ACTION_RUN_ANSWER_H

#include "action/act.h"
#include "shell/shell.h"

struct run_answer {
	struct act *act;
	struct shell *shell;
	struct str command; /* as it was sent */
	struct buf *before; /* output of an earlier command, shown first; or NULL */
	bool hidden;
	bool is_static; /* the shell ends with the command: no advice follows */
};

/* DONE: takes the result and observes it, with the output not reported so far. */
void run_answer_finished(const struct run_answer *r);
/*
 * RUNNING: observes the output not reported so far. refused: the request did not concern
 * this command; suffix states why the answer comes now.
 */
void run_answer_running(const struct run_answer *r, bool refused, struct str suffix);
/* Nothing was run and nothing is reported: the text is the content or the suffix. */
void run_answer_text(
	struct act *a, struct str command, struct str content, struct str suffix);

#endif
