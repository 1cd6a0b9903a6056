/* The life cycle of an external plugin: its process, its restarts. */
#include "plugin/external_private.h"

#include "action/session.h"
#include "base/backoff.h"
#include "base/env.h"
#include "base/fd.h"
#include "proc/tree.h"
#include "proc/which.h"
#include "shell/shell.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

static void external_start_process(struct external *e);
static void external_on_pause_end(struct timer *t);
static void external_on_timeout(struct timer *t);

static void external_enter(struct external *e, enum external_state to)
{
	enum {
		OFF = 1 << EXTERNAL_OFF,
		LACKING = 1 << EXTERNAL_LACKING,
		PROBING = 1 << EXTERNAL_PROBING,
		RESTING = 1 << EXTERNAL_RESTING,
		STARTING = 1 << EXTERNAL_STARTING,
		READY = 1 << EXTERNAL_READY,
		ABSENT = 1 << EXTERNAL_ABSENT,
		ENDING = 1 << EXTERNAL_ENDING,
		PAUSED = 1 << EXTERNAL_PAUSED,
	};
	static const unsigned from[] = {
		[EXTERNAL_OFF] = LACKING | PROBING | RESTING | STARTING | READY | ABSENT |
			ENDING | PAUSED,
		/* From the last three: a built-in plugin that has given up. */
		[EXTERNAL_LACKING] = OFF | LACKING | PROBING | RESTING | PAUSED |
			STARTING | ABSENT | ENDING,
		[EXTERNAL_PROBING] = OFF | LACKING | PAUSED,
		[EXTERNAL_RESTING] = OFF | LACKING | PAUSED,
		[EXTERNAL_STARTING] = OFF | LACKING | PROBING | RESTING | PAUSED,
		[EXTERNAL_READY] = STARTING | ABSENT,
		[EXTERNAL_ABSENT] = STARTING | READY | ABSENT,
		/* Again, if it has closed its channel and is killed for that. */
		[EXTERNAL_ENDING] = STARTING | READY | ABSENT | ENDING,
		[EXTERNAL_PAUSED] = STARTING | READY | ABSENT | ENDING,
	};
	uint64_t ms = 0;

	assert(from[to] & 1U << e->state);
	e->state = to;
	e->since = loop_now(e->box->loop);
	timer_cancel(e->box->loop, &e->timer);
	if (to == EXTERNAL_PROBING)
		ms = PLUGIN_PROBE_MS;
	else if (to == EXTERNAL_STARTING)
		ms = e->manifest.ready_ms;
	else if (to == EXTERNAL_ENDING)
		ms = PLUGIN_END_MS;
	else if (to == EXTERNAL_PAUSED)
		ms = e->pause;
	if (ms)
		timer_set(e->box->loop, &e->timer, ms,
			to == EXTERNAL_PAUSED ? external_on_pause_end
					      : external_on_timeout);
}

/* --- The end of the process ------------------------------------------------ */

/*
 * Sets the pause before the next start. It grows with each end, and starts anew after the
 * process was ready for PLUGIN_STEADY_MS.
 */
static void external_update_pause(struct external *e)
{
	if (e->state == EXTERNAL_ENDING || e->state == EXTERNAL_PROBING)
		return;
	e->failed_early = e->state != EXTERNAL_READY;
	if (e->state == EXTERNAL_READY &&
		loop_now(e->box->loop) - e->since >= PLUGIN_STEADY_MS)
		e->pause = 0;
	e->pause = backoff(e->pause, PLUGIN_PAUSE_MS, PLUGIN_PAUSE_MAX_MS);
}

void external_set_ending(struct external *e)
{
	external_update_pause(e);
	if (e->state != EXTERNAL_PROBING)
		external_enter(e, EXTERNAL_ENDING);
}

void external_kill(struct external *e, const char *why)
{
	if (!e->pid || e->kill_reason[0])
		return;
	snprintf(e->kill_reason, sizeof(e->kill_reason), "%s", why);
	external_set_ending(e);
	tree_kill_now(e->pid);
}

