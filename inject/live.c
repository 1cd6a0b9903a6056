#include "inject/live.h"

#include "base/fd.h"
#include "base/hash.h"
#include "base/jw.h"
#include "inject/doc.h"
#include "inject/out.h"
#include "inject/stop.h"
#include "inject/terminal.h"
#include "limits.h"
#include "net/channel_frame.h"
#include "net/ws.h"
#include "net/ws_hand.h"

#include <errno.h>
#include <unistd.h>

enum { CHANNEL = 1, LEAVE_KEY = 0x1d, ALIVE_MS = 2000, DONE = 1 };

struct live {
	const struct live_conf *conf;
	struct call call;
	struct ws ws;
	struct buf message; /* that is coming */
	struct terminal terminal;
	bool typed_all;      /* there is no more input */
	uint64_t put, taken; /* bytes of input, and those of them dealt with */
	uint64_t got, told;  /* bytes of output, and those of them acknowledged */
	int code;            /* to end with, after DONE */
};

/* --- Frames out ----------------------------------------------------------------- */

static int send_frame(struct live *v, enum ws_op op, struct str head, struct str body)
{
	struct buf frame = BUF_INIT(STREAM_TEXT_MAX);
	uint8_t start[WS_HEAD_MAX], key[4];
	int r = random_bytes(key, sizeof(key));
	size_t n;

	if (r)
		return r;
	n = ws_head(start, op, true, head.n + body.n, key);
	buf_put(&frame, start, n);
	buf_str(&frame, head);
	buf_str(&frame, body);
	r = frame.err;
	if (!r) {
		ws_mask(frame.p + n, frame.n - n, key, 0);
		r = call_push(&v->call, buf_view(&frame));
	}
	buf_free(&frame);
	return r;
}

static void say(struct jw *w, struct buf *out, const char *type)
{
	jw_init(w, out);
	jw_object(w);
	jw_key(w, "type");
	jw_cstr(w, type);
	jw_key(w, "id");
	jw_uint(w, CHANNEL);
}

static int said(struct live *v, struct jw *w)
{
	int r;

	jw_end(w);
	r = w->out->err ? w->out->err : send_frame(v, WS_TEXT, buf_view(w->out), STR(""));
	buf_free(w->out);
	return r;
}

static void put_size(struct jw *w)
{
	unsigned rows, columns;

	terminal_size(&rows, &columns);
	jw_key(w, "rows");
	jw_uint(w, rows);
	jw_key(w, "columns");
	jw_uint(w, columns);
}

static int say_open(struct live *v)
{
	struct buf out = BUF_INIT(1024);
	struct jw w;

	say(&w, &out, "open");
	jw_key(&w, "kind");
	jw_cstr(&w, v->conf->kind);
	if (v->conf->session) {
		jw_key(&w, "session");
		jw_cstr(&w, v->conf->session);
	}
	put_size(&w);
	return said(v, &w);
}

static int say_size(struct live *v)
{
	struct buf out = BUF_INIT(1024);
	struct jw w;

	say(&w, &out, "resize");
	put_size(&w);
	return said(v, &w);
}

static int say_close(struct live *v)
{
	struct buf out = BUF_INIT(1024);
	struct jw w;

	say(&w, &out, "close");
	return said(v, &w);
}

static int acknowledge(struct live *v)
{
	struct buf out = BUF_INIT(1024);
	struct jw w;

	if (v->got - v->told < STREAM_WINDOW / 4)
		return 0;
	v->told = v->got;
	say(&w, &out, "ack");
	jw_key(&w, "bytes");
	jw_uint(&w, v->got);
	return said(v, &w);
}

/* --- Frames in ------------------------------------------------------------------ */

/* Rows of a snapshot end as on no terminal. */
static int show_rows(const struct live *v, struct str text)
{
	int r = 0;

	while (!r && text.n) {
		size_t n = str_find_byte(text, '\n');

		r = fd_write_all(STDOUT_FILENO, text.p, n);
		if (!r && n < text.n)
			r = fd_write_all(STDOUT_FILENO, &"\r\n"[!v->terminal.raw],
				1U + v->terminal.raw);
		text = str_skip(text, n + 1);
	}
	return r;
}

static int take_bytes(struct live *v, struct str frame)
{
	struct channel_frame f;
	int r = channel_frame_get(frame, &f);

	if (r)
		return r;
	r = f.kind == CHANNEL_SNAPSHOT
		? show_rows(v, f.bytes)
		: fd_write_all(STDOUT_FILENO, f.bytes.p, f.bytes.n);
	v->got += f.bytes.n;
	return r ? r : acknowledge(v);
}

static int take_end(struct live *v, struct doc *d)
{
	struct json_val root = doc_root(d);
	struct str why = doc_str(d, json_get(root, "detail"));
	struct buf words = BUF_INIT(INJECT_TEXT_MAX);

	v->code = (int)doc_int(json_get(root, "exit_code"), 0) & 255;
	if (why.n) {
		terminal_restore(&v->terminal);
		out_clean(&words, why, false);
		v->code = out_fail(NULL, "%.*s", STR_ARG(buf_view(&words)));
		buf_free(&words);
	}
	return DONE;
}

