#include "kernel/native.h"

#include "base/arena.h"
#include "base/env.h"
#include "base/fd.h"
#include "kernel/calls.h"
#include "limits.h"
#include "proc/children.h"
#include "proc/plugins_program.h"
#include "proc/tree.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { USAGE = 100 };

struct native {
	struct loop *loop;
	const struct spawn_user *user;
	native_done_fn *done;
	void *arg;
	struct arena memory; /* of env */
	const char **env;
	struct str folder; /* of the skills */

	bool busy;
	struct buf code;
	struct calls calls;
	struct calls_step step; /* the current step */
	struct cell cell;
	char cwd[FILE_PATH_MAX];

	pid_t pid; /* 0: none */
	struct child child;
	struct spawn_report report;
	struct io out;
	struct buf text; /* its output, if it is not shown unchanged */
};

static void native_run_steps(struct native *n);

/* --- What a skill prints ---------------------------------------------------------- */

static void native_put_output(struct native *n, struct str text)
{
	if (n->step.show == CALLS_TEXT || n->step.show == CALLS_TEXT_NONE)
		cell_put_text(&n->cell, text);
	else
		buf_str(&n->text, text);
}

/* Reads output. True: the pipe is at its end. */
static bool native_read_output(struct native *n, bool all)
{
	char room[4096];
	ssize_t got;

	do {
		got = n->out.fd < 0 ? 0 : read(n->out.fd, room, sizeof(room));
		if (got > 0)
			native_put_output(n, str_make(room, (size_t)got));
	} while (all && (got > 0 || (got < 0 && errno == EINTR)));
	return got == 0;
}

static void native_on_output(struct io *io, uint32_t events)
{
	struct native *n = container_of(io, struct native, out);

	(void)events;
	if (native_read_output(n, false))
		loop_close(n->loop, &n->out);
}

/* --- A call ------------------------------------------------------------------------ */

static void native_put_error(struct native *n, const char *what, const char *why)
{
	cell_put_text(&n->cell, str_c(what));
	cell_put_text(&n->cell, str_c(why));
}

/* Writes the output of a skill that could not be started because of err. */
static void native_put_failure(struct native *n, int err)
{
	struct buf why = BUF_INIT(2 * FILE_PATH_MAX);
	char path[FILE_PATH_MAX];
	int r = plugins_program_find(path);

	if (r)
		plugins_program_explain(path, r, &why);
	else
		buf_puts(&why, err_text(err));
	cell_put_text(&n->cell, STR("[The skill could not be started: "));
	cell_put_text(&n->cell, buf_view(&why));
	cell_put_text(&n->cell, STR("]"));
	buf_free(&why);
}

/* Shows the return value as Python does; false: an exception. */
static bool native_show_result(struct native *n, int status)
{
	struct buf repr = BUF_INIT(CALLS_STEP_MAX);
	struct str text = buf_view(&n->text);

	if (!WIFEXITED(status) || WEXITSTATUS(status) > 1) {
		if (WIFEXITED(status) && WEXITSTATUS(status) == USAGE)
			native_put_error(n, "ValueError: these are no arguments for ",
				n->step.skill);
		else
			native_put_error(
				n, "RuntimeError: it was ended: ", n->step.skill);
		return false;
	}
	if (n->step.show == CALLS_TEXT_NONE)
		cell_put_text(&n->cell, STR("None\n"));
	if (n->step.show != CALLS_REPR)
		return true;
	text.n -= str_ends(text, STR("\n"));
	calls_put_repr(&repr, text);
	cell_put_text(&n->cell,
		repr.err || n->text.err ? STR("[The result is too long to be shown.]")
					: buf_view(&repr));
	buf_free(&repr);
	return true;
}

static void native_finish(struct native *n)
{
	n->busy = false;
	calls_free(&n->calls);
	buf_free(&n->code);
	buf_free(&n->text);
	n->done(n->arg);
}

static void native_on_exit(struct child *c, int status)
{
	struct native *n = container_of(c, struct native, child);
	int err = spawn_read_outcome(&n->report);

	n->pid = 0;
	native_read_output(n, true);
	loop_close(n->loop, &n->out);
	spawn_report_close(&n->report);
	if (err < 0 && err != -EAGAIN && err != -EINTR) {
		native_put_failure(n, err);
		native_finish(n);
	} else if (native_show_result(n, status)) {
		native_run_steps(n);
	} else {
		native_finish(n);
	}
}

/* Writes the arguments to a memory file; returns its fd, at offset 0. */
static int native_write_arguments(const struct native *n)
{
	int fd = fd_create_memory("call", n->step.text.n);
	int r = fd < 0 ? fd : fd_write_all(fd, n->step.text.p, n->step.text.n);

	if (r == 0 && lseek(fd, 0, SEEK_SET) < 0)
		r = -errno;
	if (r < 0)
		fd_close(&fd);
	return r < 0 ? r : fd;
}

