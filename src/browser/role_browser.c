#include "browser/role_browser.h"

#include "base/b64.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/exit.h"
#include "base/fd.h"
#include "base/jw.h"
#include "base/lines.h"
#include "base/log.h"
#include "browser/action/answer.h"
#include "browser/drive.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	CHANNEL = 3,
	CALL_MS = 120000, /* for a call without a timeout */
	TIDY_MS = 2000,   /* part of a timeout, to end before the server ends the call */
	WHY_MAX = 4096,
	SEE_MS = 2000, /* for a picture of the page; actions wait meanwhile */
};

/* A call in the queue. */
struct call {
	uint64_t id;
	bool sees; /* requests a picture, not an action */
	struct buf frame;
};

struct role {
	struct drive drive;
	struct lines lines;
	struct call calls[PLUGIN_CALLS_MAX];
	size_t calls_n;
	uint64_t current; /* ID of the call that runs; 0: none */
	bool cancelled;   /* the server has cancelled the call that runs */
	bool stopping;
};

/* --- To the server ---------------------------------------------------------------- */

/* If the server has closed the channel, the role stops. */
static void send_frame(struct role *role, struct str frame)
{
	if (fd_write_all(CHANNEL, frame.p, frame.n) < 0 ||
		fd_write_all(CHANNEL, "\n", 1) < 0)
		role->stopping = true;
}

static void say(struct role *role, const char *op, struct str why)
{
	struct buf frame = BUF_INIT(2 * WHY_MAX * 6);
	struct jw w;

	jw_init(&w, &frame);
	jw_object(&w);
	jw_key(&w, "op");
	jw_cstr(&w, op);
	if (why.n) {
		jw_key(&w, "why");
		jw_str(&w, why);
	}
	jw_end(&w);
	if (!frame.err)
		send_frame(role, buf_view(&frame));
	buf_free(&frame);
}

/*
 * Values from the browser may contain newlines between JSON tokens. A blank has the
 * effect of a newline there.
 */
static void make_line(struct buf *frame)
{
	char *at = frame->p, *end = frame->p + frame->n;

	while ((at = memchr(at, '\n', (size_t)(end - at))))
		*at++ = ' ';
}

static void reply(struct role *role, uint64_t id, struct str key, struct str json)
{
	struct buf frame = BUF_INIT(OBSERVATION_MAX);

	buf_fmt(&frame, "{\"op\":\"reply\",\"id\":%llu,\"%.*s\":", (unsigned long long)id,
		STR_ARG(key));
	buf_str(&frame, json);
	buf_putc(&frame, '}');
	if (!frame.err) {
		make_line(&frame);
		send_frame(role, buf_view(&frame));
	} else {
		role->stopping = true;
	}
	buf_free(&frame);
}

/* now: the picture is current; else it is the last one that was taken. */
static void reply_seen(struct role *role, uint64_t id, bool now)
{
	struct buf frame = BUF_INIT(2 * OBSERVE_PICTURE_MAX);

	buf_fmt(&frame,
		"{\"op\":\"reply\",\"id\":%llu,\"status\":200,\"headers\":{"
		"\"content-type\":\"image/png\",\"cache-control\":\"no-store\","
		"\"x-od-seen\":\"%s\"},\"body64\":\"",
		(unsigned long long)id, now ? "now" : "before");
	b64_encode(&frame, buf_view(&role->drive.seen));
	buf_puts(&frame, "\"}");
	if (!frame.err)
		send_frame(role, buf_view(&frame));
	else
		role->stopping = true;
	buf_free(&frame);
}

/* Sends a picture of the screencast. */
static void show(void *arg, struct str jpeg)
{
	struct buf frame = BUF_INIT(2 * OBSERVE_PICTURE_MAX);

	buf_puts(&frame, "{\"op\":\"picture\",\"jpeg\":\"");
	buf_str(&frame, jpeg);
	buf_puts(&frame, "\"}");
	/* A picture that does not fit is dropped. The next picture replaces it. */
	if (!frame.err)
		send_frame(arg, buf_view(&frame));
	buf_free(&frame);
}

static void look_on(struct role *role, bool on)
{
	role->drive.picture = on ? show : NULL;
	drive_look_on(&role->drive);
}

/* --- From the server -------------------------------------------------------------- */

static int read_json(struct str line, struct json *json, struct arena *a)
{
	static const struct json_caps caps = {
		JSON_DEPTH_MAX, JSON_TOKENS_MAX, JSON_KEYS_MAX};
	struct json_error e;

	return json_parse(json, line, &caps, a, &e);
}

