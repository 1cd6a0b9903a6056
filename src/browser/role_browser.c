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
	MARGIN_MS = 2000, /* part of a timeout, to end before the server ends the call */
	REASON_MAX = 4096,
	CAPTURE_MS = 2000, /* for a picture of the page; actions wait meanwhile */
};

/* A call in the queue. */
struct browser_request {
	uint64_t id;
	bool is_capture; /* requests a picture, not an action */
	struct buf frame;
};

struct browser_role {
	struct drive drive;
	struct lines lines;
	struct browser_request calls[PLUGIN_CALLS_MAX];
	size_t calls_n;
	uint64_t current; /* ID of the call that runs; 0: none */
	bool cancelled;   /* the server has cancelled the call that runs */
	bool stopping;
};

/* --- To the server ---------------------------------------------------------------- */

/* If the server has closed the channel, the role stops. */
static void role_browser_send_frame(struct browser_role *role, struct str frame)
{
	if (fd_write_all(CHANNEL, frame.p, frame.n) < 0 ||
		fd_write_all(CHANNEL, "\n", 1) < 0)
		role->stopping = true;
}

static void role_browser_send_op(
	struct browser_role *role, const char *op, struct str why)
{
	struct buf frame = BUF_INIT(2 * REASON_MAX * 6);
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
		role_browser_send_frame(role, buf_view(&frame));
	buf_free(&frame);
}

/*
 * Values from the browser may contain newlines between JSON tokens. A blank has the
 * effect of a newline there.
 */
static void role_browser_join_lines(struct buf *frame)
{
	char *at = frame->p, *end = frame->p + frame->n;

	while ((at = memchr(at, '\n', (size_t)(end - at))))
		*at++ = ' ';
}

static void role_browser_reply(
	struct browser_role *role, uint64_t id, struct str key, struct str json)
{
	struct buf frame = BUF_INIT(OBSERVATION_MAX);

	buf_fmt(&frame, "{\"op\":\"reply\",\"id\":%llu,\"%.*s\":", (unsigned long long)id,
		STR_ARG(key));
	buf_str(&frame, json);
	buf_putc(&frame, '}');
	if (!frame.err) {
		role_browser_join_lines(&frame);
		role_browser_send_frame(role, buf_view(&frame));
	} else {
		role->stopping = true;
	}
	buf_free(&frame);
}

/* now: the picture is current; else it is the last one that was taken. */
static void role_browser_reply_png(struct browser_role *role, uint64_t id, bool now)
{
	struct buf frame = BUF_INIT(2 * OBSERVE_PICTURE_MAX);

	buf_fmt(&frame,
		"{\"op\":\"reply\",\"id\":%llu,\"status\":200,\"headers\":{"
		"\"content-type\":\"image/png\",\"cache-control\":\"no-store\","
		"\"x-od-seen\":\"%s\"},\"body64\":\"",
		(unsigned long long)id, now ? "now" : "before");
	b64_encode(&frame, buf_view(&role->drive.screenshot));
	buf_puts(&frame, "\"}");
	if (!frame.err)
		role_browser_send_frame(role, buf_view(&frame));
	else
		role->stopping = true;
	buf_free(&frame);
}

/* Sends a picture of the screencast. */
static void role_browser_on_picture(void *arg, struct str jpeg)
{
	struct buf frame = BUF_INIT(2 * OBSERVE_PICTURE_MAX);

	buf_puts(&frame, "{\"op\":\"picture\",\"jpeg\":\"");
	buf_str(&frame, jpeg);
	buf_puts(&frame, "\"}");
	/* A picture that does not fit is dropped. The next picture replaces it. */
	if (!frame.err)
		role_browser_send_frame(arg, buf_view(&frame));
	buf_free(&frame);
}

static void role_browser_set_cast(struct browser_role *role, bool on)
{
	role->drive.on_picture = on ? role_browser_on_picture : NULL;
	drive_update_cast(&role->drive);
}

/* --- From the server -------------------------------------------------------------- */

static int role_browser_parse_json(struct str line, struct json *json, struct arena *a)
{
	static const struct json_caps caps = {
		JSON_DEPTH_MAX, JSON_TOKENS_MAX, JSON_KEYS_MAX};
	struct json_error e;

	return json_parse(json, line, &caps, a, &e);
}

static void role_browser_add_call(
	struct browser_role *role, uint64_t id, bool sees, struct str frame)
{
	struct browser_request *c = &role->calls[role->calls_n];

	/* The server has no more pending calls than this. */
	if (role->calls_n == PLUGIN_CALLS_MAX) {
		role->stopping = true;
		return;
	}
	*c = (struct browser_request){
		.id = id, .is_capture = sees, .frame = BUF_INIT(PLUGIN_FRAME_MAX)};
	buf_str(&c->frame, frame);
	role->calls_n++;
}

