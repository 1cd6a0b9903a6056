/* Answers to run requests, made from the shell that the command runs in. */
#ifndef ACT_RUN_ANSWER_H
#define ACT_RUN_ANSWER_H

#include "act/act.h"
#include "term/shell.h"

struct run_answer {
	struct act *act;
	struct shell *shell;
	struct str command; /* as it was sent */
	struct buf *before; /* what an earlier command has left, shown first; or NULL */
	bool hidden;
	bool once; /* the shell ends with the command: nothing to say of a next one */
};

/* DONE: takes the result and observes it, with the output not reported so far. */
void run_answer_finished(const struct run_answer *r);
/*
 * RUNNING: observes the output not reported so far. refused: the request was not
 * about this command; suffix says why the answer comes now.
 */
void run_answer_running(const struct run_answer *r, bool refused, struct str suffix);
/* Nothing was run and nothing is reported: words as content or suffix. */
void run_answer_words(
	struct act *a, struct str command, struct str content, struct str suffix);

#endif
