/* Commands for whole sandboxes: start, restart, stop, rm, pause, resume, kill, wait. */
#include "inject/cli/commands.h"

#include "base/jw.h"
#include "inject/console/out.h"
#include "inject/image/cache.h"
#include "inject/options/options_rows.h"
#include "inject/options/options_sets.h"
#include "inject/sandbox/sandbox_info.h"
#include "inject/sandbox/sandbox_ready.h"
#include "limits.h"

#include <errno.h>
#include <stdio.h>

struct start_options {
	struct ready_options ready;
};

struct stop_options {
	uint64_t time;
	bool has_time;
};

struct restart_options {
	struct ready_options ready;
	struct stop_options stop;
};

struct kill_options {
	const char *signal;
};

struct rm_options {
	bool force;
};

/* Handles a sandbox and prints its line with print. */
typedef int lifecycle_fn(
	const struct command_line *line, const struct engine *e, struct sandbox *s);

static void lifecycle_begin_json(const struct sandbox *s, struct jw *w, struct buf *out)
{
	jw_init(w, out);
	jw_object(w);
	jw_key(w, "name");
	jw_cstr(w, s->state.name);
}

static int lifecycle_print(
	const struct command_line *line, const struct sandbox *s, const char *done)
{
	struct buf out = BUF_INIT(INJECT_TEXT_MAX);
	struct jw w;

	if (line->json) {
		lifecycle_begin_json(s, &w, &out);
		jw_key(&w, done);
		jw_bool(&w, true);
		jw_end(&w);
	} else {
		buf_puts(&out, s->state.name);
	}
	return out_write_line(&out);
}

/*
 * Handles a container that od-runtime has not made: it stays unchanged, and rm only
 * removes the record of our client in it.
 */
static int lifecycle_handle_injected(
	const struct command_line *line, const struct sandbox *s)
{
	if (line->command == &command_start || line->command == &command_restart)
		return out_fail("use the engine's own command (docker restart), then "
				"od-runtime inject again",
			"the container %s was not created by od-runtime, "
			"which added only its client",
			s->state.name);
	if (line->command != &command_rm)
		return out_fail("use the engine's own command, such as docker stop",
			"the container %s was not created by od-runtime, "
			"which added only its client",
			s->state.name);
	state_remove(s->state.name);
	return lifecycle_print(line, s, "removed");
}

/*
 * Handles every operand in order, whatever the result of those before it; the first
 * failure is the result.
 */
static int lifecycle_for_each(const struct command_line *line, lifecycle_fn *fn)
{
	struct engine e;
	int first, r = engine_open(&e, line->host);

	first = r;
	for (size_t i = 0; !r && i < line->operand_n; i++) {
		struct sandbox s;
		int own = sandbox_require(&e, line->operand[i], &s);

		if (!own && s.injected)
			own = lifecycle_handle_injected(line, &s);
		else if (!own)
			own = fn(line, &e, &s);
		out_step_end();
		if (own && !first)
			first = own;
		if (own == -EINTR || own == -ENOMEM || own == -EPIPE)
			r = own;
	}
	return first;
}

/* Sends a request whose answer may take ms of silence; 0: no limit. */
static int lifecycle_post_target(const struct engine *e, const struct target *target,
	uint32_t ms, struct reply *reply)
{
	const struct http_client_request q = {.method = "POST", .target = target};
	struct http_client c;
	int r;

	reply_init(reply);
	r = engine_stream(e, &c, &q, ms);
	if (!r) {
		reply->status = c.head.status;
		r = http_client_read_all(&c, &reply->body);
		r = r ? engine_fail(e, r) : 0;
	}
	http_client_close(&c);
	return r;
}

/* The time that the engine may be silent until the sandbox has ended; 0: no limit. */
static uint32_t lifecycle_timeout_ms(int seconds)
{
	uint64_t ms = (uint64_t)seconds * 1000 + INJECT_ENGINE_MS;

	return seconds < 0 || ms > UINT32_MAX ? 0 : (uint32_t)ms;
}

/* The seconds from the stop signal to the kill; -1: the engine does not kill. */
static int lifecycle_stop_seconds(const struct stop_options *o, const struct sandbox *s)
{
	return o->has_time ? (int)o->time : s->stop_seconds;
}

/* Stops a sandbox; the engine answers when it has stopped, which may take long. */
static int lifecycle_stop_sandbox(
	const struct command_line *line, const struct engine *e, struct sandbox *s)
{
	int seconds = lifecycle_stop_seconds(line->options, s);
	struct target target;
	struct reply reply;
	int r;

	out_step("stopping: %s", s->state.name);
	target_init(&target, ENGINE_TARGET_MAX);
	target_add(&target, "/containers/%s/stop?t=%d", s->state.id, seconds);
	r = lifecycle_post_target(e, &target, lifecycle_timeout_ms(seconds), &reply);
	target_free(&target);
	/* 304: already stopped; 404: it removed itself meanwhile. */
	if (!r && reply.status >= 400 && reply.status != 404)
		r = engine_fail_reply(&reply, NULL, "stopping %s", s->state.name);
	reply_free(&reply);
	if (!r && s->auto_remove)
		state_remove(s->state.name);
	return r ? r : lifecycle_print(line, s, "stopped");
}