static void external_on_timeout(struct timer *t)
{
	struct external *e = container_of(t, struct external, timer);
	char words[PLUGIN_WHY_MAX];

	if (e->state == EXTERNAL_PROBING)
		snprintf(words, sizeof(words), "it took more than %d seconds",
			PLUGIN_PROBE_MS / 1000);
	else if (e->state == EXTERNAL_ENDING)
		snprintf(words, sizeof(words), "it has closed its channel");
	else
		snprintf(words, sizeof(words), "it was not ready within %llu seconds",
			(unsigned long long)e->manifest.ready_ms / 1000);
	external_kill(e, words);
}

/* --- Check of a process that does not answer ---------------------------------------- */

static void external_on_ping_timeout(struct timer *t)
{
	external_kill(container_of(t, struct external, ping_timer),
		"it does not respond: it answered neither a call nor a ping in time");
}

/*
 * A call may have a short time limit. The process is killed only after it had call_ms for
 * the call, and PLUGIN_PING_MS (at most call_ms) for the ping.
 */
void external_send_ping(struct external *e, uint64_t since)
{
	uint64_t now = loop_now(e->box->loop), most = e->manifest.call_ms;
	uint64_t end = since + most, ms = most < PLUGIN_PING_MS ? most : PLUGIN_PING_MS;

	if (timer_is_armed(&e->ping_timer) ||
		(e->state != EXTERNAL_READY && e->state != EXTERNAL_ABSENT))
		return;
	if (end > now + ms)
		ms = end - now;
	external_send_op(e, "ping", 0);
	timer_set(e->box->loop, &e->ping_timer, ms, external_on_ping_timeout);
}

void external_cancel_ping(struct external *e)
{
	timer_cancel(e->box->loop, &e->ping_timer);
}

/* --- The reason of the end ---------------------------------------------------------- */

/* Appends the reason of the end of a process. */
static void external_put_end_reason(struct external *e, int status, struct buf *why)
{
	int err = spawn_read_outcome(&e->report);

	if (e->kill_reason[0])
		buf_puts(why, e->kill_reason);
	else if (err < 0 && err != -EAGAIN && err != -EINTR)
		buf_fmt(why, "%s: %s", e->report.step, err_text(err));
	else if (WIFSIGNALED(status))
		buf_fmt(why, "it ended (signal %d)", WTERMSIG(status));
	else
		buf_fmt(why, "it ended (exit status %d)", WEXITSTATUS(status));
	if (e->last[0] && (e->state == EXTERNAL_PROBING || e->failed_early))
		buf_fmt(why, ": %.150s", e->last);
}

/* The plugin cannot be started until the cause is removed. */
static void external_set_lacking(struct external *e, const char *why)
{
	external_enter(e, EXTERNAL_LACKING);
	plugin_mark_unavailable(e->plug, why);
	external_fail_calls(e, true, e->plug->why);
}

/*
 * A built-in plugin that has reported itself unavailable: the next call checks its needs,
 * and starts it.
 */
static bool external_is_unavailable(const struct external *e)
{
	return e->builtin && e->plug->state == PLUGIN_STATE_UNAVAILABLE;
}

static void external_pause(struct external *e, const char *why)
{
	char words[PLUGIN_WHY_MAX * 2];

	external_enter(e, EXTERNAL_PAUSED);
	snprintf(e->end_reason, sizeof(e->end_reason), "%s", why);
	snprintf(words, sizeof(words), "%s; it is started again after %llu ms", why,
		(unsigned long long)e->pause);
	plugin_mark_unavailable(e->plug, words);
	external_fail_calls(e, e->failed_early, why);
}

static void external_on_exit(struct child *c, int status)
{
	struct external *e = container_of(c, struct external, child);
	struct buf why = BUF_INIT(PLUGIN_WHY_MAX * 4);
	bool good = e->state == EXTERNAL_PROBING && status == 0 && !e->kill_reason[0];

	/* Processes that are left in its group have no peer any more. */
	kill(-e->pid, SIGKILL);
	external_drain(e);
	external_update_pause(e);
	if (e->state == EXTERNAL_PROBING)
		buf_puts(&why, "its probe failed: ");
	external_put_end_reason(e, status, &why);
	external_close(e);
	external_cancel_ping(e);
	e->pid = 0;
	e->kill_reason[0] = '\0';
	if (good) {
		e->probed = true;
		external_start_process(e);
	} else if (e->state == EXTERNAL_PROBING) {
		external_set_lacking(e, buf_cstr(&why) ? why.p : "its probe failed");
	} else if (external_is_unavailable(e)) {
		external_set_lacking(e, e->plug->why);
	} else {
		external_pause(e, buf_cstr(&why) ? why.p : "it ended");
	}
	buf_free(&why);
}

