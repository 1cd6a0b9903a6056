/* The life cycle of an external plugin: its process, its restarts. */
#include "plugin/external_private.h"

#include "action/session.h"
#include "base/env.h"
#include "proc/which.h"
#include "shell/shell.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>

static void external_start_process(struct external *e);

#define TO(state) (1u << (state))

static void external_enter(struct external *e, enum external_state to)
{
	static const unsigned next[] = {
		[EXTERNAL_OFF] = TO(EXTERNAL_LACKING) | TO(EXTERNAL_PROBING) |
			TO(EXTERNAL_RESTING) | TO(EXTERNAL_RUNNING),
		[EXTERNAL_LACKING] = TO(EXTERNAL_LACKING) | TO(EXTERNAL_PROBING) |
			TO(EXTERNAL_RESTING) | TO(EXTERNAL_RUNNING) | TO(EXTERNAL_OFF),
		[EXTERNAL_PROBING] = TO(EXTERNAL_LACKING) | TO(EXTERNAL_RESTING) |
			TO(EXTERNAL_RUNNING) | TO(EXTERNAL_OFF),
		[EXTERNAL_RESTING] =
			TO(EXTERNAL_LACKING) | TO(EXTERNAL_RUNNING) | TO(EXTERNAL_OFF),
		[EXTERNAL_RUNNING] = TO(EXTERNAL_RUNNING) | TO(EXTERNAL_ABSENT) |
			TO(EXTERNAL_LACKING) | TO(EXTERNAL_OFF),
		[EXTERNAL_ABSENT] = TO(EXTERNAL_ABSENT) | TO(EXTERNAL_RUNNING) |
			TO(EXTERNAL_LACKING) | TO(EXTERNAL_OFF),
	};

	assert(next[e->state] & TO(to));
	e->state = to;
	e->since = loop_now(e->box->loop);
}

/* --- Check of a process that does not answer ---------------------------------------- */

static void external_on_ping_timeout(struct timer *t)
{
	service_kill(&container_of(t, struct external, ping_timer)->service,
		"it does not respond: it answered neither a call nor a ping "
		"in time");
}

/*
 * A call may have a short time limit. The process is killed only after it had call_ms for
 * the call, and PLUGIN_PING_MS (at most call_ms) for the ping.
 */
void external_send_ping(struct external *e, uint64_t since)
{
	uint64_t now = loop_now(e->box->loop), most = e->manifest.call_ms;
	uint64_t end = since + most, ms = most < PLUGIN_PING_MS ? most : PLUGIN_PING_MS;

	if (timer_is_armed(&e->ping_timer) || !service_is_running(&e->service))
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

/* --- The end of the process ------------------------------------------------ */

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

	external_enter(e, EXTERNAL_RUNNING);
	service_pause(&e->service);
	snprintf(e->end_reason, sizeof(e->end_reason), "%s", why);
	snprintf(words, sizeof(words), "%s; it is started again after %llu ms", why,
		(unsigned long long)e->service.pause);
	plugin_mark_unavailable(e->plug, words);
	external_fail_calls(e, !e->service.was_ready, why);
}

static struct external *external_of_service(struct service *s)
{
	return container_of(s, struct external, service);
}

static void external_on_late(struct service *s)
{
	struct external *e = external_of_service(s);
	char words[PLUGIN_WHY_MAX];

	if (e->state == EXTERNAL_PROBING)
		snprintf(words, sizeof(words), "it took more than %d seconds",
			PLUGIN_PROBE_MS / 1000);
	else
		snprintf(words, sizeof(words), "it was not ready within %llu seconds",
			(unsigned long long)e->manifest.ready_ms / 1000);
	service_kill(s, words);
}