static void add_call(struct role *role, uint64_t id, bool sees, struct str frame)
{
	struct call *c = &role->calls[role->calls_n];

	/* The server has no more pending calls than this. */
	if (role->calls_n == PLUGIN_CALLS_MAX) {
		role->stopping = true;
		return;
	}
	*c = (struct call){.id = id, .sees = sees, .frame = BUF_INIT(PLUGIN_FRAME_MAX)};
	buf_str(&c->frame, frame);
	role->calls_n++;
}

/* Removes a call from the queue. The caller frees its frame. */
static struct call take_call(struct role *role, size_t i)
{
	struct call c = role->calls[i];

	role->calls_n--;
	memmove(&role->calls[i], &role->calls[i + 1],
		(role->calls_n - i) * sizeof(role->calls[0]));
	return c;
}

static void cancel(struct role *role, uint64_t id)
{
	size_t i = 0;

	role->cancelled = role->cancelled || id == role->current;
	while (i < role->calls_n && role->calls[i].id != id)
		i++;
	if (i < role->calls_n) {
		struct call c = take_call(role, i);

		buf_free(&c.frame);
	}
}

/* Queues a call. A request for a picture gets the last picture if an action runs. */
static void hear_call(
	struct role *role, uint64_t id, struct json_val root, struct str frame)
{
	bool sees = json_type(json_get(root, "method")) != JSON_ABSENT;

	if (sees && (role->current || role->calls_n) && role->drive.seen.n)
		reply_seen(role, id, false);
	else
		add_call(role, id, sees, frame);
}

static void take_frame(struct role *role, struct str line)
{
	struct json_val root;
	struct arena a;
	struct json json;
	struct str op, cwd;
	int64_t id = 0;
	int r;

	arena_init(&a, PLUGIN_JSON_MAX);
	r = read_json(line, &json, &a);
	if (r)
		goto out;
	root = json_root(&json);
	r = json_str(json_get(root, "op"), &a, &op);
	if (!r && json_i64(json_get(root, "id"), &id))
		id = 0;
	if (!r && str_eq(op, STR("call")))
		hear_call(role, (uint64_t)id, root, line);
	else if (!r && str_eq(op, STR("cancel")))
		cancel(role, (uint64_t)id);
	else if (!r && str_eq(op, STR("stop")))
		role->stopping = true;
	else if (!r && str_eq(op, STR("ping")))
		say(role, "pong", STR(""));
	else if (!r && (str_eq(op, STR("watch")) || str_eq(op, STR("unwatch"))))
		look_on(role, op.p[0] == 'w');
	else if (!r && json_str(json_get(root, "cwd"), &a, &cwd) == 0)
		snprintf(role->drive.cwd, sizeof(role->drive.cwd), "%.*s", STR_ARG(cwd));
out:
	/* Our server sends no such frame. */
	if (r)
		log_error("browser: a frame that cannot be read: %s", err_text(r));
	arena_reset(&a);
}

/* Receives frames of the server. -ECANCELED: the call is cancelled, or the role stops. */
static int hear(void *arg)
{
	static char room[PLUGIN_READ];
	struct role *role = arg;
	ssize_t n = recv(CHANNEL, room, sizeof(room), MSG_DONTWAIT);
	struct str in = str_make(room, n > 0 ? (size_t)n : 0), line;
	int r = 0;

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		role->stopping = true;
	while (in.n && !r && !(r = lines_next(&role->lines, &in, &line)))
		take_frame(role, line);
	if (r < 0)
		role->stopping = true;
	return role->stopping || role->cancelled ? -ECANCELED : 0;
}

/* --- Calls ------------------------------------------------------------------------ */

static int read_task(struct json_val root, struct arena *a, struct drive_task *task)
{
	struct json_val args = json_get(root, "args");
	double timeout = 0;
	struct str action;
	int r = json_str(json_get(root, "action"), a, &action);

	if (r)
		return r;
	if (json_double(json_get(root, "timeout"), &timeout) ||
		timeout * 1000 < TIDY_MS || timeout * 1000 > TIMEOUT_MAX)
		timeout = CALL_MS / 1000.0;
	task->deadline = clock_ms() + (uint64_t)(timeout * 1000) - TIDY_MS;
	task->visit = str_eq(action, STR("browse"));
	/* Clients from 0.43 on send return_axtree, with any value. */
	task->knows_path = json_type(json_get(args, "return_axtree")) != JSON_ABSENT;
	/* Any value but true counts as false. */
	if (json_bool(json_get(args, "return_axtree"), &task->wants_tree))
		task->wants_tree = false;
	return json_str(
		json_get(args, task->visit ? "url" : "browser_actions"), a, &task->what);
}

/*
 * Starts the browser if none runs. False: no browser can be started. With an endpoint
 * the result is always true: the endpoint may become available later.
 */