/* --- Start ---------------------------------------------------------------- */

/*
 * Finds word: a path, relative to the folder, if it has a slash; else a program on the
 * PATH.
 */
static bool external_find_program(
	const struct external *e, const char *word, char path[FILE_PATH_MAX])
{
	struct stat st;

	if (strchr(word, '/')) {
		int n = snprintf(path, FILE_PATH_MAX, "%s%s%s",
			word[0] == '/' ? "" : e->dir, word[0] == '/' ? "" : "/", word);

		return n < FILE_PATH_MAX && stat(path, &st) == 0;
	}
	return which_find(word, env_value(e->env, "PATH"), path) == 0;
}

static int external_spawn(
	struct external *e, const char *path, const char **argv, int out, int channel)
{
	struct spawn sp = {
		.path = path,
		.argv = argv,
		.env = e->env,
		.cwd = e->dir,
		.cwd_needed = true,
		.tty = -1,
		.fds = {-1, out, out},
		.channel = channel,
		.dies_with_parent = true,
		.orphans_leave = true,
		.user = e->box->shell_setup->user,
	};
	pid_t pid;
	int r = spawn(&sp, &pid, &e->report);

	if (r == 0) {
		e->pid = pid;
		children_watch(&e->child, pid, external_on_exit);
	}
	return r;
}

/* talks: the process has the channel. */
static int external_launch(struct external *e, const char **argv, bool talks)
{
	int out[2] = {-1, -1}, pair[2] = {-1, -1};
	char path[FILE_PATH_MAX];
	int r = external_find_program(e, argv[0], path) ? fd_pipe(out) : -ENOENT;

	if (r == 0 && talks)
		r = fd_socketpair(SOCK_STREAM, pair);
	if (r == 0)
		r = loop_add(
			e->box->loop, &e->pipe, out[0], EPOLLIN, external_pipe_ready);
	if (r == 0) {
		out[0] = -1;
		e->last[0] = '\0';
		lines_init(
			&e->lines, (e->builtin ? OBSERVATION_MAX : PLUGIN_FRAME_MAX) - 1);
		if (talks)
			r = loop_add(e->box->loop, &e->channel, pair[0], EPOLLIN,
				external_channel_ready);
	}
	if (r == 0) {
		pair[0] = -1;
		r = external_spawn(e, path, argv, out[1], talks ? pair[1] : 0);
	}
	for (int i = 0; i < 2; i++) {
		fd_close(&out[i]);
		fd_close(&pair[i]);
	}
	if (r < 0)
		external_close(e);
	return r;
}

static void external_send_hello(struct external *e)
{
	struct buf frame = BUF_INIT(PLUGIN_FRAME_MAX);
	struct jw w;

	jw_init(&w, &frame);
	jw_object(&w);
	jw_key(&w, "op");
	jw_cstr(&w, "hello");
	jw_key(&w, "protocol");
	jw_int(&w, 1);
	jw_key(&w, "name");
	jw_cstr(&w, e->plugin.name);
	jw_key(&w, "server");
	jw_cstr(&w, "od-runtime " OD_VERSION);
	jw_key(&w, "cwd");
	jw_str(&w, act_box_cwd(e->box));
	jw_end(&w);
	if (frame.err || external_send(e, buf_view(&frame)) < 0)
		external_kill(e, "the sandbox is out of memory");
	buf_free(&frame);
}

/* False: a need is missing, and why is its description. */
static bool external_has_needs(const struct external *e, struct buf *why)
{
	char path[FILE_PATH_MAX];

	if (e->builtin)
		return e->builtin->check_needs(e->box, !list_is_empty(&e->calls), why);
	for (const char **need = e->manifest.needs; *need; need++) {
		if (external_find_program(e, *need, path))
			continue;
		buf_fmt(why, "it needs %s, which is not %s", *need,
			strchr(*need, '/') ? "there" : "on the PATH");
		return false;
	}
	return true;
}