static int cmd_stop(const struct command_line *line)
{
	return lifecycle_for_each(line, lifecycle_stop_sandbox);
}

#define OPTIONS struct stop_options
static const struct option stop_options[] = {
	{"time", "DURATION", "kill the sandbox if it has not stopped after DURATION",
		DURATION(0, 3600), .letter = 't', AT(time), SEEN(has_time),
		DEFAULT("the --stop-timeout of the sandbox, else 10s"), EXAMPLE("5m"),
		GROUP(LIFECYCLE)},
	{0},
};
#undef OPTIONS

static const struct option_set time_set = {.options = stop_options};

const struct command command_stop = {
	.name = "stop",
	.usage = "SANDBOX... [OPTION...]",
	.purpose = "stop sandboxes",
	.examples = {"od-runtime stop box"},
	.operands = 1,
	.variadic = true,
	.subject = SUBJECT_SANDBOX,
	.options = stop_options,
	.options_size = sizeof(struct stop_options),
	.run = cmd_stop,
};

static int lifecycle_rm_sandbox(
	const struct command_line *line, const struct engine *e, struct sandbox *s)
{
	const struct rm_options *o = line->options;
	struct reply reply;
	int r;

	if (s->running && !o->force)
		return out_fail("stop it first with od-runtime stop, or use rm -f",
			"the sandbox %s is running", s->state.name);
	r = engine_request(e, &reply, "DELETE", (struct str){0},
		"/containers/%s?v=1&force=%d", s->state.id, o->force);
	if (!r && reply.status >= 400 && reply.status != 404)
		r = engine_fail_reply(&reply, NULL, "removing %s", s->state.name);
	reply_free(&reply);
	if (r)
		return r;
	sandbox_remove_state(e, &s->state);
	return lifecycle_print(line, s, "removed");
}

static int cmd_rm(const struct command_line *line)
{
	return lifecycle_for_each(line, lifecycle_rm_sandbox);
}

#define OPTIONS struct rm_options
static const struct option rm_options[] = {
	{"force", NULL, "stop a running sandbox first", FLAG, .letter = 'f', AT(force),
		GROUP(LIFECYCLE)},
	{0},
};
#undef OPTIONS

const struct command command_rm = {
	.name = "rm",
	.usage = "SANDBOX... [OPTION...]",
	.purpose = "remove sandboxes",
	.examples = {"od-runtime rm -f box"},
	.operands = 1,
	.variadic = true,
	.subject = SUBJECT_SANDBOX,
	.options = rm_options,
	.options_size = sizeof(struct rm_options),
	.run = cmd_rm,
};

static int lifecycle_check_reply(
	int r, struct reply *reply, const struct sandbox *s, const char *doing)
{
	if (!r && reply->status >= 400)
		r = engine_fail_reply(reply, NULL, "%s %s", doing, s->state.name);
	reply_free(reply);
	return r;
}

/* POST /containers/ID/what */
static int lifecycle_post_action(const struct engine *e, const struct sandbox *s,
	const char *what, const char *doing)
{
	struct reply reply;
	int r = engine_request(e, &reply, "POST", (struct str){0}, "/containers/%s/%s",
		s->state.id, what);

	return lifecycle_check_reply(r, &reply, s, doing);
}

/* --- start, restart ----------------------------------------------------------------- */

static int lifecycle_wait_ready(const struct command_line *line,
	const struct ready_options *o, const struct engine *e, struct sandbox *s)
{
	int r = sandbox_ready_wait(e, s, o->timeout_start);

	out_step_end();
	state_wipe_key(&s->state);
	return r ? r : sandbox_info_print(e, &s->state, line->json, NULL, NULL);
}

/*
 * Whether the engine's text names the file of p, which exists again; p may be NULL or
 * empty.
 */
static bool lifecycle_start_restore_program(
	const struct program *p, const char *name, struct str words)
{
	char path[FILE_PATH_MAX];

	return p && p->arch && cache_put_file(p, name, path, sizeof(path)) == 0 &&
		str_find(words, str_c(path)) < words.n;
}

/*
 * Restores a file of the cache folder that a sandbox mounts, if it was removed. True if
 * the file that is missing, by the engine's answer, was restored.
 */
