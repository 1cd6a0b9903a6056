/* Actions on files, each in a job with the sandbox user's rights. */
#ifndef ACTION_FILE_JOB_H
#define ACTION_FILE_JOB_H

#include "action/act.h"

struct file_task {
	/*
	 * In the job: observes, from a->work and other members of a; a->out belongs to
	 * the job. The bytes written to kept arrive in the callback kept below. 0 or
	 * -ENOMEM.
	 */
	int (*work)(struct act *a, struct buf *kept);
	/* In the server, before the answer, also if the client has disconnected. */
	void (*on_result)(struct str kept);
	/*
	 * The task changes a file. It goes on if the client disconnects, and waits for an
	 * earlier change of the same path.
	 */
	bool changes;
};

/*
 * Starts the task, and answers a. For a change, path is the key by which changes queue.
 * ACT_WAIT; ACT_DONE with an error observed; -ENOMEM.
 */
int file_job_start(struct act *a, const struct file_task *t, struct str path) MUST_USE;
/* For struct action.abandon. */
void file_job_abandon(struct act *a);
/* Answers all waiting requests and kills their jobs; for shutting down. */
void file_job_end_all(void);

#endif
