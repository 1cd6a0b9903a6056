#include "inject/sandbox/live.h"

#include "base/backoff.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/jw.h"
#include "codec/channel_frame.h"
#include "codec/http/ws.h"
#include "inject/console/out.h"
#include "inject/console/stop.h"
#include "inject/console/terminal.h"
#include "inject/http/doc.h"
#include "inject/http/message_limit.h"
#include "limits.h"
#include "net/ws_hand.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

enum { CHANNEL = 1, INTERRUPT_KEY = 3, LEAVE_KEY = 0x1d, ALIVE_MS = 2000, DONE = 1 };
enum { NAME_MAX_N = 32 };
/* Reconnecting: the first and the longest pause, the total, the delay of the message. */
enum { PAUSE_MS = 50, PAUSE_MAX_MS = 1000, AWAY_MS = 60000, TELL_MS = 1000 };

struct live {
	const struct live_conf *conf;
	const struct sandbox *sandbox;
	struct call call;
	struct ws ws;
	struct buf message; /* the message being received */
	struct terminal terminal;
	bool typed_all;      /* the input has ended */
	bool opening;        /* no input is sent until the channel is open */
	bool over;           /* the session has ended; no reconnect */
	bool resized;        /* the size has changed since the open */
	uint64_t put, taken; /* bytes of input sent, and acknowledged */
	uint64_t got, told;  /* bytes of output received, and acknowledged */
	uint64_t heard;      /* time of the last receipt, monotonic ms */
	struct message_limit limit;
	int code; /* the exit code, after DONE */

	/* For reconnecting: the identity of the channel, and its position. */
	char terminal_name[NAME_MAX_N + 1];
	char epoch[NAME_MAX_N + 1];
	uint64_t at;       /* of the output: the next byte; UINT64_MAX: unknown */
	struct buf typed;  /* input for a terminal that was not acknowledged */
	uint64_t typed_at; /* offset of typed */
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

static void put_size(struct jw *w, unsigned less)
{
	unsigned rows, columns;

	terminal_size(&rows, &columns);
	rows -= rows > less ? less : 0;
	jw_key(w, "rows");
	jw_uint(w, rows);
	jw_key(w, "columns");
	jw_uint(w, columns);
}

static void put_member(struct jw *w, const char *name, const char *value)
{
	if (!value || !value[0])
		return;
	jw_key(w, name);
	jw_cstr(w, value);
}

/* Opens the channel: a new one, or (again) at the last offset. */
static int say_open(struct live *v, bool again)
{
	struct buf out = BUF_INIT(1024);
	struct jw w;

	say(&w, &out, "open");
	put_member(&w, "kind", v->conf->kind);
	put_member(&w, "session", v->conf->session);
	put_member(&w, "terminal", v->terminal_name);
	jw_key(&w, "keep");
	jw_bool(&w, true);
	if (again && v->at != UINT64_MAX) {
		put_member(&w, "epoch", v->epoch);
		jw_key(&w, "offset");
		jw_uint(&w, v->at);
	}
	put_size(&w, 0);
	v->opening = true;
	return said(v, &w);
}

static int say_size(struct live *v, unsigned less)
{
	struct buf out = BUF_INIT(1024);
	struct jw w;

	say(&w, &out, "resize");
	put_size(&w, less);
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

	if (v->got - v->told < STREAM_LIVE / 4)
		return 0;
	v->told = v->got;
	say(&w, &out, "ack");
	jw_key(&w, "bytes");
	jw_uint(&w, v->got);
	return said(v, &w);
}

/* --- Frames in ------------------------------------------------------------------ */

/* Prints rows of a snapshot, which end with LF; a raw terminal needs CR LF. */
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
	v->over |= r < 0;
	v->got += f.bytes.n;
	v->at = f.at + f.span;
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
		v->code = out_fail("od-runtime logs shows what its server says", "%.*s",
			STR_ARG(buf_view(&words)));
		buf_free(&words);
	}
	return DONE;
}

static void copy_name(char name[NAME_MAX_N + 1], struct str value)
{
	if (value.n <= NAME_MAX_N)
		snprintf(name, NAME_MAX_N + 1, "%.*s", STR_ARG(value));
}

/* Discards the stored input before offset taken, which has arrived. */
static void forget_typed(struct live *v, uint64_t taken)
{
	size_t n = taken > v->typed_at ? (size_t)(taken - v->typed_at) : 0;

	buf_consume(&v->typed, n < v->typed.n ? n : v->typed.n);
	v->typed_at = v->put - v->typed.n;
}

/* Ignores acknowledgements of bytes that were never sent: they would stop all reading. */
static void take_ack(struct live *v, uint64_t bytes)
{
	if (bytes > v->put)
		return;
	v->taken = bytes;
	forget_typed(v, bytes);
}