/* Removes a call from the queue. The caller frees its frame. */
static struct browser_request role_browser_remove_call(
	struct browser_role *role, size_t i)
{
	struct browser_request c = role->calls[i];

	role->calls_n--;
	memmove(&role->calls[i], &role->calls[i + 1],
		(role->calls_n - i) * sizeof(role->calls[0]));
	return c;
}

static void role_browser_cancel(struct browser_role *role, uint64_t id)
{
	size_t i = 0;

	role->cancelled = role->cancelled || id == role->current;
	while (i < role->calls_n && role->calls[i].id != id)
		i++;
	if (i < role->calls_n) {
		struct browser_request c = role_browser_remove_call(role, i);

		buf_free(&c.frame);
	}
}

/* Queues a call. A request for a picture gets the last picture if an action runs. */
static void role_browser_on_call(
	struct browser_role *role, uint64_t id, struct json_val root, struct str frame)
{
	bool sees = json_type(json_get(root, "method")) != JSON_ABSENT;

	if (sees && (role->current || role->calls_n) && role->drive.screenshot.n)
		role_browser_reply_png(role, id, false);
	else
		role_browser_add_call(role, id, sees, frame);
}

static void role_browser_on_frame(struct browser_role *role, struct str line)
{
	struct json_val root;
	struct arena a;
	struct json json;
	struct str op, cwd;
	int64_t id = 0;
	int r;

	arena_init(&a, PLUGIN_JSON_MAX);
	r = role_browser_parse_json(line, &json, &a);
	if (r)
		goto out;
	root = json_root(&json);
	r = json_str(json_get(root, "op"), &a, &op);
	if (!r && json_i64(json_get(root, "id"), &id))
		id = 0;
	if (!r && str_eq(op, STR("call")))
		role_browser_on_call(role, (uint64_t)id, root, line);
	else if (!r && str_eq(op, STR("cancel")))
		role_browser_cancel(role, (uint64_t)id);
	else if (!r && str_eq(op, STR("stop")))
		role->stopping = true;
	else if (!r && str_eq(op, STR("ping")))
		role_browser_send_op(role, "pong", STR(""));
	else if (!r && (str_eq(op, STR("watch")) || str_eq(op, STR("unwatch"))))
		role_browser_set_cast(role, op.p[0] == 'w');
	else if (!r && json_str(json_get(root, "cwd"), &a, &cwd) == 0)
		snprintf(role->drive.cwd, sizeof(role->drive.cwd), "%.*s", STR_ARG(cwd));
out:
	/* Our server sends no such frame. */
	if (r)
		log_error("browser: a frame from the server cannot be read: %s",
			err_text(r));
	arena_reset(&a);
}

/* Receives frames of the server. -ECANCELED: the call is cancelled, or the role stops. */
static int role_browser_receive(void *arg)
{
	static char room[PLUGIN_READ];
	struct browser_role *role = arg;
	ssize_t n = recv(CHANNEL, room, sizeof(room), MSG_DONTWAIT);
	struct str in = str_make(room, n > 0 ? (size_t)n : 0), line;
	int r = 0;

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		role->stopping = true;
	while (in.n && !r && !(r = lines_next(&role->lines, &in, &line)))
		role_browser_on_frame(role, line);
	if (r < 0)
		role->stopping = true;
	return role->stopping || role->cancelled ? -ECANCELED : 0;
}

/* --- Calls ------------------------------------------------------------------------ */

static int role_browser_parse_task(
	struct json_val root, struct arena *a, struct drive_task *task)
{
	struct json_val args = json_get(root, "args");
	double timeout = 0;
	struct str action;
	int r = json_str(json_get(root, "action"), a, &action);

	if (r)
		return r;
	if (json_double(json_get(root, "timeout"), &timeout) ||
		timeout * 1000 < MARGIN_MS || timeout * 1000 > TIMEOUT_MAX)
		timeout = CALL_MS / 1000.0;
	task->deadline = clock_ms() + (uint64_t)(timeout * 1000) - MARGIN_MS;
	task->visit = str_eq(action, STR("browse"));
	/* Clients from 0.43 on send return_axtree, with any value. */
	task->has_path_member = json_type(json_get(args, "return_axtree")) != JSON_ABSENT;
	/* Any value but true counts as false. */
	if (json_bool(json_get(args, "return_axtree"), &task->wants_tree))
		task->wants_tree = false;
	return json_str(json_get(args, task->visit ? "url" : "browser_actions"), a,
		&task->source);
}

/*
 * Starts the browser if none runs. False: no browser can be started. With an endpoint
 * the result is always true: the endpoint may become available later.
 */
static bool role_browser_start(struct browser_role *role, struct buf *why)
{
	int r = drive_start(&role->drive, why);

	if (!r || r == -ECANCELED)
		return true;
	if (!why->n)
		buf_puts(why, err_text(r));
	if (!role->drive.endpoint)
		role_browser_send_op(role, "unavailable", buf_view(why));
	return role->drive.endpoint;
}

