#include "browser/devtools/cdp.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/jw.h"
#include "limits.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

enum { CDP_KEPT_MAX = 128 << 20 }; /* bytes of all messages that are awaited */

enum {
	TOKENS_MAX = 4 << 20, /* 20 bytes each, in a process that is short-lived */
	KEYS_MAX = 65536,     /* of one object, such as the result of a script */
	OUT_MAX = 32 << 20,   /* queued for a browser that does not read */
	QUIET_MS = 800,       /* of silence, before a liveness check is sent */
	CHECK_MS = 100,       /* between tests while the check is not answered */
	DEPTH = 64,           /* of JSON; the result of a script may be as deep */
	WRITE_MAX = 1 << 16,  /* bytes at once */
};

static const struct json_caps caps = {DEPTH, TOKENS_MAX, KEYS_MAX};

void cdp_init(struct cdp *c, int in, int out)
{
	*c = (struct cdp){
		.in = in,
		.out = out,
		.queue = BUF_INIT(OUT_MAX),
		.wake_fd = -1,
		.read_time = clock_ms(),
	};
	cdp_pipe_init(&c->pipe);
	arena_init(&c->memory, CDP_MEMORY_MAX);
}

void cdp_init_socket(struct cdp *c, int fd)
{
	cdp_init(c, fd, fd);
	/* The pipe limits the length of messages. */
	ws_init(&c->ws, false, UINT64_MAX);
}

static bool cdp_is_socket(const struct cdp *c)
{
	return c->in == c->out;
}

static void cdp_release_reply(struct cdp_reply *r)
{
	buf_free(&r->text);
	*r = (struct cdp_reply){0};
}

void cdp_close(struct cdp *c)
{
	if (cdp_is_socket(c))
		c->out = -1;
	fd_close(&c->in);
	fd_close(&c->out);
	cdp_pipe_free(&c->pipe);
	buf_free(&c->queue);
	arena_reset(&c->memory);
	for (size_t i = 0; i < CDP_PENDING_MAX; i++)
		if (c->replies[i].id && !c->replies[i].arrived)
			c->replies[i].arrived = true, c->replies[i].err = ERR_CLOSED;
}

/* --- To the browser --------------------------------------------------------------- */

static void cdp_flush_queue(struct cdp *c)
{
	while (c->queue.n) {
		size_t n = c->queue.n < WRITE_MAX ? c->queue.n : WRITE_MAX;
		ssize_t put = write(c->out, c->queue.p, n);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return; /* a closed browser is detected by its silence */
		buf_consume(&c->queue, (size_t)put);
	}
	buf_free(&c->queue);
}

/* Reserves space for the head of a message. Returns where the message starts. */
static size_t cdp_begin_message(struct cdp *c)
{
	static const char room[WS_HEAD_MAX];
	size_t before = c->queue.n;

	if (cdp_is_socket(c))
		buf_put(&c->queue, room, sizeof(room));
	return before;
}

/* Completes a message: adds a NUL for a pipe, or a WebSocket head for a socket. */
static int cdp_end_message(struct cdp *c, size_t before, enum ws_op op)
{
	uint8_t head[WS_HEAD_MAX], key[4];
	size_t n, from = before + WS_HEAD_MAX, head_n;
	char *p;

	if (!cdp_is_socket(c)) {
		buf_putc(&c->queue, '\0');
		return c->queue.err;
	}
	if (c->queue.err)
		return c->queue.err;
	if (random_bytes(key, sizeof(key)))
		return ERR_CLOSED;
	n = c->queue.n - from;
	head_n = ws_write_head(head, op, true, n, key);
	p = c->queue.p + before;
	memcpy(p, head, head_n);
	memmove(p + head_n, p + WS_HEAD_MAX, n);
	ws_mask(p + head_n, n, key, 0);
	c->queue.n = before + head_n + n;
	return 0;
}