static int send_input(struct live *v, struct str bytes)
{
	const struct channel_frame f = {.kind = CHANNEL_INPUT,
		.id = CHANNEL,
		.at = v->put,
		.span = (uint32_t)bytes.n,
		.bytes = bytes};
	uint8_t head[CHANNEL_HEAD];

	channel_frame_put(head, &f);
	v->put += bytes.n;
	return send_frame(
		v, WS_BINARY, str_make((const char *)head, CHANNEL_HEAD), bytes);
}

/* A terminal that was found again receives the input that has not arrived. */
static int take_opened(struct live *v, struct doc *d)
{
	struct json_val root = doc_root(d);
	bool again = v->terminal_name[0];
	struct str rest;
	int r = 0;

	v->opening = false;
	copy_name(v->terminal_name, doc_str(d, json_get(root, "terminal")));
	if (!again && v->terminal_name[0])
		v->at = 0;
	if (!again || !v->terminal_name[0])
		return 0;
	forget_typed(v, doc_uint(json_get(root, "input"), INT64_MAX));
	v->put = v->typed_at;
	rest = buf_view(&v->typed);
	while (!r && rest.n) {
		size_t n = rest.n < STREAM_PIECE ? rest.n : STREAM_PIECE;

		r = send_input(v, str_make(rest.p, n));
		rest = str_skip(rest, n);
	}
	return r;
}

/* After a restart of the server the output of a session begins with its screen. */
static void take_hello(struct live *v, struct str epoch)
{
	if (!v->terminal_name[0] && !str_eq(epoch, str_c(v->epoch)))
		v->at = UINT64_MAX;
	copy_name(v->epoch, epoch);
}

static int take_text(struct live *v, struct str text)
{
	struct doc d;
	struct json_val root;
	struct str type;
	int r = doc_parse(&d, text);

	if (r)
		return r;
	root = doc_root(&d);
	type = doc_str(&d, json_get(root, "type"));
	if (str_eq(type, STR("closed"))) {
		r = take_end(v, &d);
	} else if (str_eq(type, STR("ack"))) {
		take_ack(v, doc_uint(json_get(root, "bytes"), INT64_MAX));
	} else if (str_eq(type, STR("hello"))) {
		take_hello(v, doc_str(&d, json_get(root, "epoch")));
	} else if (str_eq(type, STR("opened"))) {
		r = take_opened(v, &d);
	} else if (str_eq(type, STR("gap"))) {
		v->at = doc_uint(json_get(root, "to"), INT64_MAX);
	}
	/* The sandbox refused an input, such as a key: ring the bell. */
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
	if (e->op == WS_CLOSE) {
		v->over = true;
		return ERR_CLOSED;
	}
	if (e->op == WS_PONG)
		return 0;
	buf_str(&v->message, e->data);
	if (v->message.err || !e->last)
		return v->message.err;
	v->limit.began = 0;
	r = e->op == WS_TEXT ? take_text(v, buf_view(&v->message))
			     : take_bytes(v, buf_view(&v->message));
	buf_reset(&v->message);
	return r;
}

/* Handles all received bytes: 0, DONE, or negative. */
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

/* Stores input for a terminal, because it may be lost with the connection. */
static int send_typed(struct live *v, struct str typed)
{
	if (v->terminal_name[0])
		buf_str(&v->typed, typed);
	return v->typed.err ? v->typed.err : send_input(v, typed);
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
	bool reads = !v->typed_all && !v->opening && v->put - v->taken < STREAM_INPUT / 2;
	int r = transport_flush(&v->call.way);
	struct pollfd fds[STOP_FDS] = {
		[1] = {.fd = v->call.way.fd,
			.events = (short)(POLLIN | (r > 0 ? POLLOUT : 0))},
		[2] = {.fd = reads ? STDIN_FILENO : -1, .events = POLLIN},
	};

	if (r < 0)
		return r;
	r = stop_poll(fds, v->heard + WS_DEAD_MS, false);
	if (r < 0)
		return r;
	if (stop_resized()) {
		v->resized = true;
		r = say_size(v, 0);
	} else {
		r = 0;
	}
	if (!r && fds[2].revents)
		r = read_typed(v);
	if (fds[1].revents)
		v->heard = clock_ms();
	else if (clock_ms() >= v->heard + WS_DEAD_MS)
		return ERR_CLOSED;
	if (!r && fds[1].revents)
		r = receive(v);
	v->over |=
		!r && message_limit_is_over(&v->limit, &v->call, !ws_is_between(&v->ws));
	return r ? r : v->over ? -ETIME : 0;
}

/* --- The stream ----------------------------------------------------------------- */

/* 0; LIVE_NONE; or negative. */
static int begin(struct live *v)
{
	char headers[256], key[WS_KEY_LEN];
	struct call_request q = {.method = "GET",
		.target = TARGET("/v1/stream"),
		.headers = headers,
		.keep = true};
	int r = ws_hand_fields(headers, sizeof(headers), key);

	ws_init(&v->ws, false, STREAM_WINDOW);
	v->heard = clock_ms();
	if (!r)
		r = sandbox_start(v->sandbox, &v->call, &q, INJECT_ENGINE_MS);
	if (!r)
		r = call_finish(&v->call);
	if (r)
		return r == -EINTR ? r : LIVE_NONE;
	if (ws_hand_agrees(
		    &v->call.head, v->call.in.p + v->call.at - v->call.head.head.n, key))
		return LIVE_NONE;
	call_limit(&v->call, WS_DEAD_MS, 0);
	return 0;
}

