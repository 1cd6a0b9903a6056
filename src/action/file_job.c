#include "action/file_job.h"

#include "action/observe.h"

#include "base/fd.h"
#include "base/list.h"
#include "fs/path.h"
#include "limits.h"
#include "proc/job.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

/* Precedes the job's output; the observation and the kept data follow. */
struct head {
	size_t observation;
	size_t kept;
};

enum file_job_state {
	FILE_JOB_WAITING, /* for another change of the same file */
	FILE_JOB_RUNNING,
	FILE_JOB_ENDED, /* waits to be freed */
};

struct file_job {
	struct list node;
	enum file_job_state state;
	const struct file_task *task;
	struct act *act; /* NULL: the client has disconnected */
	struct loop *loop;
	struct job job;
	struct later later;
	union {
		struct head head;
		char bytes[sizeof(struct head)];
	} in;
	size_t got;   /* bytes received so far, including the head */
	size_t begin; /* length of act->out before the observation */
	struct buf kept;
	size_t path_n;
	char path[];
};

/* Oldest first. */
static struct list all;

static struct str file_job_get_path(const struct file_job *f)
{
	return str_make(f->path, f->path_n);
}

/* --- In the job --------------------------------------------------------------- */

static int file_job_run_task(void *arg, int in, int out)
{
	struct file_job *f = arg;
	struct act *a = f->act;
	struct buf observation = BUF_INIT(OBSERVATION_MAX);
	struct buf kept = BUF_INIT(OBSERVATION_MAX);
	struct head head;
	int r;

	(void)in;
	a->out = &observation;
	r = f->task->work(a, &kept);
	if (!r)
		r = observation.err ? observation.err : kept.err;
	head = (struct head){.observation = observation.n, .kept = kept.n};
	if (!r)
		r = fd_write_all(out, &head, sizeof(head));
	if (!r)
		r = fd_write_all(out, observation.p, observation.n);
	if (!r)
		r = fd_write_all(out, kept.p, kept.n);
	buf_free(&observation);
	buf_free(&kept);
	return r;
}

/* --- In the server ------------------------------------------------------------ */

static void file_job_start_next(struct str path);

static void file_job_free(struct later *l)
{
	free(container_of(l, struct file_job, later));
}

static void file_job_set_state(struct file_job *f, enum file_job_state to)
{
	assert(to > f->state);
	f->state = to;
	if (to != FILE_JOB_ENDED)
		return;
	list_remove(&f->node);
	job_free(&f->job);
	buf_free(&f->kept);
	loop_defer_free(f->loop, &f->later, file_job_free);
}

static void file_job_observe_error(struct file_job *f, const char *why, bool begun)
{
	struct act *a = f->act;

	if (!a)
		return;
	a->out->n = f->begin;
	observe_errorf(a, "The file could not be %s: %s.%s",
		f->task->changes ? "changed" : "read", why,
		f->task->changes && begun ? " It may have been changed all the same."
					  : "");
}

/* The observation is in act->out, or the client has disconnected. */
static void file_job_end(struct file_job *f)
{
	struct act *a = f->act;

	file_job_set_state(f, FILE_JOB_ENDED);
	if (!a)
		return;
	a->state = NULL;
	a->done(a);
}

static size_t file_job_min_size(size_t a, size_t b)
{
	return a < b ? a : b;
}

/*
 * Removes from the piece what belongs to the output before offset until, and returns it.
 */
static struct str file_job_split_piece(
	struct file_job *f, size_t until, struct str *piece)
{
	struct str part = *piece;

	part.n = until > f->got ? file_job_min_size(part.n, until - f->got) : 0;
	f->got += part.n;
	*piece = str_skip(*piece, part.n);
	return part;
}

static void file_job_on_output(struct job *j, struct str piece)
{
	struct file_job *f = container_of(j, struct file_job, job);
	size_t at = f->got;
	struct str part = file_job_split_piece(f, sizeof(f->in), &piece);

	if (part.n)
		memcpy(f->in.bytes + at, part.p, part.n);
	if (f->got < sizeof(f->in))
		return;
	part = file_job_split_piece(f, sizeof(f->in) + f->in.head.observation, &piece);
	if (f->act)
		buf_str(f->act->out, part);
	buf_str(&f->kept, piece);
	f->got += piece.n;
}