static int cdp_queue_request(struct cdp *c, uint64_t id, struct str session,
	const char *method, struct str params)
{
	size_t before;
	struct jw w;
	int r;

	if (c->out < 0)
		return ERR_CLOSED;
	before = cdp_begin_message(c);
	jw_init(&w, &c->queue);
	jw_object(&w);
	jw_key(&w, "id");
	jw_uint(&w, id);
	jw_key(&w, "method");
	jw_cstr(&w, method);
	jw_key(&w, "params");
	jw_raw(&w, params.n ? params : STR("{}"));
	if (session.n) {
		jw_key(&w, "sessionId");
		jw_str(&w, session);
	}
	jw_end(&w);
	r = cdp_end_message(c, before, WS_TEXT);
	if (r) {
		c->queue.n = before;
		c->queue.err = 0;
		return r;
	}
	cdp_flush_queue(c);
	return 0;
}

static struct cdp_reply *cdp_find_reply(struct cdp *c, uint64_t id)
{
	for (size_t i = 0; i < CDP_PENDING_MAX; i++)
		if (c->replies[i].id == id)
			return &c->replies[i];
	return NULL;
}

int cdp_send(struct cdp *c, struct str session, const char *method, struct str params,
	uint64_t *id)
{
	struct cdp_reply *reply = cdp_find_reply(c, 0);
	int r;

	if (!reply || session.n >= sizeof(reply->session))
		return ERR_LIMIT;
	r = cdp_queue_request(c, c->last_id + 1, session, method, params);
	if (r)
		return r;
	*reply =
		(struct cdp_reply){.id = ++c->last_id, .text = BUF_INIT(CDP_MESSAGE_MAX)};
	snprintf(reply->session, sizeof(reply->session), "%.*s", STR_ARG(session));
	*id = reply->id;
	return 0;
}

void cdp_post(struct cdp *c, struct str session, const char *method, struct str params)
{
	/* A message that does not fit is dropped: the caller does not need its result. */
	if (cdp_queue_request(c, c->last_id + 1, session, method, params) == 0)
		c->last_id++;
}

bool cdp_has_reply(struct cdp *c, uint64_t id)
{
	const struct cdp_reply *reply = cdp_find_reply(c, id);

	return !reply || reply->arrived;
}

void cdp_drop_reply(struct cdp *c, uint64_t id)
{
	struct cdp_reply *reply = id ? cdp_find_reply(c, id) : NULL;

	if (reply)
		cdp_release_reply(reply);
}

/* --- From the browser ------------------------------------------------------------- */

/* Removes what from the start of text; false if text does not start with it. */
static bool cdp_skip_prefix(struct str *text, struct str what)
{
	if (!str_starts(*text, what))
		return false;
	*text = str_skip(*text, what.n);
	return true;
}

static size_t cdp_count_stored(const struct cdp *c)
{
	size_t n = 0;

	for (size_t i = 0; i < CDP_PENDING_MAX; i++)
		n += c->replies[i].text.n;
	return n;
}

/* Stores an answer, {"id":7,"result":...}, unparsed if its request is pending. */
static void cdp_store_reply(struct cdp *c, struct str message, struct str number, int err)
{
	struct cdp_reply *reply;
	size_t digits = 0;
	uint64_t id = 0;

	while (digits < number.n && number.p[digits] >= '0' && number.p[digits] <= '9')
		digits++;
	if (str_u64(str_make(number.p, digits), UINT64_MAX, &id) || !id)
		return;
	if (id == c->check_id)
		c->check_time = 0;
	reply = cdp_find_reply(c, id);
	if (!reply || reply->arrived)
		return;
	reply->arrived = true;
	reply->err = message.n > CDP_KEPT_MAX - cdp_count_stored(c) ? ERR_LIMIT : err;
	if (!reply->err) {
		buf_str(&reply->text, message);
		reply->err = reply->text.err;
	}
}