/* Like role_browser_start, but discards the error text. */
static bool role_browser_restart(struct browser_role *role)
{
	struct buf why = BUF_INIT(REASON_MAX);
	bool good = role_browser_start(role, &why);

	buf_free(&why);
	return good;
}

/* If the browser is lost here, the next request detects it. */
static void role_browser_run_capture(struct browser_role *role, struct browser_request *c)
{
	int r = -ENOENT;

	role->current = c->id;
	role->cancelled = false;
	if (role->drive.state == DRIVE_RUNNING)
		r = drive_capture_page(&role->drive, clock_ms() + CAPTURE_MS);
	role->current = 0;
	if (role->stopping || role->cancelled)
		;
	else if (role->drive.screenshot.n)
		role_browser_reply_png(role, c->id, r == 0);
	else if (r == -ENOENT)
		role_browser_reply(role, c->id, STR("error"),
			STR("\"No browser runs: the next browse action starts one.\""));
	else
		role_browser_reply(role, c->id, STR("error"),
			STR("\"The page does not return a picture. Try again.\""));
	role->cancelled = false;
}

static bool role_browser_run_call(struct browser_role *role, struct browser_request *c)
{
	struct buf out = BUF_INIT(OBSERVATION_MAX), why = BUF_INIT(REASON_MAX);
	struct drive_task task = {0};
	struct arena a;
	struct json json;
	bool good = true;
	int r;

	arena_init(&a, PLUGIN_JSON_MAX);
	role->current = c->id;
	role->cancelled = false;
	r = role_browser_parse_json(buf_view(&c->frame), &json, &a);
	if (!r)
		r = role_browser_parse_task(json_root(&json), &a, &task);
	if (!r)
		good = role_browser_start(role, &why);
	if (!r && good && role->drive.state != DRIVE_RUNNING)
		browse_answer_put_failure(task.visit, task.source, buf_view(&why), &out);
	else if (!r && good)
		r = drive_run_task(&role->drive, &task, &out);
	if (!role->cancelled && !role->stopping && good) {
		if (r)
			role_browser_reply(role, c->id, STR("error"),
				STR("\"The browser is out of memory.\""));
		else
			role_browser_reply(
				role, c->id, STR("observation"), buf_view(&out));
	}
	role->current = 0;
	role->cancelled = false;
	buf_free(&out);
	buf_free(&why);
	arena_reset(&a);
	return good;
}

static void role_browser_wait(struct browser_role *role)
{
	struct pollfd w = {.fd = CHANNEL, .events = POLLIN};

	if (poll(&w, 1, -1) > 0 && role_browser_receive(role) < 0)
		role->stopping = true;
}

/*
 * Starts the browser before the first call. Its files are in the working directory,
 * which the first frame of the server names.
 */
static bool role_browser_start_first(struct browser_role *role)
{
	while (!role->drive.cwd[0] && !role->stopping)
		role_browser_wait(role);
	return role->stopping || role_browser_restart(role);
}

/* Waits for input or runs the next call. False: there is no browser, so the role ends. */
static bool role_browser_run_next(struct browser_role *role)
{
	struct browser_request c;
	bool good = true;

	if (!role->calls_n && role->drive.state == DRIVE_RUNNING) {
		if (drive_wait_event(&role->drive) != ERR_CLOSED)
			return true;
		/*
		 * An external browser may have been closed on purpose. It is not
		 * reconnected at once.
		 */
		if (!role->drive.endpoint)
			return role_browser_restart(role);
		drive_mark_lost(&role->drive);
	}
	if (!role->calls_n) {
		role_browser_wait(role);
		return true;
	}
	c = role_browser_remove_call(role, 0);
	if (c.is_capture)
		role_browser_run_capture(role, &c);
	else
		good = role_browser_run_call(role, &c);
	buf_free(&c.frame);
	/* A lost browser is started again with its pages before the next call. */
	if (good && role->drive.state == DRIVE_OFF && role->drive.lost_urls.n &&
		!role->drive.endpoint)
		role_browser_restart(role);
	return good;
}

int role_browser(void)
{
	static struct browser_role role;
	bool good = true;

	drive_init(&role.drive, (const char *const *)environ);
	role.drive.wake_fd = CHANNEL;
	role.drive.on_wake = role_browser_receive;
	role.drive.arg = &role;
	lines_init(&role.lines, PLUGIN_FRAME_MAX - 1);
	role_browser_send_op(&role, "ready", STR(""));
	if (env_value((const char *const *)environ, "OD_BROWSER_START"))
		good = role_browser_start_first(&role);
	while (good && !role.stopping)
		good = role_browser_run_next(&role);
	drive_free(&role.drive);
	while (role.calls_n) {
		struct browser_request c = role_browser_remove_call(&role, 0);

		buf_free(&c.frame);
	}
	lines_free(&role.lines);
	return good ? EXIT_DONE : EXIT_ENVIRONMENT;
}