/* Whether a lazy plugin has had no call so far. */
static bool external_is_lazy(const struct external *e)
{
	return e->builtin && e->builtin->lazy && !e->starts && list_is_empty(&e->calls);
}

/* Starts the probe if it is still to be done, else the program. */
static void external_start_process(struct external *e)
{
	bool probes = e->manifest.probe[0] && !e->probed;
	const char **argv = probes ? e->manifest.probe : e->manifest.argv;
	struct buf why = BUF_INIT(PLUGIN_WHY_MAX * 4);
	int r;

	if (!external_has_needs(e, &why)) {
		external_set_lacking(e, buf_cstr(&why) ? why.p : "out of memory");
	} else if (external_is_lazy(e)) {
		external_enter(e, EXTERNAL_RESTING);
		plugin_mark_ready(e->plug);
	} else if ((r = external_launch(e, argv, !probes)) < 0) {
		buf_fmt(&why, "%s: %s", argv[0], err_text(r));
		external_set_lacking(e, buf_cstr(&why) ? why.p : "out of memory");
	} else {
		external_enter(e, probes ? EXTERNAL_PROBING : EXTERNAL_STARTING);
		if (!probes) {
			e->starts++;
			external_send_hello(e);
		}
	}
	buf_free(&why);
}

static void external_on_pause_end(struct timer *t)
{
	external_start_process(container_of(t, struct external, timer));
}

void external_recheck(struct external *e)
{
	e->probed = false;
	external_start_process(e);
}

void external_wake(struct external *e)
{
	external_start_process(e);
}

void external_set_ready(struct external *e)
{
	/* A process that was killed may have sent "ready" before. */
	if (e->state == EXTERNAL_READY || e->state == EXTERNAL_ENDING)
		return;
	external_enter(e, EXTERNAL_READY);
	spawn_report_close(&e->report);
	plugin_mark_ready(e->plug);
	if (e->builtin && e->builtin->on_ready)
		e->builtin->on_ready(e->plug);
	external_pump(e);
}

void external_set_absent(struct external *e, struct str why)
{
	char words[PLUGIN_WHY_MAX];

	if (e->state == EXTERNAL_ENDING)
		return;
	snprintf(words, sizeof(words), "%.*s",
		(int)(why.n < sizeof(words) ? why.n : sizeof(words) - 1), why.p);
	/* The reason of the end, if the process ends now. */
	snprintf(e->last, sizeof(e->last), "%s", words);
	external_enter(e, EXTERNAL_ABSENT);
	plugin_mark_unavailable(e->plug, words);
	external_fail_calls(e, true, words);
}

/* --- Called by plugin.c ----------------------------------------------------- */

void external_begin(struct external *e, struct plugin_instance *p)
{
	p->data = e;
	e->plug = p;
	external_start_process(e);
}

int external_start(struct plugin_instance *p)
{
	external_begin(container_of(p->plugin, struct external, plugin), p);
	return 0;
}

/* Streams of events have no end of their own. */
void external_drain_calls(struct plugin_instance *p)
{
	external_end_streams(p->data);
}

/* A process that still runs receives SIGTERM with all others when the server ends. */
void external_stop(struct plugin_instance *p)
{
	struct external *e = p->data;

	p->data = NULL;
	if (e->channel.fd >= 0)
		external_send_op(e, "stop", 0);
	external_enter(e, EXTERNAL_OFF);
	external_fail_calls(e, true, "the sandbox is stopping");
	timer_cancel(e->box->loop, &e->noise_timer);
	external_cancel_ping(e);
	children_forget(&e->child);
	external_close(e);
	e->pid = 0;
}

void external_write_info(const struct plugin_instance *p, struct jw *w)
{
	const struct external *e = p->data;

	if (!e)
		return;
	jw_key(w, "starts");
	jw_uint(w, e->starts);
	if (e->end_reason[0]) {
		jw_key(w, "ended");
		jw_cstr(w, e->end_reason);
	}
	if (!e->pid)
		return;
	jw_key(w, "pid");
	jw_int(w, e->pid);
	jw_key(w, "calls");
	jw_uint(w, e->calls_n);
}