/* Handles an event: {"method":"Page.x","params":{...},"sessionId":"..."}. */
static void cdp_handle_event(struct cdp *c, struct str message, struct str rest)
{
	struct str method = str_cut(&rest, '"'), session = {0};
	struct json_error e;
	struct json json;
	int r;

	if (!c->on_event || !c->has_handler(method) || message.n > CDP_EVENT_MAX)
		return;
	arena_rewind(&c->memory);
	/* An event that cannot be parsed is ignored. */
	if (json_parse(&json, message, &caps, &c->memory, &e))
		return;
	r = json_str(json_get(json_root(&json), "sessionId"), &c->memory, &session);
	if (!r || r == ERR_TYPE)
		c->on_event(
			c->ctx, session, method, json_get(json_root(&json), "params"));
}

static void cdp_handle_message(struct cdp *c, struct str message, int err)
{
	struct str rest = message;

	if (cdp_skip_prefix(&rest, STR("{\"id\":")))
		cdp_store_reply(c, message, rest, err);
	else if (!err && cdp_skip_prefix(&rest, STR("{\"method\":\"")))
		cdp_handle_event(c, message, rest);
}

/* Converts WebSocket frames to the format of the pipe. Answers pings. */
static int cdp_handle_frames(struct cdp *c, char *p, size_t n)
{
	struct ws_event e;
	int r;

	while ((r = ws_next(&c->ws, &p, &n, &e)) == 0) {
		if (e.op == WS_CLOSE)
			return ERR_CLOSED;
		if (e.op == WS_PING) {
			size_t before = cdp_begin_message(c);

			buf_str(&c->queue, e.data);
			r = cdp_end_message(c, before, WS_PONG);
			cdp_flush_queue(c);
		} else if (e.op == WS_TEXT || e.op == WS_BINARY) {
			r = cdp_pipe_put(&c->pipe, e.data);
			if (!r && e.last)
				r = cdp_pipe_put(&c->pipe, str_make("", 1));
		}
		if (r)
			return r;
	}
	return r < 0 ? ERR_CLOSED : 0;
}

static int cdp_read_input(struct cdp *c)
{
	static char room[CDP_READ];
	struct str message;
	ssize_t n = read(c->in, room, sizeof(room));
	int r;

	if (n < 0)
		return errno == EINTR || errno == EAGAIN ? 0 : ERR_CLOSED;
	if (n == 0)
		return ERR_CLOSED;
	c->read_time = clock_ms();
	r = cdp_is_socket(c) ? cdp_handle_frames(c, room, (size_t)n)
			     : cdp_pipe_put(&c->pipe, str_make(room, (size_t)n));
	while (r == 0) {
		r = cdp_pipe_next(&c->pipe, &message);
		if (r > 0)
			break;
		cdp_handle_message(c, message, r);
		r = 0;
	}
	return r < 0 ? r : 0;
}

/* --- Waiting ---------------------------------------------------------------------- */

static bool cdp_has_input(const struct cdp *c)
{
	struct pollfd p = {.fd = c->in, .events = POLLIN};

	return poll(&p, 1, 0) > 0;
}

/*
 * ERR_CLOSED: the browser has not answered the liveness check and c->patient has given
 * up. A browser that has just answered may already sleep again, so pending input is
 * checked, too.
 */
static int cdp_check_liveness(struct cdp *c, uint64_t now)
{
	uint64_t since = c->read_time > c->check_time ? c->read_time : c->check_time;
	int r;

	if (!c->on_silence || now - c->read_time < QUIET_MS)
		return 0;
	if (!c->check_time) {
		if (!c->on_silence(c->ctx, 0))
			return ERR_CLOSED;
		c->check_id = ++c->last_id;
		r = cdp_queue_request(
			c, c->check_id, STR(""), "Browser.getVersion", STR(""));
		c->check_time = now;
		return r;
	}
	return c->on_silence(c->ctx, now - since) || cdp_has_input(c) ? 0 : ERR_CLOSED;
}