static int native_spawn(struct native *n, int in, int out)
{
	char path[FILE_PATH_MAX];
	const char *argv[] = {path, "--json", NULL};
	struct spawn sp = {
		.path = path,
		.argv = argv,
		.env = n->env,
		.cwd = n->cwd,
		.tty = -1,
		.fds = {in, out, out},
		.dies_with_parent = true,
		.orphans_leave = true,
		.user = n->user,
	};
	int len = snprintf(
		path, sizeof(path), "%.*s/%s", STR_ARG(n->folder), n->step.skill);
	int r;

	if (len < 0 || (size_t)len >= sizeof(path))
		return -ENAMETOOLONG;
	r = spawn(&sp, &n->pid, &n->report);
	if (r == 0)
		children_watch(&n->child, n->pid, native_on_exit);
	return r;
}

static int native_start_call(struct native *n)
{
	char program[FILE_PATH_MAX];
	int out[2] = {-1, -1};
	int r = plugins_program_find(program);
	int in = r ? r : native_write_arguments(n);

	/* Without od-plugins the last folder of PATH is not that of the skills. */
	if (in < 0)
		return in;
	r = fd_pipe(out);

	buf_reset(&n->text);
	if (r == 0)
		r = loop_add(n->loop, &n->out, out[0], EPOLLIN, native_on_output);
	if (r == 0) {
		out[0] = -1;
		r = native_spawn(n, in, out[1]);
	}
	if (r < 0)
		loop_close(n->loop, &n->out);
	fd_close(&in);
	fd_close(&out[0]);
	fd_close(&out[1]);
	return r;
}

/* Executes the steps that need no process, up to the next call. */
static void native_run_steps(struct native *n)
{
	int r;

	while ((r = calls_next(&n->calls, &n->step)) == 0) {
		if (n->step.kind == CALLS_SKILL) {
			r = native_start_call(n);
			if (r == 0)
				return;
			break;
		}
		cell_put_text(&n->cell, n->step.text);
		if (n->step.kind == CALLS_ERROR)
			break;
	}
	if (r < 0)
		native_put_failure(n, r);
	native_finish(n);
}

/* --- Cells ------------------------------------------------------------------------- */

int native_execute(struct native *n, struct str code, struct str cwd)
{
	int r = calls_check(code);

	assert(!n->busy);
	if (r)
		return r;
	buf_str(&n->code, code);
	if (n->code.err) {
		r = n->code.err;
		buf_free(&n->code);
		return r;
	}
	snprintf(n->cwd, sizeof(n->cwd), "%.*s", STR_ARG(cwd));
	cell_reset(&n->cell);
	calls_init(&n->calls, buf_view(&n->code));
	n->busy = true;
	native_run_steps(n);
	return 0;
}

void native_stop(struct native *n)
{
	if (!n->busy)
		return;
	children_forget(&n->child);
	if (n->pid)
		tree_kill_now(n->pid);
	n->pid = 0;
	loop_close(n->loop, &n->out);
	spawn_report_close(&n->report);
	n->busy = false;
	calls_free(&n->calls);
	buf_free(&n->code);
	buf_free(&n->text);
}

struct cell *native_cell(struct native *n)
{
	return &n->cell;
}

/*
 * The skills are in the last folder of the PATH. Their state is shared by all cells of
 * this kind.
 */
static bool native_make_env(struct native *n, const char *const *env)
{
	struct str path = str_c(env_value(env, "PATH"));

	while (path.n)
		n->folder = str_cut(&path, ':');
	n->env = env_copy(env, 1, &n->memory);
	if (!n->env)
		return false;
	env_put(n->env, "OD_SKILLS_ID=cells");
	return true;
}

struct native *native_new(struct loop *l, const char *const *env,
	const struct spawn_user *user, native_done_fn *done, void *arg)
{
	struct native *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	*n = (struct native){
		.loop = l,
		.user = user,
		.done = done,
		.arg = arg,
		.report.fd = -1,
		.out.fd = -1,
	};
	arena_init(&n->memory, IDENTITY_MEMORY_MAX);
	buf_init(&n->code, CALLS_STEP_MAX);
	buf_init(&n->text, CALLS_STEP_MAX);
	cell_init(&n->cell);
	if (native_make_env(n, env))
		return n;
	native_del(n);
	return NULL;
}

void native_del(struct native *n)
{
	if (!n)
		return;
	native_stop(n);
	cell_free(&n->cell);
	arena_reset(&n->memory);
	free(n);
}
