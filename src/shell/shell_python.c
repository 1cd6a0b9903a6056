/*
 * Finds the program "python" on the PATH of a session: py_interpreter_path in the wire
 * contract.
 *
 * The user sets the PATH, which may lead to a disk that does not answer. So a job with
 * the user's rights does the lookup, after a prompt. If the PATH is a new one, the
 * command's end is reported when the job has ended; otherwise the last result is used
 * until then. A job that cannot be killed occupies a process of the table of jobs, so no
 * other lookup starts until that process has ended.
 */
#include "shell/shell_private.h"

#include "base/fd.h"
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

struct shell_lookup {
	struct job job;
	struct later later;
	struct shell *shell;
	pid_t pid;
	struct str path; /* the bytes follow */
	char bytes[];
};

/* A job that was killed, and may not have ended yet. */
static pid_t stuck;

static int shell_lookup_run(void *arg, int in, int out)
{
	const struct shell_lookup *k = arg;
	struct str rest = k->path;
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

static void shell_lookup_free(struct later *later)
{
	free(container_of(later, struct shell_lookup, later));
}

void shell_drop_lookup(struct shell *s)
{
	struct shell_lookup *k = s->lookup;

	if (!k)
		return;
	s->lookup = NULL;
	job_free(&k->job);
	loop_defer_free(s->loop, &k->later, shell_lookup_free);
}

static void shell_lookup_on_done(struct job *j)
{
	struct shell_lookup *k = container_of(j, struct shell_lookup, job);
	struct shell *s = k->shell;
	size_t n = j->outcome == JOB_DONE && j->out.n < sizeof(s->rec->python) ? j->out.n
									       : 0;
	bool due = s->done_due;

	if (n)
		memcpy(s->rec->python, j->out.p, n);
	s->rec->python[n] = '\0';
	if (j->outcome == JOB_TIMED_OUT)
		stuck = k->pid;
	shell_drop_lookup(s);
	s->done_due = s->awaits_python = false;
	if (due && s->rec->state == SHELL_DONE)
		s->ops.done(s->arg);
}

static bool shell_lookup_is_stuck(void)
{
	if (stuck && kill(stuck, 0) < 0 && errno == ESRCH)
		stuck = 0;
	return stuck != 0;
}

static struct shell_lookup *shell_lookup_new(struct shell *s, struct str path)
{
	struct shell_lookup *k =
		shell_lookup_is_stuck() ? NULL : calloc(1, sizeof(*k) + path.n);

	if (!k)
		return NULL;
	memcpy(k->bytes, path.p, path.n);
	k->path = str_make(k->bytes, path.n);
	k->shell = s;
	return k;
}

static int shell_lookup_start(struct shell *s, struct str path)
{
	static const struct job_ops ops = {.done = shell_lookup_on_done};
	struct job_conf conf = {
		.ops = &ops,
		.user = s->setup.user,
		.work = shell_lookup_run,
		.ms = LOOKUP_MS,
		.out_max = FILE_PATH_MAX,
		.kind = JOB_LONG,
	};
	struct shell_lookup *k = shell_lookup_new(s, path);
	int r;

	if (!k)
		return -ENOMEM;
	conf.arg = k;
	r = job_start(&k->job, s->loop, &conf);
	if (r) {
		free(k);
		return r;
	}
	k->pid = job_pid(&k->job);
	s->lookup = k;
	return 0;
}

void shell_find_python(struct shell *s, struct str path)
{
	bool same = s->lookup ? str_eq(path, s->lookup->path)
			      : str_eq(path, buf_view(&s->searched));

	if (same && (s->lookup || loop_now(s->loop) < s->search_again))
		return;
	shell_drop_lookup(s);
	if (!same)
		s->rec->python[0] = '\0';
	buf_reset(&s->searched);
	buf_str(&s->searched, path);
	s->search_again = loop_now(s->loop) + LOOKUP_AGAIN_MS;
	s->awaits_python = shell_lookup_start(s, path) == 0 && !same;
}

void shell_notify_done(struct shell *s)
{
	s->done_due = s->awaits_python;
	if (!s->done_due)
		s->ops.done(s->arg);
}
