#include "kernel/driver.h"

#include "base/clock.h"
#include "base/env.h"
#include "base/fd.h"
#include "base/log.h"
#include "kernel/driver_private.h"
#include "kernel/python.h"
#include "limits.h"
#include "proc/children.h"
#include "proc/tree.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* Sizes in bytes, times in milliseconds. */
enum {
	DRIVER_OUT_MAX = 64 << 20,  /* waiting for a kernel: code, escaped sixfold */
	DRIVER_JSON_MAX = 64 << 20, /* the decoded texts of one frame */
	DRIVER_HELLO_MS = 5000,     /* a silent program is no interpreter */
};

/*
 * The first lines, which every Python parses; too old versions end at the version
 * check. The driver itself follows as a frame.
 */
static const char boot[] =
	"import os,sys\n"
	"sys.version_info>=(3,6) or sys.exit('Python '+sys.version.split()[0]+"
	"' is too old')\n"
	"def read(n):\n"
	" b=b''\n"
	" while len(b)<n:\n"
	"  c=os.read(3,n-len(b))\n"
	"  c or os._exit(0)\n"
	"  b+=c\n"
	" return b\n"
	"os.set_inheritable(3,False)\n"
	"h=b'{\"t\":\"hello\"}'\n"
	"os.write(3,len(h).to_bytes(4,'little')+h)\n"
	"exec(compile(read(int.from_bytes(read(4),'little')),'<driver>','exec'),"
	"{'__name__':'_od_driver'})\n";

static void driver_launch_next(struct driver *d);
static void driver_send_sigint(struct runner *r);
static void driver_on_pause_end(struct timer *t);
static void driver_on_start_timeout(struct timer *t);
static void driver_escalate_interrupt(struct timer *t);

static struct driver *driver_of(struct runner *r)
{
	return container_of(r, struct driver, runner);
}

void driver_enter(struct driver *d, enum runner_state to)
{
	static const uint64_t patience[] = {
		[RUNNER_STARTING] = DRIVER_HELLO_MS,
		[RUNNER_LOADING] = RUNNER_START_MS,
		[RUNNER_STOPPING] = RUNNER_INTERRUPT_MS,
		[RUNNER_PAUSED] = 0,
	};
	timer_fn *const late[] = {
		[RUNNER_STARTING] = driver_on_start_timeout,
		[RUNNER_LOADING] = driver_on_start_timeout,
		[RUNNER_STOPPING] = driver_escalate_interrupt,
		[RUNNER_PAUSED] = driver_on_pause_end,
	};
	uint64_t ms;

	runner_enter(&d->runner, to);
	timer_cancel(d->loop, &d->timer);
	if (to >= ARRAY_LEN(late) || !late[to])
		return;
	ms = to == RUNNER_PAUSED ? d->runner.pause : patience[to];
	timer_set(d->loop, &d->timer, ms, late[to]);
}

/* --- End of the process ---------------------------------------------------------- */

static void driver_close_io(struct driver *d)
{
	loop_close(d->loop, &d->pipe);
	loop_close(d->loop, &d->channel);
	spawn_report_close(&d->report);
	driver_frames_free(&d->frames);
	buf_free(&d->out);
	arena_reset(&d->json);
}

void driver_kill(struct driver *d)
{
	if (d->dying || !d->runner.pid)
		return;
	d->dying = true;
	tree_kill_now(d->runner.pid);
}

static void driver_on_start_timeout(struct timer *t)
{
	struct driver *d = container_of(t, struct driver, timer);

	snprintf(d->last_error, sizeof(d->last_error), "%s was not ready in time",
		d->pythons[d->python_at]);
	driver_kill(d);
}

/* Sends a second SIGINT, then kills the process. */
static void driver_escalate_interrupt(struct timer *t)
{
	struct driver *d = container_of(t, struct driver, timer);

	if (d->interrupts++ == 1) {
		driver_send_sigint(&d->runner);
		timer_set(d->loop, &d->timer, RUNNER_KILL_MS, driver_escalate_interrupt);
		return;
	}
	log_info("kernel: a cell does not react to interrupts, so the kernel is killed");
	driver_kill(d);
}

/* --- Starting -------------------------------------------------------------------- */

static void driver_abandon_start(struct driver *d)
{
	char why[2 * DRIVER_WORDS];

	snprintf(why, sizeof(why), "no Python interpreter (3.6 or newer) was found%s%s",
		d->last_error[0] ? ": " : "", d->last_error);
	arena_reset(&d->search);
	timer_cancel(d->loop, &d->timer);
	runner_enter(&d->runner, RUNNER_NONE);
	d->runner.ops->none(d->runner.arg, why);
}