static bool lifecycle_start_restore_file(const struct reply *reply)
{
	struct str words = buf_view(&reply->body);
	struct program client = {.arch = NULL}, busybox = {.arch = NULL};
	bool restored = false;

	if (str_find(words, STR("bind source path does not exist")) == words.n)
		return false;
	if (program_find_client(&client, NULL, STR(""), true) == 0) {
		(void)!program_find_busybox(&busybox, NULL, client.arch);
		restored = lifecycle_start_restore_program(
				   &client, "od-runtime-client", words) ||
			lifecycle_start_restore_program(
				client.plugins, "od-plugins", words) ||
			lifecycle_start_restore_program(&busybox, "busybox", words);
	}
	program_free(&client);
	program_free(&busybox);
	return restored;
}

/* POST /containers/ID/start, again for each of the three files that may be missing. */
static int lifecycle_start_post(const struct engine *e, const struct sandbox *s)
{
	for (int missing = 0;; missing++) {
		struct reply reply;
		int r = engine_request(e, &reply, "POST", (struct str){0},
			"/containers/%s/start", s->state.id);
		bool again = !r && reply.status >= 400 && missing < 3 &&
			lifecycle_start_restore_file(&reply);

		if (!r && !again && reply.status >= 400)
			r = engine_fail_reply(&reply,
				"if a mounted file of the sandbox is gone, "
				"docker commit makes an image with the files "
				"of the sandbox",
				"starting %s", s->state.name);
		reply_free(&reply);
		if (r || !again)
			return r;
	}
}

static int lifecycle_start_sandbox(
	const struct command_line *line, const struct engine *e, struct sandbox *s)
{
	const struct start_options *o = line->options;
	int r = 0;

	if (s->paused)
		return out_fail("od-runtime resume SANDBOX continues it",
			"the sandbox %s is paused", s->state.name);
	out_step("starting: %s", s->state.name);
	if (!s->running)
		r = lifecycle_start_post(e, s);
	return r ? r : lifecycle_wait_ready(line, &o->ready, e, s);
}

static int cmd_start(const struct command_line *line)
{
	return lifecycle_for_each(line, lifecycle_start_sandbox);
}

#define OPTIONS struct start_options
static const struct option start_options[] = {
	{SET(ready_set, ready)},
	{0},
};
#undef OPTIONS

const struct command command_start = {
	.name = "start",
	.usage = "SANDBOX... [OPTION...]",
	.purpose = "start stopped sandboxes and wait until they are ready",
	.more = "A sandbox keeps its files, and its ports may change.",
	.examples = {"od-runtime start box"},
	.operands = 1,
	.variadic = true,
	.subject = SUBJECT_SANDBOX,
	.options = start_options,
	.options_size = sizeof(struct start_options),
	.run = cmd_start,
};

static int lifecycle_restart_sandbox(
	const struct command_line *line, const struct engine *e, struct sandbox *s)
{
	const struct restart_options *o = line->options;
	int seconds = lifecycle_stop_seconds(&o->stop, s);
	struct target target;
	struct reply reply;
	int r;

	out_step("restarting: %s", s->state.name);
	target_init(&target, ENGINE_TARGET_MAX);
	target_add(&target, "/containers/%s/restart?t=%d", s->state.id, seconds);
	r = lifecycle_post_target(e, &target, lifecycle_timeout_ms(seconds), &reply);
	target_free(&target);
	r = lifecycle_check_reply(r, &reply, s, "restarting");
	return r ? r : lifecycle_wait_ready(line, &o->ready, e, s);
}

static int cmd_restart(const struct command_line *line)
{
	return lifecycle_for_each(line, lifecycle_restart_sandbox);
}

#define OPTIONS struct restart_options
static const struct option restart_options[] = {
	{SET(ready_set, ready)},
	{SET(time_set, stop)},
	{0},
};
#undef OPTIONS

const struct command command_restart = {
	.name = "restart",
	.usage = "SANDBOX... [OPTION...]",
	.purpose = "restart sandboxes and wait until they are ready",
	.more = "A sandbox keeps its files and its key; its processes end.",
	.examples = {"od-runtime restart -t 30s box"},
	.operands = 1,
	.variadic = true,
	.subject = SUBJECT_SANDBOX,
	.options = restart_options,
	.options_size = sizeof(struct restart_options),
	.run = cmd_restart,
};

/* --- pause, resume, kill, wait ------------------------------------------------------ */

static int lifecycle_check_running(const struct sandbox *s)
{
	return s->running
		? 0
		: out_fail("od-runtime ps lists the sandboxes with their states",
			  "the sandbox %s is not running", s->state.name);
}

static int lifecycle_pause_sandbox(
	const struct command_line *line, const struct engine *e, struct sandbox *s)
{
	int r = lifecycle_check_running(s);

	if (!r && !s->paused)
		r = lifecycle_post_action(e, s, "pause", "pausing");
	return r ? r : lifecycle_print(line, s, "paused");
}