/* --- Reconnecting --------------------------------------------------------------- */

static bool is_loss(const struct live *v, int r)
{
	bool known = v->terminal_name[0] || (v->conf->session && v->epoch[0]);

	return known && !v->over && !v->typed_all && r != -EINTR && r != -ENOMEM &&
		(r == ERR_CLOSED || r == ERR_TLS || (r < 0 && r > -4096));
}

/* Waits: 0; 1: the user gives up; -errno. */
static int pause_for(struct live *v, uint64_t ms, bool told)
{
	uint64_t until = clock_ms() + ms;
	int r = 0;

	for (; r >= 0 && clock_ms() < until; v->resized |= stop_resized()) {
		struct pollfd fds[STOP_FDS] = {
			[1] = {.fd = -1},
			[2] = {.fd = told && v->terminal.raw ? STDIN_FILENO : -1,
				.events = POLLIN},
		};
		char key;

		r = stop_poll(fds, until, false);
		if (r > 0 && fds[2].revents &&
			(read(STDIN_FILENO, &key, 1) <= 0 || key == INTERRUPT_KEY))
			return 1;
	}
	return r < 0 ? r : 0;
}

/* 0; DONE; LIVE_NONE; or negative. */
static int try_again(struct live *v)
{
	int r = sandbox_alive(v->sandbox, ALIVE_MS);

	if (r)
		return r < 0 ? r : LIVE_NONE;
	call_close(&v->call);
	call_begin(&v->call, -1, 0, false);
	buf_reset(&v->message);
	r = begin(v);
	if (r)
		return r;
	v->got = v->told = 0;
	if (!v->terminal_name[0])
		v->put = v->taken = 0;
	r = say_open(v, true);
	return r ? r : receive(v);
}

static void tell(const struct live *v, const char *words)
{
	out_note("%s%s%s", v->terminal.raw ? "\r\n" : "", words,
		v->terminal.raw ? "\r" : "");
}

/* Reconnects after the error lost. 0: connected; otherwise the end of the session. */
static int come_back(struct live *v, int lost)
{
	uint64_t start = clock_ms(), pause = 0;
	bool told = false;
	int r;

	for (;;) {
		v->over = clock_ms() - start > AWAY_MS ||
			sandbox_is_gone(v->sandbox, ALIVE_MS);
		if (v->over)
			return lost;
		r = try_again(v);
		if (r == DONE || r == -EINTR || r == -ENOMEM)
			return r;
		if (!r)
			break;
		if (!told && clock_ms() - start > TELL_MS) {
			tell(v, "the connection is lost; trying again, ^C gives up");
			told = true;
		}
		pause = backoff(pause, PAUSE_MS, PAUSE_MAX_MS);
		r = pause_for(v, pause, told);
		v->over = r == 1;
		if (r)
			return r < 0 ? r : lost;
	}
	/* The last change of size may not have arrived. */
	r = v->resized ? say_size(v, 0) : 0;
	if (r || !told)
		return r;
	tell(v, "connected again");
	/* A full-screen program draws its screen again when its size changes. */
	r = say_size(v, 1);
	return r ? r : say_size(v, 0);
}

static int carry(struct live *v)
{
	int r = stop_watch_size();

	v->typed_all = v->conf->leaves && !isatty(STDIN_FILENO);
	if (!r && terminal_is_there())
		r = terminal_raw(&v->terminal);
	if (!r)
		r = say_open(v, false);
	/* Poll does not report bytes that arrived with the answer. */
	if (!r)
		r = receive(v);
	while (!r || is_loss(v, r))
		r = r ? come_back(v, r) : step(v);
	if (r == -EINTR && say_close(v))
		r = -EINTR;
	terminal_restore(&v->terminal);
	return r == DONE ? v->code : r;
}

int live_run(const struct sandbox *s, const struct live_conf *conf)
{
	struct live v = {.conf = conf,
		.sandbox = s,
		.at = UINT64_MAX,
		.message = BUF_INIT(STREAM_WINDOW),
		.typed = BUF_INIT(STREAM_INPUT)};
	int r = sandbox_alive(s, ALIVE_MS);

	if (r)
		return r < 0 ? r : LIVE_NONE;
	call_begin(&v.call, -1, 0, false);
	r = begin(&v);
	if (!r) {
		r = carry(&v);
		if (r < 0 && r != -EINTR && r > FAIL_BASE)
			r = out_fail("od-runtime logs shows what it says",
				"the connection to the sandbox %s was lost: %s",
				s->state.name, err_text(r));
	}
	call_close(&v.call);
	buf_free(&v.message);
	buf_free(&v.typed);
	return r;
}