static int cdp_poll_input(struct cdp *c, uint64_t until, struct pollfd w[3])
{
	uint64_t now = clock_ms(), ms = until > now ? until - now : 0;
	int r;

	if (c->on_silence) {
		uint64_t next = now - c->read_time < QUIET_MS
			? QUIET_MS - (now - c->read_time)
			: CHECK_MS;

		ms = ms < next ? ms : next;
	}
	w[0] = (struct pollfd){.fd = c->in, .events = POLLIN};
	w[1] = (struct pollfd){.fd = c->queue.n ? c->out : -1, .events = POLLOUT};
	w[2] = (struct pollfd){.fd = c->wake_fd, .events = POLLIN};
	r = poll(w, 3, ms < INT32_MAX ? (int)ms : INT32_MAX);
	return r < 0 && errno != EINTR ? -errno : 0;
}

int cdp_poll(struct cdp *c, uint64_t until)
{
	struct pollfd w[3] = {{0}};
	int r;

	if (c->in < 0)
		return ERR_CLOSED;
	r = cdp_poll_input(c, until, w);
	if (!r && w[1].revents)
		cdp_flush_queue(c);
	if (!r && w[0].revents)
		r = cdp_read_input(c);
	if (!r)
		r = cdp_check_liveness(c, clock_ms());
	if (r) {
		cdp_close(c);
		return r == -ENOMEM ? r : ERR_CLOSED;
	}
	return w[2].revents && c->on_wake ? c->on_wake(c->wake_arg) : 0;
}

int cdp_pump(struct cdp *c, uint64_t until)
{
	int r = cdp_poll(c, 0);

	while (!r && clock_ms() < until)
		r = cdp_poll(c, until);
	return r;
}

/* Returns the member "result", or ERR_REFUSED with the error message of the browser. */
static int cdp_parse_reply(
	struct cdp *c, struct cdp_reply *reply, struct arena *a, struct json_val *result)
{
	struct arena own = {0};
	struct arena *memory = a ? a : &own;
	struct json *json;
	struct json_error e;
	struct json_val root, error;
	struct str words = STR("");
	int64_t code = 0;
	char *text;
	int r;

	arena_init(&own, CDP_MEMORY_MAX);
	json = arena_alloc(memory, sizeof(*json));
	text = arena_cstr(memory, buf_view(&reply->text));
	r = json && text
		? json_parse(json, str_make(text, reply->text.n), &caps, memory, &e)
		: -ENOMEM;
	if (r)
		goto out;
	root = json_root(json);
	error = json_get(root, "error");
	if (json_type(error) == JSON_ABSENT) {
		if (result)
			*result = json_get(root, "result");
		goto out;
	}
	r = json_str(json_get(error, "message"), memory, &words);
	if (r == -ENOMEM)
		goto out;
	r = json_i64(json_get(error, "code"), &code);
	c->refusal_code = r ? 0 : (int)code;
	snprintf(c->refusal, sizeof(c->refusal), "%.*s",
		words.n < sizeof(c->refusal) ? (int)words.n : (int)sizeof(c->refusal),
		words.p ? words.p : "");
	r = ERR_REFUSED;
out:
	arena_reset(&own);
	return r;
}

int cdp_wait(struct cdp *c, uint64_t id, uint64_t deadline, struct arena *a,
	struct json_val *result)
{
	struct cdp_reply *reply = cdp_find_reply(c, id);
	int r = 0;

	if (!reply)
		return ERR_LIMIT;
	while (!reply->arrived && !r) {
		if (clock_ms() >= deadline)
			r = -ETIMEDOUT;
		else
			r = cdp_poll(c, deadline);
	}
	if (reply->arrived)
		r = reply->err ? reply->err : cdp_parse_reply(c, reply, a, result);
	cdp_release_reply(reply);
	return r;
}

int cdp_call(struct cdp *c, struct str session, const char *method, struct str params,
	uint64_t deadline, struct arena *a, struct json_val *result)
{
	uint64_t id;
	int r = cdp_send(c, session, method, params, &id);

	return r ? r : cdp_wait(c, id, deadline, a, result);
}

void cdp_fail_session(struct cdp *c, struct str session, int err)
{
	for (size_t i = 0; i < CDP_PENDING_MAX; i++) {
		struct cdp_reply *r = &c->replies[i];

		if (!r->id || r->arrived || !str_eq(str_c(r->session), session))
			continue;
		r->arrived = true;
		r->err = err;
	}
}