/*
 * Handles an end before the driver was ready: if IPython was being loaded, the
 * interpreter is tried without it; otherwise the next one is tried.
 */
static void driver_retry_start(struct driver *d)
{
	if (d->runner.state == RUNNER_LOADING && !d->without_ipython) {
		d->without_ipython = true;
	} else {
		d->without_ipython = false;
		d->python_at++;
	}
	driver_launch_next(d);
}

static void driver_on_exit(struct child *c, int status)
{
	struct driver *d = container_of(c, struct driver, child);
	int err = spawn_read_outcome(&d->report);
	bool busy;

	/* The rest of the process group is killed: its output has no reader any more. */
	kill(-d->runner.pid, SIGKILL);
	/* Reads the last output, which may include the frame of a cell's end. */
	d->dying = true;
	for (int i = 0, r = 0; r == 0 && d->channel.fd >= 0 && i < DRIVER_LAST_READS; i++)
		r = driver_read(d);
	driver_drain(d, DRIVER_PIPE);
	busy = d->runner.state == RUNNER_BUSY;
	driver_close_io(d);
	d->runner.pid = 0;
	d->dying = false;
	if (d->runner.state == RUNNER_STARTING || d->runner.state == RUNNER_LOADING) {
		if (!d->last_error[0] && err < 0)
			snprintf(d->last_error, sizeof(d->last_error), "%s: %s: %s",
				d->pythons[d->python_at], d->report.step, err_text(err));
		else if (!d->last_error[0])
			snprintf(d->last_error, sizeof(d->last_error),
				"%s ended during its start", d->pythons[d->python_at]);
		driver_retry_start(d);
		return;
	}
	log_warn("kernel: the Python process has ended (status %d) and is started again",
		status);
	runner_set_pause(&d->runner);
	d->runner.ops->died(d->runner.arg, status, busy);
	driver_enter(d, RUNNER_PAUSED);
}

static int driver_spawn_python(struct driver *d, const char *path, int out, int channel)
{
	const char *argv[] = {path, "-u", "-c", boot, NULL};
	struct spawn sp = {
		.path = path,
		.argv = argv,
		.env = d->env,
		.cwd = d->cwd,
		.tty = -1,
		.fds = {-1, out, out},
		.channel = channel,
		.dies_with_parent = true,
		.orphans_leave = true,
		.user = d->user,
	};
	pid_t pid;
	int r = spawn(&sp, &pid, &d->report);

	if (r == 0) {
		d->runner.starts++;
		d->runner.pid = pid;
		children_watch(&d->child, pid, driver_on_exit);
	}
	return r;
}

static int driver_launch(struct driver *d, const char *path)
{
	int out[2] = {-1, -1}, pair[2] = {-1, -1};
	int r = fd_pipe(out);

	if (r == 0)
		r = fd_socketpair(SOCK_STREAM, pair);
	if (r == 0)
		r = loop_add(d->loop, &d->pipe, out[0], EPOLLIN, driver_pipe_ready);
	if (r == 0) {
		out[0] = -1;
		r = loop_add(
			d->loop, &d->channel, pair[0], EPOLLIN, driver_channel_ready);
	}
	if (r == 0) {
		pair[0] = -1;
		driver_frames_init(&d->frames);
		r = driver_spawn_python(d, path, out[1], pair[1]);
	}
	for (int i = 0; i < 2; i++) {
		fd_close(&out[i]);
		fd_close(&pair[i]);
	}
	if (r < 0)
		driver_close_io(d);
	return r;
}

static void driver_launch_next(struct driver *d)
{
	for (; d->python_at < d->pythons_n; d->python_at++) {
		int r = driver_launch(d, d->pythons[d->python_at]);

		if (r == 0) {
			driver_enter(d, RUNNER_STARTING);
			return;
		}
		snprintf(d->last_error, sizeof(d->last_error), "%s: %s",
			d->pythons[d->python_at], err_text(r));
	}
	driver_abandon_start(d);
}

/* Searches for interpreters at each start, as they may come and go. */
static void driver_start_search(struct driver *d)
{
	arena_reset(&d->search);
	d->pythons_n = python_list(d->env, &d->search, d->pythons);
	d->python_at = 0;
	d->without_ipython = false;
	d->last_error[0] = '\0';
	driver_launch_next(d);
}

static void driver_on_pause_end(struct timer *t)
{
	driver_start_search(container_of(t, struct driver, timer));
}