/* Ends the job, and starts the next one that waits for the file. */
static void file_job_finish(struct file_job *f)
{
	char path[FILE_PATH_MAX];
	size_t n = f->path_n;

	memcpy(path, f->path, n);
	file_job_end(f);
	file_job_start_next(str_make(path, n));
}

static void file_job_on_done(struct job *j)
{
	struct file_job *f = container_of(j, struct file_job, job);

	if (j->outcome != JOB_DONE)
		file_job_observe_error(
			f, job_outcome_text(j->outcome), !job_has_no_effect(j->outcome));
	else if (f->task->on_result && f->kept.n)
		f->task->on_result(buf_view(&f->kept));
	file_job_finish(f);
}

static int file_job_launch(struct file_job *f)
{
	static const struct job_ops ops = {
		.output = file_job_on_output, .done = file_job_on_done};
	uint64_t ms = act_timeout_ms(f->act);
	const struct job_conf conf = {
		.ops = &ops,
		.user = f->act->box->user,
		.work = file_job_run_task,
		.arg = f,
		.ms = !ms                        ? FILE_JOB_MS
			: ms < FILE_JOB_LEAST_MS ? FILE_JOB_LEAST_MS
						 : ms,
	};

	return job_start(&f->job, f->loop, &conf);
}

static struct file_job *file_job_find_change(struct str path)
{
	LIST_EACH (struct file_job, f, &all, node)
		if (f->task->changes && str_eq(file_job_get_path(f), path))
			return f;
	return NULL;
}

/* Starts the oldest change of path, unless it was started already. */
static void file_job_start_next(struct str path)
{
	struct file_job *f;

	while ((f = file_job_find_change(path)) && f->state == FILE_JOB_WAITING) {
		if (file_job_launch(f) == 0) {
			file_job_set_state(f, FILE_JOB_RUNNING);
			return;
		}
		file_job_observe_error(f, job_outcome_text(JOB_NO_START), false);
		file_job_end(f);
	}
}

static struct file_job *file_job_new(
	struct act *a, const struct file_task *t, struct str path)
{
	struct file_job *f = calloc(1, sizeof(*f) + path.n);

	if (!f)
		return NULL;
	f->task = t;
	f->act = a;
	f->loop = a->box->loop;
	f->begin = a->out->n;
	buf_init(&f->kept, OBSERVATION_MAX);
	f->path_n = path.n;
	if (path.n)
		memcpy(f->path, path.p, path.n);
	list_append(&all, &f->node);
	return f;
}

int file_job_start(struct act *a, const struct file_task *t, struct str path)
{
	bool wait = t->changes && file_job_find_change(path);
	struct file_job *f;
	int r = 0;

	assert(path.n < FILE_PATH_MAX);
	f = file_job_new(a, t, path);
	if (!f)
		return -ENOMEM;
	a->state = f;
	if (wait)
		return ACT_WAIT;
	r = file_job_launch(f);
	if (r == 0) {
		file_job_set_state(f, FILE_JOB_RUNNING);
		return ACT_WAIT;
	}
	file_job_observe_error(f,
		r == ERR_LIMIT ? "too many others wait for files; try again later"
			       : job_outcome_text(JOB_NO_START),
		false);
	a->state = NULL;
	file_job_set_state(f, FILE_JOB_ENDED);
	return ACT_DONE;
}

void file_job_abandon(struct act *a)
{
	struct file_job *f = a->state;

	if (!f)
		return;
	f->act = NULL;
	/* A change that has begun continues; its job has its own copy of a. */
	if (!f->task->changes || f->job.state != JOB_RUNS)
		file_job_finish(f);
}

void file_job_end_all(void)
{
	struct file_job *f;

	while ((f = LIST_FIRST(&all, struct file_job, node))) {
		file_job_observe_error(
			f, "the sandbox is shutting down", f->job.state == JOB_RUNS);
		file_job_end(f);
	}
}
