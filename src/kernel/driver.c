#include "kernel/driver.h"

#include "base/arena.h"
#include "base/env.h"
#include "base/json.h"
#include "base/log.h"
#include "kernel/driver_frame.h"
#include "kernel/python.h"
#include "limits.h"
#include "proc/service.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

/* Sizes in bytes, times in milliseconds. */
enum {
	DRIVER_OUT_MAX = 64 << 20,  /* waiting for a kernel: code, escaped sixfold */
	DRIVER_JSON_MAX = 64 << 20, /* the decoded texts of one frame */
	DRIVER_HELLO_MS = 5000,     /* a silent program is no interpreter */
	DRIVER_WORDS = 512,
};

/* Its service is READY when the interpreter has sent hello. */
struct driver {
	struct runner runner;
	struct loop *loop;
	const struct spawn_user *user;
	struct arena env_memory;
	const char **env;
	struct str prepare; /* executed first */

	/* The interpreters to try. */
	struct arena search;
	const char *pythons[PYTHONS_MAX];
	size_t pythons_n, python_at;
	bool without_ipython; /* the current interpreter is tried without IPython */
	char last_error[DRIVER_WORDS];

	struct service service; /* its channel: frames */
	struct driver_frames frames;
	struct timer timer;
	unsigned interrupts;

	struct arena json;
	uint64_t cell_id;
	char cwd[FILE_PATH_MAX];
	char version[64], mode[16], plain_reason[DRIVER_WORDS];
};

static void driver_launch_next(struct driver *d);
static void driver_send_sigint(struct runner *r);
static void driver_on_pause_end(struct timer *t);
static void driver_on_load_timeout(struct timer *t);
static void driver_escalate_interrupt(struct timer *t);

static struct driver *driver_of(struct runner *r)
{
	return container_of(r, struct driver, runner);
}

