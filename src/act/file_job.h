/* Actions on files, each in a job with the sandbox user's rights. */
#ifndef ACT_FILE_JOB_H
#define ACT_FILE_JOB_H

#include "act/act.h"

struct file_task {
	/*
	 * In the job: observes, from a->work and what else of a it likes; a->out is its
	 * own. What it puts into kept comes back to kept below. 0 or -ENOMEM.
	 */
	int (*work)(struct act *a, struct buf *kept);
	/* In the server, before the answer, whether or not somebody still wants it. */
	void (*kept)(struct str kept);
	/*
	 * It changes a file: goes on when the one who asked has left, and waits for a
	 * change before it of the same path.
	 */
	bool changes;
};

/*
 * Starts the task, and answers a. path, for a change, is what others wait for.
 * ACT_WAIT; ACT_DONE with an error observed; -ENOMEM.
 */
int file_job_start(struct act *a, const struct file_task *t, struct str path) MUST_USE;
/* For struct action.abandon. */
void file_job_abandon(struct act *a);
/* Answers all who wait and kills their jobs; for shutting down. */
void file_job_cut(void);

#endif
