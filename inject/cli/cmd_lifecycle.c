/* Commands for whole sandboxes: start, restart, stop, rm, pause, resume, kill, wait. */
#include "inject/cli/commands.h"

#include "base/jw.h"
#include "inject/console/out.h"
#include "inject/image/cache.h"
#include "inject/sandbox/sandbox_info.h"
#include "inject/sandbox/sandbox_ready.h"
#include "limits.h"

#include <errno.h>
#include <stdio.h>

/* Handles a sandbox and prints its line with print. */
typedef int lifecycle_fn(
	const struct options *o, const struct engine *e, struct sandbox *s);

static void lifecycle_begin_json(const struct sandbox *s, struct jw *w, struct buf *out)
{
	jw_init(w, out);
	jw_object(w);
	jw_key(w, "name");
	jw_cstr(w, s->state.name);
}

static int lifecycle_print(
	const struct options *o, const struct sandbox *s, const char *done)
{
	struct buf out = BUF_INIT(INJECT_TEXT_MAX);
	struct jw w;

	if (o->json) {
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
static int lifecycle_handle_injected(const struct options *o, const struct sandbox *s)
{
	if (o->command->bit == FOR_START || o->command->bit == FOR_RESTART)
		return out_fail("use the engine's own tools, such as docker restart, and "
				"od-runtime inject then",
			"%s is no container of od-runtime's making", s->state.name);
	if (o->command->bit != FOR_RM)
		return out_fail("use the engine's own tools, such as docker stop",
			"%s is no container of od-runtime's making", s->state.name);
	state_remove(s->state.name);
	return lifecycle_print(o, s, "removed");
}

/*
 * Handles every operand in order, whatever the result of those before it; the first
 * failure is the result.
 */
static int lifecycle_for_each(const struct options *o, lifecycle_fn *fn)
{
	struct engine e;
	int first, r = engine_open(&e, o->host);

	first = r;
	for (size_t i = 0; !r && i < o->operand_n; i++) {
		struct sandbox s;
		int own = sandbox_require(&e, o->operand[i], &s);

		if (!own && s.injected)
			own = lifecycle_handle_injected(o, &s);
		else if (!own)
			own = fn(o, &e, &s);
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

/* Stops a sandbox; the engine answers when it has stopped, which may take long. */
static int lifecycle_stop_sandbox(
	const struct options *o, const struct engine *e, struct sandbox *s)
{
	int seconds = o->has_time ? (int)o->time : s->stop_seconds;
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
	return r ? r : lifecycle_print(o, s, "stopped");
}

int cmd_stop(const struct options *o)
{
	return lifecycle_for_each(o, lifecycle_stop_sandbox);
}

static int lifecycle_rm_sandbox(
	const struct options *o, const struct engine *e, struct sandbox *s)
{
	struct reply reply;
	int r;

	if (s->running && !o->force)
		return out_fail(
			"stop it first, or rm -f", "the sandbox %s runs", s->state.name);
	r = engine_request(e, &reply, "DELETE", (struct str){0},
		"/containers/%s?v=1&force=%d", s->state.id, o->force);
	if (!r && reply.status >= 400 && reply.status != 404)
		r = engine_fail_reply(&reply, NULL, "removing %s", s->state.name);
	reply_free(&reply);
	if (r)
		return r;
	sandbox_remove_state(e, &s->state);
	return lifecycle_print(o, s, "removed");
}

int cmd_rm(const struct options *o)
{
	return lifecycle_for_each(o, lifecycle_rm_sandbox);
}

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

static int lifecycle_start_wait_ready(
	const struct options *o, const struct engine *e, struct sandbox *s)
{
	int r = sandbox_ready_wait(e, s, o->timeout_start);

	out_step_end();
	state_wipe_key(&s->state);
	return r ? r : sandbox_info_print(e, &s->state, o->json, NULL, NULL);
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
				"if a file that it was made with is gone, an image of it "
				"(docker commit) still has its files",
				"starting %s", s->state.name);
		reply_free(&reply);
		if (r || !again)
			return r;
	}
}

static int lifecycle_start_sandbox(
	const struct options *o, const struct engine *e, struct sandbox *s)
{
	int r = 0;

	if (s->paused)
		return out_fail("od-runtime resume lets it go on",
			"the sandbox %s is paused", s->state.name);
	out_step("starting: %s", s->state.name);
	if (!s->running)
		r = lifecycle_start_post(e, s);
	return r ? r : lifecycle_start_wait_ready(o, e, s);
}

int cmd_start(const struct options *o)
{
	return lifecycle_for_each(o, lifecycle_start_sandbox);
}

static int lifecycle_restart_sandbox(
	const struct options *o, const struct engine *e, struct sandbox *s)
{
	struct target target;
	struct reply reply;
	int r;

	out_step("restarting: %s", s->state.name);
	target_init(&target, ENGINE_TARGET_MAX);
	target_add(&target, "/containers/%s/restart?t=%llu", s->state.id,
		(unsigned long long)o->time);
	r = lifecycle_post_target(
		e, &target, (uint32_t)o->time * 1000 + INJECT_ENGINE_MS, &reply);
	target_free(&target);
	r = lifecycle_check_reply(r, &reply, s, "restarting");
	return r ? r : lifecycle_start_wait_ready(o, e, s);
}

int cmd_restart(const struct options *o)
{
	return lifecycle_for_each(o, lifecycle_restart_sandbox);
}

/* --- pause, resume, kill, wait ------------------------------------------------------ */

static int lifecycle_check_running(const struct sandbox *s)
{
	return s->running ? 0
			  : out_fail("od-runtime ps shows those that do",
				    "the sandbox %s does not run", s->state.name);
}

static int lifecycle_pause_sandbox(
	const struct options *o, const struct engine *e, struct sandbox *s)
{
	int r = lifecycle_check_running(s);

	if (!r && !s->paused)
		r = lifecycle_post_action(e, s, "pause", "pausing");
	return r ? r : lifecycle_print(o, s, "paused");
}

int cmd_pause(const struct options *o)
{
	return lifecycle_for_each(o, lifecycle_pause_sandbox);
}

static int lifecycle_resume_sandbox(
	const struct options *o, const struct engine *e, struct sandbox *s)
{
	int r = lifecycle_check_running(s);

	if (!r && s->paused)
		r = lifecycle_post_action(e, s, "unpause", "resuming");
	return r ? r : lifecycle_print(o, s, "resumed");
}

int cmd_resume(const struct options *o)
{
	return lifecycle_for_each(o, lifecycle_resume_sandbox);
}

static int lifecycle_kill_sandbox(
	const struct options *o, const struct engine *e, struct sandbox *s)
{
	struct reply reply;
	int r = lifecycle_check_running(s);

	if (r)
		return r;
	r = engine_request(e, &reply, "POST", (struct str){0},
		"/containers/%s/kill?signal=%s", s->state.id,
		o->signal ? o->signal : "KILL");
	r = lifecycle_check_reply(r, &reply, s, "killing");
	return r ? r : lifecycle_print(o, s, "killed");
}

int cmd_kill(const struct options *o)
{
	return lifecycle_for_each(o, lifecycle_kill_sandbox);
}

static int lifecycle_wait_print_code(
	const struct options *o, const struct sandbox *s, int64_t code)
{
	struct buf out = BUF_INIT(INJECT_TEXT_MAX);
	struct jw w;
	int r;

	if (o->json) {
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
	const struct options *o, const struct engine *e, struct sandbox *s)
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
		r = engine_fail_reply(&reply, NULL, "waiting for %s", s->state.name);
	if (!r && json_doc_parse(&d, buf_view(&reply.body)) == 0) {
		code = json_doc_int(json_get(json_doc_root(&d), "StatusCode"), code);
		json_doc_free(&d);
	}
	reply_free(&reply);
	return r ? r : lifecycle_wait_print_code(o, s, code);
}

int cmd_wait(const struct options *o)
{
	return lifecycle_for_each(o, lifecycle_wait_sandbox);
}