static int take_text(struct live *v, struct str text)
{
	struct doc d;
	struct str type;
	int r = doc_parse(&d, text);

	if (r)
		return r;
	type = doc_str(&d, json_get(doc_root(&d), "type"));
	if (str_eq(type, STR("closed")))
		r = take_end(v, &d);
	else if (str_eq(type, STR("ack")))
		v->taken = (uint64_t)doc_int(json_get(doc_root(&d), "bytes"), 0);
	/* A key that nobody takes. */
	else if (str_eq(type, STR("error")))
		r = fd_write_all(STDERR_FILENO, "\a", 1);
	doc_free(&d);
	return r;
}

static int take_event(struct live *v, const struct ws_event *e)
{
	int r;

	if (e->op == WS_PING)
		return send_frame(v, WS_PONG, e->data, STR(""));
	if (e->op == WS_CLOSE)
		return ERR_CLOSED;
	if (e->op == WS_PONG)
		return 0;
	buf_str(&v->message, e->data);
	if (v->message.err || !e->last)
		return v->message.err;
	r = e->op == WS_TEXT ? take_text(v, buf_view(&v->message))
			     : take_bytes(v, buf_view(&v->message));
	buf_reset(&v->message);
	return r;
}

/* All that has come: 0, DONE, or negative. */
static int receive(struct live *v)
{
	struct str piece = {0};
	int r;

	while ((r = call_try(&v->call, &piece)) == 1) {
		char *at = (char *)(uintptr_t)piece.p;
		struct ws_event e;
		int end = 0;

		while (!end && (r = ws_next(&v->ws, &at, &piece.n, &e)) == 0)
			end = take_event(v, &e);
		if (end || r < 0)
			return end ? end : r;
	}
	if (r == 0)
		return ERR_CLOSED;
	return r == -EAGAIN ? 0 : r;
}

/* --- The user ------------------------------------------------------------------- */

static int send_typed(struct live *v, struct str typed)
{
	const struct channel_frame f = {.kind = CHANNEL_INPUT,
		.id = CHANNEL,
		.at = v->put,
		.span = (uint32_t)typed.n,
		.bytes = typed};
	uint8_t head[CHANNEL_HEAD];

	channel_frame_put(head, &f);
	v->put += typed.n;
	return send_frame(
		v, WS_BINARY, str_make((const char *)head, CHANNEL_HEAD), typed);
}

static int read_typed(struct live *v)
{
	char piece[4096];
	ssize_t n = read(STDIN_FILENO, piece, sizeof(piece));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0 || (v->conf->leaves && memchr(piece, LEAVE_KEY, (size_t)n))) {
		v->typed_all = true;
		return say_close(v);
	}
	return send_typed(v, str_make(piece, (size_t)n));
}

static int step(struct live *v)
{
	bool reads = !v->typed_all && v->put - v->taken < STREAM_INPUT / 2;
	int r = transport_flush(&v->call.way);
	struct pollfd fds[STOP_FDS] = {
		[1] = {.fd = v->call.way.fd,
			.events = (short)(POLLIN | (r > 0 ? POLLOUT : 0))},
		[2] = {.fd = reads ? STDIN_FILENO : -1, .events = POLLIN},
	};

	if (r < 0)
		return r;
	r = stop_poll(fds, 0, false);
	if (r < 0)
		return r;
	r = stop_resized() ? say_size(v) : 0;
	if (!r && fds[2].revents)
		r = read_typed(v);
	if (!r && fds[1].revents)
		r = receive(v);
	return r;
}

static int carry(struct live *v)
{
	int r = stop_watch_size();

	v->typed_all = v->conf->leaves && !isatty(STDIN_FILENO);
	if (!r && terminal_is_there())
		r = terminal_raw(&v->terminal);
	if (!r)
		r = say_open(v);
	/* What came with the answer is not polled for. */
	if (!r)
		r = receive(v);
	while (!r)
		r = step(v);
	if (r == -EINTR && say_close(v))
		r = -EINTR;
	terminal_restore(&v->terminal);
	return r == DONE ? v->code : r;
}

/* --- The stream ----------------------------------------------------------------- */

/* 0; LIVE_NONE; or negative. */
static int begin(struct live *v, const struct sandbox *s)
{
	char headers[256], key[WS_KEY_LEN];
	struct call_request q = {.method = "GET",
		.target = "/v1/stream",
		.headers = headers,
		.keep = true};
	int r = ws_hand_fields(headers, sizeof(headers), key);

	if (!r)
		r = sandbox_start(s, &v->call, &q, INJECT_ENGINE_MS);
	if (!r)
		r = call_finish(&v->call);
	if (r)
		return r == -EINTR ? r : LIVE_NONE;
	if (ws_hand_agrees(
		    &v->call.head, v->call.in.p + v->call.at - v->call.head.head.n, key))
		return LIVE_NONE;
	v->call.idle_ms = 0;
	return 0;
}

int live_run(const struct sandbox *s, const struct live_conf *conf)
{
	struct live v = {.conf = conf, .message = BUF_INIT(STREAM_WINDOW)};
	int r = sandbox_alive(s, ALIVE_MS);

	if (r)
		return r < 0 ? r : LIVE_NONE;
	ws_init(&v.ws, false, STREAM_WINDOW);
	call_begin(&v.call, -1, 0, false);
	r = begin(&v, s);
	if (!r) {
		r = carry(&v);
		if (r < 0 && r != -EINTR && r > FAIL_BASE)
			r = out_fail("od-runtime logs shows what it says",
				"the connection to the sandbox %s was lost: %s",
				s->state.name, err_text(r));
	}
	call_close(&v.call);
	buf_free(&v.message);
	return r;
}