static bool start(struct role *role, struct buf *why)
{
	int r = drive_start(&role->drive, why);

	if (!r || r == -ECANCELED)
		return true;
	if (!why->n)
		buf_puts(why, err_text(r));
	if (!role->drive.endpoint)
		say(role, "unavailable", buf_view(why));
	return role->drive.endpoint;
}

/* Like start, but discards the error text. */
static bool start_early(struct role *role)
{
	struct buf why = BUF_INIT(WHY_MAX);
	bool good = start(role, &why);

	buf_free(&why);
	return good;
}

/* If the browser is lost here, the next request detects it. */
static void do_see(struct role *role, struct call *c)
{
	int r = -ENOENT;

	role->current = c->id;
	role->cancelled = false;
	if (role->drive.state == DRIVE_RUNNING)
		r = drive_see(&role->drive, clock_ms() + SEE_MS);
	role->current = 0;
	if (role->stopping || role->cancelled)
		;
	else if (role->drive.seen.n)
		reply_seen(role, c->id, r == 0);
	else if (r == -ENOENT)
		reply(role, c->id, STR("error"),
			STR("\"No browser runs: the next browse action starts one.\""));
	else
		reply(role, c->id, STR("error"), STR("\"The page lets nobody look.\""));
	role->cancelled = false;
}

static bool do_call(struct role *role, struct call *c)
{
	struct buf out = BUF_INIT(OBSERVATION_MAX), why = BUF_INIT(WHY_MAX);
	struct drive_task task = {0};
	struct arena a;
	struct json json;
	bool good = true;
	int r;

	arena_init(&a, PLUGIN_JSON_MAX);
	role->current = c->id;
	role->cancelled = false;
	r = read_json(buf_view(&c->frame), &json, &a);
	if (!r)
		r = read_task(json_root(&json), &a, &task);
	if (!r)
		good = start(role, &why);
	if (!r && good && role->drive.state != DRIVE_RUNNING)
		answer_failure(task.visit, task.what, buf_view(&why), &out);
	else if (!r && good)
		r = drive_do(&role->drive, &task, &out);
	if (!role->cancelled && !role->stopping && good) {
		if (r)
			reply(role, c->id, STR("error"),
				STR("\"The browser is out of memory.\""));
		else
			reply(role, c->id, STR("observation"), buf_view(&out));
	}
	role->current = 0;
	role->cancelled = false;
	buf_free(&out);
	buf_free(&why);
	arena_reset(&a);
	return good;
}

static void role_wait(struct role *role)
{
	struct pollfd w = {.fd = CHANNEL, .events = POLLIN};

	if (poll(&w, 1, -1) > 0 && hear(role) < 0)
		role->stopping = true;
}

/*
 * Starts the browser before the first call. Its files are in the working directory,
 * which the first frame of the server names.
 */
static bool start_at_once(struct role *role)
{
	while (!role->drive.cwd[0] && !role->stopping)
		role_wait(role);
	return role->stopping || start_early(role);
}

/* Waits for input or runs the next call. False: there is no browser, so the role ends. */
static bool work(struct role *role)
{
	struct call c;
	bool good = true;

	if (!role->calls_n && role->drive.state == DRIVE_RUNNING) {
		if (drive_idle(&role->drive) != ERR_CLOSED)
			return true;
		/*
		 * An external browser may have been closed on purpose. It is not
		 * reconnected at once.
		 */
		if (!role->drive.endpoint)
			return start_early(role);
		drive_lose(&role->drive);
	}
	if (!role->calls_n) {
		role_wait(role);
		return true;
	}
	c = take_call(role, 0);
	if (c.sees)
		do_see(role, &c);
	else
		good = do_call(role, &c);
	buf_free(&c.frame);
	/* A lost browser is started again with its pages before the next call. */
	if (good && role->drive.state == DRIVE_OFF && role->drive.kept.n &&
		!role->drive.endpoint)
		start_early(role);
	return good;
}

int role_browser(void)
{
	static struct role role;
	bool good = true;

	drive_init(&role.drive, (const char *const *)environ);
	role.drive.also = CHANNEL;
	role.drive.woken = hear;
	role.drive.arg = &role;
	lines_init(&role.lines, PLUGIN_FRAME_MAX - 1);
	say(&role, "ready", STR(""));
	if (env_value((const char *const *)environ, "OD_BROWSER_START"))
		good = start_at_once(&role);
	while (good && !role.stopping)
		good = work(&role);
	drive_free(&role.drive);
	while (role.calls_n) {
		struct call c = take_call(&role, 0);

		buf_free(&c.frame);
	}
	lines_free(&role.lines);
	return good ? EXIT_DONE : EXIT_ENVIRONMENT;
}