static int cmd_pause(const struct command_line *line)
{
	return lifecycle_for_each(line, lifecycle_pause_sandbox);
}

const struct command command_pause = {
	.name = "pause",
	.usage = "SANDBOX... [OPTION...]",
	.purpose = "pause all processes of sandboxes",
	.examples = {"od-runtime pause box"},
	.operands = 1,
	.variadic = true,
	.subject = SUBJECT_SANDBOX,
	.run = cmd_pause,
};

static int lifecycle_resume_sandbox(
	const struct command_line *line, const struct engine *e, struct sandbox *s)
{
	int r = lifecycle_check_running(s);

	if (!r && s->paused)
		r = lifecycle_post_action(e, s, "unpause", "resuming");
	return r ? r : lifecycle_print(line, s, "resumed");
}

static int cmd_resume(const struct command_line *line)
{
	return lifecycle_for_each(line, lifecycle_resume_sandbox);
}

const struct command command_resume = {
	.name = "resume",
	.usage = "SANDBOX... [OPTION...]",
	.purpose = "resume paused sandboxes",
	.examples = {"od-runtime resume box"},
	.operands = 1,
	.variadic = true,
	.subject = SUBJECT_SANDBOX,
	.run = cmd_resume,
};

static int lifecycle_kill_sandbox(
	const struct command_line *line, const struct engine *e, struct sandbox *s)
{
	const struct kill_options *o = line->options;
	struct reply reply;
	int r = lifecycle_check_running(s);

	if (r)
		return r;
	r = engine_request(e, &reply, "POST", (struct str){0},
		"/containers/%s/kill?signal=%s", s->state.id,
		o->signal ? o->signal : "KILL");
	r = lifecycle_check_reply(r, &reply, s, "killing");
	return r ? r : lifecycle_print(line, s, "killed");
}

static int cmd_kill(const struct command_line *line)
{
	return lifecycle_for_each(line, lifecycle_kill_sandbox);
}

#define OPTIONS struct kill_options
static const struct option kill_options[] = {
	{"signal", "SIGNAL", "send SIGNAL", TEXT, .letter = 's', AT(signal),
		DEFAULT("KILL"), EXAMPLE("TERM"), GROUP(LIFECYCLE)},
	{0},
};
#undef OPTIONS

const struct command command_kill = {
	.name = "kill",
	.usage = "SANDBOX... [OPTION...]",
	.purpose = "send a signal to sandboxes",
	.examples = {"od-runtime kill box", "od-runtime kill -s TERM box"},
	.operands = 1,
	.variadic = true,
	.subject = SUBJECT_SANDBOX,
	.options = kill_options,
	.options_size = sizeof(struct kill_options),
	.run = cmd_kill,
};

static int lifecycle_wait_print_code(
	const struct command_line *line, const struct sandbox *s, int64_t code)
{
	struct buf out = BUF_INIT(INJECT_TEXT_MAX);
	struct jw w;
	int r;

	if (line->json) {
		lifecycle_begin_json(s, &w, &out);
		jw_key(&w, "exit_code");
		jw_int(&w, code);
		jw_end(&w);
		buf_putc(&out, '\n');
	} else {
		buf_fmt(&out, "%lld\n", (long long)code);
	}
	r = out_write_buf(&out);
	buf_free(&out);
	return r;
}

static int lifecycle_wait_sandbox(
	const struct command_line *line, const struct engine *e, struct sandbox *s)
{
	struct target target;
	struct reply reply;
	int64_t code = s->exit_code;
	struct json_doc d;
	int r;

	target_init(&target, ENGINE_TARGET_MAX);
	target_add(&target, "/containers/%s/wait", s->state.id);
	r = lifecycle_post_target(e, &target, 0, &reply);
	target_free(&target);
	if (!r && reply.status != 200)
		r = engine_fail_reply(&reply, NULL,
			"waiting for the end of the sandbox %s", s->state.name);
	if (!r && json_doc_parse(&d, buf_view(&reply.body)) == 0) {
		code = json_doc_int(json_get(json_doc_root(&d), "StatusCode"), code);
		json_doc_free(&d);
	}
	reply_free(&reply);
	return r ? r : lifecycle_wait_print_code(line, s, code);
}

static int cmd_wait(const struct command_line *line)
{
	return lifecycle_for_each(line, lifecycle_wait_sandbox);
}

const struct command command_wait = {
	.name = "wait",
	.usage = "SANDBOX... [OPTION...]",
	.purpose = "wait until sandboxes stop, and print their exit codes",
	.examples = {"od-runtime wait box"},
	.operands = 1,
	.variadic = true,
	.subject = SUBJECT_SANDBOX,
	.run = cmd_wait,
};