static void driver_enter(struct driver *d, enum runner_state to)
{
	static const uint64_t patience[] = {
		[RUNNER_LOADING] = RUNNER_START_MS,
		[RUNNER_STOPPING] = RUNNER_INTERRUPT_MS,
		[RUNNER_PAUSED] = 0,
	};
	timer_fn *const late[] = {
		[RUNNER_LOADING] = driver_on_load_timeout,
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

/* --- Frames and text ------------------------------------------------------------- */

static bool driver_has_cell(const struct driver *d)
{
	return d->runner.state == RUNNER_BUSY;
}

static void driver_on_printed(struct service *s, struct str text)
{
	struct driver *d = container_of(s, struct driver, service);

	/* Output between cells is dropped. */
	if (driver_has_cell(d))
		cell_put_text(&d->runner.cell, text);
}

/* Adds a frame to those to be sent; the buffer keeps errors. key may be NULL. */
static void driver_put(
	struct driver *d, const char *op, const char *key, struct str value)
{
	struct buf body = BUF_INIT(DRIVER_FRAME_MAX * 2);
	struct jw w;

	jw_init(&w, &body);
	jw_object(&w);
	jw_key(&w, "op");
	jw_cstr(&w, op);
	jw_key(&w, "id");
	jw_uint(&w, d->cell_id);
	if (key) {
		jw_key(&w, key);
		jw_str(&w, value);
	}
	jw_end(&w);
	if (body.err)
		d->service.out.err = body.err;
	driver_frame_put(&d->service.out, buf_view(&body));
	buf_free(&body);
}

static void driver_copy_text(struct driver *d, struct json_val v, char *to, size_t n)
{
	struct str s = STR("");

	if (json_str(v, &d->json, &s) < 0)
		s = STR("");
	snprintf(to, n, "%.*s", (int)(s.n < n ? s.n : n - 1), s.p);
}

static void driver_set_idle(struct driver *d)
{
	if (service_is_running(&d->service)) {
		driver_enter(d, RUNNER_IDLE);
		d->runner.ops->idle(d->runner.arg);
	} else if (d->runner.state == RUNNER_BUSY) {
		/*
		 * A dying process gets no cell. The caller has the result of the last
		 * one.
		 */
		driver_enter(d, RUNNER_STOPPING);
	}
}

static int driver_on_hello(struct driver *d, struct json_val frame)
{
	struct str text = driver_text();
	struct buf body = BUF_INIT(DRIVER_FRAME_MAX);
	int r;

	(void)frame;
	if (d->runner.state != RUNNER_STARTING)
		return ERR_SYNTAX;
	/* It was killed while this was on its way. */
	if (!service_is_running(&d->service))
		return 0;
	buf_str(&body, text);
	buf_fmt(&body, "\nmain_loop(%s)\n", d->without_ipython ? "True" : "False");
	if (!body.err)
		driver_frame_put(&d->service.out, buf_view(&body));
	if (d->prepare.n)
		driver_put(d, "prepare", "code", d->prepare);
	r = body.err ? body.err : d->service.out.err;
	buf_free(&body);
	if (r)
		return r;
	service_set_ready(&d->service);
	driver_enter(d, RUNNER_LOADING);
	service_flush(&d->service);
	return 0;
}

static int driver_on_ready(struct driver *d, struct json_val frame)
{
	if (d->runner.state != RUNNER_LOADING)
		return ERR_SYNTAX;
	driver_copy_text(
		d, json_get(frame, "exe"), d->runner.python, sizeof(d->runner.python));
	driver_copy_text(d, json_get(frame, "py"), d->version, sizeof(d->version));
	driver_copy_text(d, json_get(frame, "mode"), d->mode, sizeof(d->mode));
	driver_copy_text(
		d, json_get(frame, "why"), d->plain_reason, sizeof(d->plain_reason));
	log_info("kernel: %s, Python %s, %s%s%s", d->runner.python, d->version, d->mode,
		d->plain_reason[0] ? ": " : "", d->plain_reason);
	driver_set_idle(d);
	return 0;
}

/* Acknowledges output. The driver waits for this, so that its next output comes later. */
static int driver_send_ack(struct driver *d)
{
	driver_put(d, "seen", NULL, STR(""));
	service_flush(&d->service);
	return d->service.out.err;
}

static int driver_on_data(struct driver *d, struct json_val frame)
{
	struct json_val data = json_get(frame, "d");
	struct str s;

	if (driver_has_cell(d) &&
		json_str(json_get(data, "text/plain"), &d->json, &s) == 0)
		cell_put_text(&d->runner.cell, s);
	if (driver_has_cell(d) &&
		json_str(json_get(data, "image/png"), &d->json, &s) == 0)
		cell_put_image(&d->runner.cell, s);
	if (driver_has_cell(d))
		rich_put(&d->runner.cell.rich, data, &d->json);
	return driver_send_ack(d);
}

static int driver_on_error(struct driver *d, struct json_val frame)
{
	struct str s;

	if (driver_has_cell(d) && json_str(json_get(frame, "text"), &d->json, &s) == 0)
		cell_put_text(&d->runner.cell, s);
	return driver_send_ack(d);
}

static int driver_on_done(struct driver *d, struct json_val frame)
{
	int64_t id;

	if (json_i64(json_get(frame, "id"), &id) < 0 || (uint64_t)id != d->cell_id)
		return ERR_SYNTAX;
	d->runner.pause = 0;
	if (d->runner.state == RUNNER_BUSY) {
		d->runner.ops->done(d->runner.arg);
		cell_reset(&d->runner.cell);
	} else if (d->runner.state != RUNNER_STOPPING) {
		return ERR_SYNTAX;
	}
	driver_set_idle(d);
	return 0;
}

static int driver_handle_frame(struct driver *d, struct str text)
{
	static const struct {
		const char *type;
		int (*fn)(struct driver *d, struct json_val frame);
	} types[] = {
		{"hello", driver_on_hello},
		{"ready", driver_on_ready},
		{"execute_result", driver_on_data},
		{"display_data", driver_on_data},
		{"error", driver_on_error},
		{"done", driver_on_done},
	};
	static const struct json_caps caps = {16, 1000, 100};
	struct json_error e;
	struct json json;
	struct str type;
	int r;

	arena_rewind(&d->json);
	r = json_parse(&json, text, &caps, &d->json, &e);
	if (r == 0)
		r = json_str(json_get(json_root(&json), "t"), &d->json, &type);
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(types); i++)
		if (str_eq(type, str_c(types[i].type)))
			return types[i].fn(d, json_root(&json));
	return r ? r : ERR_SYNTAX;
}

/*
 * Handles complete frames, each after the text printed before it. Frames are read in
 * place, and handling one does not move the buffer.
 */
static int driver_handle_frames(struct driver *d)
{
	struct str frame;
	int r;

	while ((r = driver_frames_next(&d->frames, &frame)) == 0) {
		service_drain_output(&d->service);
		r = driver_handle_frame(d, frame);
		if (r < 0)
			return r;
	}
	return r < 0 ? r : 0;
}

static int driver_on_received(struct service *s, char *bytes, size_t n)
{
	struct driver *d = container_of(s, struct driver, service);
	int r = driver_frames_put(&d->frames, str_make(bytes, n));

	r = r ? r : driver_handle_frames(d);
	if (r >= 0)
		return 0;
	log_warn("kernel: the channel to the Python process is broken: %s", err_text(r));
	/* A cell may have written into the channel. */
	service_kill(s, NULL);
	return r;
}

/* --- End of the process ---------------------------------------------------------- */

static void driver_on_late(struct service *s)
{
	struct driver *d = container_of(s, struct driver, service);

	snprintf(d->last_error, sizeof(d->last_error), "%s was not ready in time",
		d->pythons[d->python_at]);
	service_kill(s, NULL);
}

static void driver_on_load_timeout(struct timer *t)
{
	driver_on_late(&container_of(t, struct driver, timer)->service);
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
	service_kill(&d->service, NULL);
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

static void driver_close_io(struct driver *d)
{
	driver_frames_free(&d->frames);
	arena_reset(&d->json);
}

static void driver_on_exit(struct service *s, const char *why, int status)
{
	struct driver *d = container_of(s, struct driver, service);
	bool busy = d->runner.state == RUNNER_BUSY;

	driver_close_io(d);
	d->runner.pid = 0;
	if (d->runner.state == RUNNER_STARTING || d->runner.state == RUNNER_LOADING) {
		if (!d->last_error[0])
			snprintf(d->last_error, sizeof(d->last_error), "%s%s%s",
				d->pythons[d->python_at],
				why ? ": " : " ended at its start", why ? why : "");
		driver_retry_start(d);
		return;
	}
	log_warn("kernel: the Python process has ended (status %d) and is started again",
		status);
	runner_set_pause(&d->runner);
	d->runner.ops->died(d->runner.arg, status, busy);
	driver_enter(d, RUNNER_PAUSED);
}

static const struct service_kind driver_service = {
	.late = driver_on_late,
	.received = driver_on_received,
	.printed = driver_on_printed,
	.exited = driver_on_exit,
};

static int driver_launch(struct driver *d, const char *path)
{
	const char *argv[] = {path, "-u", "-c", driver_boot, NULL};
	const struct spawn sp = {
		.path = path,
		.argv = argv,
		.env = d->env,
		.cwd = d->cwd,
		.tty = -1,
		.fds = {-1, -1, -1},
		.dies_with_parent = true,
		.orphans_leave = true,
		.user = d->user,
	};
	int r = service_start(&d->service, &sp, SERVICE_SOCKET, DRIVER_HELLO_MS);

	if (r)
		return r;
	driver_frames_init(&d->frames);
	d->runner.starts++;
	d->runner.pid = d->service.pid;
	return 0;
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
	size_t before = d->service.out.n;
	bool moves;
	int r;

	if (!service_is_running(&d->service))
		return -EAGAIN;
	d->cell_id++;
	moves = cwd.n < sizeof(d->cwd) && !str_eq(cwd, str_c(d->cwd));
	if (moves)
		driver_put(d, "chdir", "cwd", cwd);
	driver_put(d, "exec", "code", code);
	r = d->service.out.err;
	if (r) {
		d->service.out.err = 0;
		d->service.out.n = before;
		return r;
	}
	if (moves)
		snprintf(d->cwd, sizeof(d->cwd), "%.*s", STR_ARG(cwd));
	/* Output since the last cell is dropped: it is not of this cell. */
	service_drain_output(&d->service);
	driver_enter(d, RUNNER_BUSY);
	service_flush(&d->service);
	return 0;
}

/* A stopped process handles SIGINT only after SIGCONT. */
static void driver_send_sigint(struct runner *r)
{
	service_signal(&driver_of(r)->service, SIGINT);
	service_signal(&driver_of(r)->service, SIGCONT);
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
	service_kill(&driver_of(r)->service, NULL);
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

	service_forget(&d->service, true);
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
	};
	service_init(&d->service, &driver_service, l, DRIVER_OUT_MAX);
	runner_init(&d->runner, &kind, ops, arg);
	arena_init(&d->env_memory, IDENTITY_MEMORY_MAX);
	arena_init(&d->search, IDENTITY_MEMORY_MAX);
	arena_init(&d->json, DRIVER_JSON_MAX);
	if (driver_make_env(d, env) == 0)
		return &d->runner;
	driver_del(&d->runner);
	return NULL;
}
