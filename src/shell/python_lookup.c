#include "shell/python_lookup.h"

#include "base/fd.h"
#include "codec/mark.h"
#include "proc/job.h"
#include "proc/which.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	LOOKUP_MS = 2000,       /* per lookup; a cold disk needs some milliseconds */
	LOOKUP_AGAIN_MS = 1000, /* until the next one for the same PATH */
};

struct python_job {
	struct job job;
	struct later later;
	struct python_lookup *lookup;
	pid_t pid;
	struct str path; /* the bytes follow */
	char bytes[];
};

/* A job that was killed, and may not have ended yet. */
static pid_t stuck;

static int python_job_run(void *arg, int in, int out)
{
	const struct python_job *j = arg;
	struct str rest = j->path;
	char program[FILE_PATH_MAX];

	(void)in;
	while (rest.n) {
		struct str dir = str_cut(&rest, ':');
		int n = snprintf(program, sizeof(program), "%.*s/python", STR_ARG(dir));

		if (dir.n && dir.p[0] == '/' && n < (int)sizeof(program) &&
			which_is_program(program) && access(program, X_OK) == 0)
			return fd_write_all(out, program, (size_t)n);
	}
	return 0;
}

static void python_job_free(struct later *later)
{
	free(container_of(later, struct python_job, later));
}

static void python_lookup_drop_job(struct python_lookup *k)
{
	struct python_job *j = k->job;

	k->is_path_new = false;
	if (!j)
		return;
	k->job = NULL;
	job_free(&j->job);
	loop_defer_free(k->loop, &j->later, python_job_free);
}

static void python_job_on_done(struct job *job)
{
	struct python_job *j = container_of(job, struct python_job, job);
	struct python_lookup *k = j->lookup;
	size_t n = job->outcome == JOB_DONE && job->out.n < PYTHON_PATH ? job->out.n : 0;

	if (n)
		memcpy(k->program, job->out.p, n);
	k->program[n] = '\0';
	if (job->outcome == JOB_TIMED_OUT)
		stuck = j->pid;
	python_lookup_drop_job(k);
	k->done(k);
}

static bool python_job_is_stuck(void)
{
	if (stuck && kill(stuck, 0) < 0 && errno == ESRCH)
		stuck = 0;
	return stuck != 0;
}

static struct python_job *python_job_new(struct python_lookup *k, struct str path)
{
	struct python_job *j =
		python_job_is_stuck() ? NULL : calloc(1, sizeof(*j) + path.n);

	if (!j)
		return NULL;
	memcpy(j->bytes, path.p, path.n);
	j->path = str_make(j->bytes, path.n);
	j->lookup = k;
	return j;
}

static int python_job_start(struct python_lookup *k, struct str path)
{
	static const struct job_ops ops = {.done = python_job_on_done};
	struct job_conf conf = {
		.ops = &ops,
		.user = k->user,
		.work = python_job_run,
		.ms = LOOKUP_MS,
		.out_max = FILE_PATH_MAX,
		.kind = JOB_LONG,
	};
	struct python_job *j = python_job_new(k, path);
	int r;

	if (!j)
		return -ENOMEM;
	conf.arg = j;
	r = job_start(&j->job, k->loop, &conf);
	if (r) {
		free(j);
		return r;
	}
	j->pid = job_pid(&j->job);
	k->job = j;
	return 0;
}

void python_lookup_start(
	struct python_lookup *k, struct str path, char program[PYTHON_PATH])
{
	bool same = str_eq(path, k->job ? k->job->path : buf_view(&k->path));

	if (same && (k->job || loop_now(k->loop) < k->again))
		return;
	python_lookup_drop_job(k);
	k->program = program;
	if (!same)
		program[0] = '\0';
	buf_reset(&k->path);
	buf_str(&k->path, path);
	k->again = loop_now(k->loop) + LOOKUP_AGAIN_MS;
	k->is_path_new = python_job_start(k, path) == 0 && !same;
}

void python_lookup_init(struct python_lookup *k, struct loop *l,
	const struct spawn_user *user, void (*done)(struct python_lookup *k))
{
	*k = (struct python_lookup){.loop = l, .user = user, .done = done};
	buf_init(&k->path, MARK_BODY_MAX);
}

void python_lookup_free(struct python_lookup *k)
{
	python_lookup_drop_job(k);
	buf_free(&k->path);
}