static void external_on_exit(struct service *s, const char *killed, int status)
{
	struct external *e = external_of_service(s);
	bool probed = e->state == EXTERNAL_PROBING;
	struct buf why = BUF_INIT(PLUGIN_WHY_MAX * 4);

	external_on_printed(s, STR("\n"));
	external_end_io(e);
	external_cancel_ping(e);
	if (probed && status == 0 && !killed) {
		e->probed = true;
		external_start_process(e);
		return;
	}
	buf_puts(&why, probed ? "its probe failed: " : "");
	if (killed)
		buf_puts(&why, killed);
	else if (WIFSIGNALED(status))
		buf_fmt(&why, "it ended (signal %d)", WTERMSIG(status));
	else
		buf_fmt(&why, "it ended (exit status %d)", WEXITSTATUS(status));
	if (e->last[0] && !s->was_ready)
		buf_fmt(&why, ": %.150s", e->last);
	if (!buf_cstr(&why))
		buf_reset(&why);
	if (probed)
		external_set_lacking(e, why.n ? why.p : "its probe failed");
	else if (external_is_unavailable(e))
		external_set_lacking(e, e->plug->why);
	else
		external_pause(e, why.n ? why.p : "it ended");
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

/* talks: the process has the channel. */
static int external_launch(struct external *e, const char **argv, bool talks)
{
	char path[FILE_PATH_MAX];
	const struct spawn sp = {
		.path = path,
		.argv = argv,
		.env = e->env,
		.cwd = e->dir,
		.cwd_needed = true,
		.tty = -1,
		.fds = {-1, -1, -1},
		.dies_with_parent = true,
		.orphans_leave = true,
		.user = e->box->shell_setup->user,
	};

	if (!external_find_program(e, argv[0], path))
		return -ENOENT;
	e->last[0] = '\0';
	lines_init(&e->lines, (e->builtin ? OBSERVATION_MAX : PLUGIN_FRAME_MAX) - 1);
	return service_start(&e->service, &sp, talks ? SERVICE_SOCKET : SERVICE_PRINTS,
		talks ? e->manifest.ready_ms : PLUGIN_PROBE_MS);
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
		service_kill(&e->service, "the sandbox is out of memory");
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
		external_enter(e, probes ? EXTERNAL_PROBING : EXTERNAL_RUNNING);
		if (!probes) {
			e->starts++;
			external_send_hello(e);
		}
	}
	buf_free(&why);
}

static void external_on_restart(struct service *s)
{
	external_start_process(external_of_service(s));
}

const struct service_kind external_service = {
	.pause_ms = PLUGIN_PAUSE_MS,
	.pause_max_ms = PLUGIN_PAUSE_MAX_MS,
	.steady_ms = PLUGIN_STEADY_MS,
	.closed_ms = PLUGIN_END_MS,
	.closed_why = "it has closed its channel",
	.late = external_on_late,
	.received = external_on_received,
	.printed = external_on_printed,
	.exited = external_on_exit,
	.restart = external_on_restart,
};

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
	if (e->service.state != SERVICE_STARTING)
		return;
	external_enter(e, EXTERNAL_RUNNING);
	service_set_ready(&e->service);
	plugin_mark_ready(e->plug);
	if (e->builtin && e->builtin->on_ready)
		e->builtin->on_ready(e->plug);
	external_pump(e);
}

void external_set_absent(struct external *e, struct str why)
{
	char words[PLUGIN_WHY_MAX];

	if (e->service.state == SERVICE_ENDING)
		return;
	snprintf(words, sizeof(words), "%.*s",
		(int)(why.n < sizeof(words) ? why.n : sizeof(words) - 1), why.p);
	/* The reason of the end, if the process ends now. */
	snprintf(e->last, sizeof(e->last), "%s", words);
	external_enter(e, EXTERNAL_ABSENT);
	service_set_unready(&e->service);
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
	if (e->service.channel == SERVICE_SOCKET && e->service.pid)
		external_send_op(e, "stop", 0);
	external_enter(e, EXTERNAL_OFF);
	external_fail_calls(e, true, "the sandbox is stopping");
	timer_cancel(e->box->loop, &e->noise_timer);
	external_cancel_ping(e);
	service_forget(&e->service, false);
	external_end_io(e);
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
	if (!e->service.pid)
		return;
	jw_key(w, "pid");
	jw_int(w, e->service.pid);
	jw_key(w, "calls");
	jw_uint(w, e->calls_n);
}