static void driver_start(struct runner *r, struct str cwd)
{
	struct driver *d = driver_of(r);

	snprintf(d->cwd, sizeof(d->cwd), "%.*s", STR_ARG(cwd));
	r->pause = 0;
	/* The start is delayed until this call has returned. */
	driver_enter(d, RUNNER_PAUSED);
}

/* --- Cells ------------------------------------------------------------------------ */

static int driver_execute(struct runner *runner, struct str code, struct str cwd)
{
	struct driver *d = driver_of(runner);
	size_t before = d->out.n;
	bool moves;
	int r;

	if (d->dying)
		return -EAGAIN;
	d->cell_id++;
	moves = cwd.n < sizeof(d->cwd) && !str_eq(cwd, str_c(d->cwd));
	if (moves)
		driver_put(d, "chdir", "cwd", cwd);
	driver_put(d, "exec", "code", code);
	r = d->out.err;
	if (r) {
		d->out.err = 0;
		d->out.n = before;
		return r;
	}
	if (moves)
		snprintf(d->cwd, sizeof(d->cwd), "%.*s", STR_ARG(cwd));
	/* Output since the last cell is dropped: it is not of this cell. */
	driver_drain(d, DRIVER_PIPE);
	driver_enter(d, RUNNER_BUSY);
	driver_send(d);
	return 0;
}

/* A stopped process handles SIGINT only after SIGCONT. */
static void driver_send_sigint(struct runner *r)
{
	kill(-r->pid, SIGINT);
	kill(-r->pid, SIGCONT);
}

static void driver_interrupt(struct runner *r)
{
	struct driver *d = driver_of(r);

	driver_enter(d, RUNNER_STOPPING);
	cell_reset(&r->cell);
	d->interrupts = 1;
	driver_send_sigint(r);
}

static void driver_stop_process(struct runner *r)
{
	driver_kill(driver_of(r));
}

/* --- The object ------------------------------------------------------------------- */

static int driver_make_env(struct driver *d, const char *const *env)
{
	static const char *const more[] = {
		"PYTHONIOENCODING=utf-8:replace", "PYTHONUNBUFFERED=1", "MPLBACKEND=Agg"};

	d->env = env_copy(env, ARRAY_LEN(more), &d->env_memory);
	if (!d->env)
		return -ENOMEM;
	for (size_t i = 0; i < ARRAY_LEN(more); i++) {
		char name[32];

		snprintf(name, sizeof(name), "%.*s", (int)strcspn(more[i], "="), more[i]);
		if (!env_value(env, name))
			env_put(d->env, more[i]);
	}
	return 0;
}

static void driver_write_info(const struct runner *r, struct jw *w)
{
	const struct driver *d = container_of(r, struct driver, runner);

	jw_key(w, "python");
	jw_cstr(w, r->python);
	jw_key(w, "version");
	jw_cstr(w, d->version);
	jw_key(w, "mode");
	jw_cstr(w, d->mode);
	if (!d->plain_reason[0])
		return;
	jw_key(w, "plain_because");
	jw_cstr(w, d->plain_reason);
}

static void driver_del(struct runner *r)
{
	struct driver *d = driver_of(r);

	children_forget(&d->child);
	if (r->pid)
		tree_kill_now(r->pid);
	timer_cancel(d->loop, &d->timer);
	driver_close_io(d);
	cell_free(&r->cell);
	arena_reset(&d->search);
	arena_reset(&d->env_memory);
	free(d);
}

static const struct runner_kind kind = {
	.start = driver_start,
	.execute = driver_execute,
	.interrupt = driver_interrupt,
	.send_interrupt = driver_send_sigint,
	.stop = driver_stop_process,
	.info = driver_write_info,
	.del = driver_del,
};

struct runner *driver_new(struct loop *l, const char *const *env,
	const struct spawn_user *user, struct str prepare, const struct runner_ops *ops,
	void *arg)
{
	struct driver *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	*d = (struct driver){
		.loop = l,
		.user = user,
		.prepare = prepare,
		.report.fd = -1,
		.pipe.fd = -1,
		.channel.fd = -1,
		.out = BUF_INIT(DRIVER_OUT_MAX),
	};
	runner_init(&d->runner, &kind, ops, arg);
	arena_init(&d->env_memory, IDENTITY_MEMORY_MAX);
	arena_init(&d->search, IDENTITY_MEMORY_MAX);
	arena_init(&d->json, DRIVER_JSON_MAX);
	if (driver_make_env(d, env) == 0)
		return &d->runner;
	driver_del(&d->runner);
	return NULL;
}
