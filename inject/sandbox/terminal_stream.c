#include "inject/sandbox/terminal_stream.h"

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
#include "inject/http/json_doc.h"
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

struct terminal_stream {
	const struct terminal_stream_conf *conf;
	const struct sandbox *sandbox;
	struct http_client call;
	struct ws ws;
	struct buf message; /* the message being received */
	struct terminal terminal;
	bool typed_all;           /* the input has ended */
	bool opening;             /* no input is sent until the channel is open */
	bool is_ended;            /* the session has ended; no reconnect */
	bool resized;             /* the size has changed since the open */
	uint64_t put, taken;      /* bytes of input sent, and acknowledged */
	uint64_t got, sent_state; /* bytes of output received, and acknowledged */
	uint64_t received_at;     /* time of the last receipt, monotonic ms */
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

static int terminal_stream_send_frame(
	struct terminal_stream *v, enum ws_op op, struct str head, struct str body)
{
	struct buf frame = BUF_INIT(STREAM_TEXT_MAX);
	uint8_t start[WS_HEAD_MAX], key[4];
	int r = random_bytes(key, sizeof(key));
	size_t n;

	if (r)
		return r;
	n = ws_write_head(start, op, true, head.n + body.n, key);
	buf_put(&frame, start, n);
	buf_str(&frame, head);
	buf_str(&frame, body);
	r = frame.err;
	if (!r) {
		ws_mask(frame.p + n, frame.n - n, key, 0);
		r = http_client_push(&v->call, buf_view(&frame));
	}
	buf_free(&frame);
	return r;
}

static void terminal_stream_begin_message(struct jw *w, struct buf *out, const char *type)
{
	jw_init(w, out);
	jw_object(w);
	jw_key(w, "type");
	jw_cstr(w, type);
	jw_key(w, "id");
	jw_uint(w, CHANNEL);
}

static int terminal_stream_end_message(struct terminal_stream *v, struct jw *w)
{
	int r;

	jw_end(w);
	r = w->out->err
		? w->out->err
		: terminal_stream_send_frame(v, WS_TEXT, buf_view(w->out), STR(""));
	buf_free(w->out);
	return r;
}

static void terminal_stream_put_size(struct jw *w, unsigned less)
{
	unsigned rows, columns;

	terminal_get_size(&rows, &columns);
	rows -= rows > less ? less : 0;
	jw_key(w, "rows");
	jw_uint(w, rows);
	jw_key(w, "columns");
	jw_uint(w, columns);
}

static void terminal_stream_put_member(struct jw *w, const char *name, const char *value)
{
	if (!value || !value[0])
		return;
	jw_key(w, name);
	jw_cstr(w, value);
}

/* Opens the channel: a new one, or (again) at the last offset. */
static int terminal_stream_send_open(struct terminal_stream *v, bool again)
{
	struct buf out = BUF_INIT(1024);
	struct jw w;

	terminal_stream_begin_message(&w, &out, "open");
	terminal_stream_put_member(&w, "kind", v->conf->kind);
	terminal_stream_put_member(&w, "session", v->conf->session);
	terminal_stream_put_member(&w, "terminal", v->terminal_name);
	jw_key(&w, "keep");
	jw_bool(&w, true);
	if (again && v->at != UINT64_MAX) {
		terminal_stream_put_member(&w, "epoch", v->epoch);
		jw_key(&w, "offset");
		jw_uint(&w, v->at);
	}
	terminal_stream_put_size(&w, 0);
	v->opening = true;
	return terminal_stream_end_message(v, &w);
}

static int terminal_stream_send_size(struct terminal_stream *v, unsigned less)
{
	struct buf out = BUF_INIT(1024);
	struct jw w;

	terminal_stream_begin_message(&w, &out, "resize");
	terminal_stream_put_size(&w, less);
	return terminal_stream_end_message(v, &w);
}

static int terminal_stream_send_close(struct terminal_stream *v)
{
	struct buf out = BUF_INIT(1024);
	struct jw w;

	terminal_stream_begin_message(&w, &out, "close");
	return terminal_stream_end_message(v, &w);
}

static int terminal_stream_acknowledge(struct terminal_stream *v)
{
	struct buf out = BUF_INIT(1024);
	struct jw w;

	if (v->got - v->sent_state < STREAM_LIVE / 4)
		return 0;
	v->sent_state = v->got;
	terminal_stream_begin_message(&w, &out, "ack");
	jw_key(&w, "bytes");
	jw_uint(&w, v->got);
	return terminal_stream_end_message(v, &w);
}

/* --- Frames in ------------------------------------------------------------------ */

/* Prints rows of a snapshot, which end with LF; a raw terminal needs CR LF. */
static int terminal_stream_print_rows(const struct terminal_stream *v, struct str text)
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

static int terminal_stream_on_binary(struct terminal_stream *v, struct str frame)
{
	struct channel_frame f;
	int r = channel_frame_get(frame, &f);

	if (r)
		return r;
	r = f.kind == CHANNEL_SNAPSHOT
		? terminal_stream_print_rows(v, f.bytes)
		: fd_write_all(STDOUT_FILENO, f.bytes.p, f.bytes.n);
	v->is_ended |= r < 0;
	v->got += f.bytes.n;
	v->at = f.at + f.span;
	return r ? r : terminal_stream_acknowledge(v);
}

static int terminal_stream_on_closed(struct terminal_stream *v, struct json_doc *d)
{
	struct json_val root = json_doc_root(d);
	struct str why = json_doc_str(d, json_get(root, "detail"));
	struct buf words = BUF_INIT(INJECT_TEXT_MAX);

	v->code = (int)json_doc_int(json_get(root, "exit_code"), 0) & 255;
	if (why.n) {
		terminal_restore(&v->terminal);
		out_clean(&words, why, false);
		v->code = out_fail("od-runtime logs shows the log of its server", "%.*s",
			STR_ARG(buf_view(&words)));
		buf_free(&words);
	}
	return DONE;
}

static void terminal_stream_copy_name(char name[NAME_MAX_N + 1], struct str value)
{
	if (value.n <= NAME_MAX_N)
		snprintf(name, NAME_MAX_N + 1, "%.*s", STR_ARG(value));
}

/* Discards the stored input before offset taken, which has arrived. */
static void terminal_stream_drop_input(struct terminal_stream *v, uint64_t taken)
{
	size_t n = taken > v->typed_at ? (size_t)(taken - v->typed_at) : 0;

	buf_consume(&v->typed, n < v->typed.n ? n : v->typed.n);
	v->typed_at = v->put - v->typed.n;
}

/* Ignores acknowledgements of bytes that were never sent: they would stop all reading. */
static void terminal_stream_on_ack(struct terminal_stream *v, uint64_t bytes)
{
	if (bytes > v->put)
		return;
	v->taken = bytes;
	terminal_stream_drop_input(v, bytes);
}

static int terminal_stream_send_input(struct terminal_stream *v, struct str bytes)
{
	const struct channel_frame f = {.kind = CHANNEL_INPUT,
		.id = CHANNEL,
		.at = v->put,
		.span = (uint32_t)bytes.n,
		.bytes = bytes};
	uint8_t head[CHANNEL_HEAD];

	channel_frame_put(head, &f);
	v->put += bytes.n;
	return terminal_stream_send_frame(
		v, WS_BINARY, str_make((const char *)head, CHANNEL_HEAD), bytes);
}

/* A terminal that was found again receives the input that has not arrived. */
static int terminal_stream_on_opened(struct terminal_stream *v, struct json_doc *d)
{
	struct json_val root = json_doc_root(d);
	bool again = v->terminal_name[0];
	struct str rest;
	int r = 0;

	v->opening = false;
	terminal_stream_copy_name(
		v->terminal_name, json_doc_str(d, json_get(root, "terminal")));
	if (!again && v->terminal_name[0])
		v->at = 0;
	if (!again || !v->terminal_name[0])
		return 0;
	terminal_stream_drop_input(v, json_doc_uint(json_get(root, "input"), INT64_MAX));
	v->put = v->typed_at;
	rest = buf_view(&v->typed);
	while (!r && rest.n) {
		size_t n = rest.n < STREAM_PIECE ? rest.n : STREAM_PIECE;

		r = terminal_stream_send_input(v, str_make(rest.p, n));
		rest = str_skip(rest, n);
	}
	return r;
}

/* After a restart of the server the output of a session begins with its screen. */
static void terminal_stream_on_hello(struct terminal_stream *v, struct str epoch)
{
	if (!v->terminal_name[0] && !str_eq(epoch, str_c(v->epoch)))
		v->at = UINT64_MAX;
	terminal_stream_copy_name(v->epoch, epoch);
}

static int terminal_stream_on_text(struct terminal_stream *v, struct str text)
{
	struct json_doc d;
	struct json_val root;
	struct str type;
	int r = json_doc_parse(&d, text);

	if (r)
		return r;
	root = json_doc_root(&d);
	type = json_doc_str(&d, json_get(root, "type"));
	if (str_eq(type, STR("closed"))) {
		r = terminal_stream_on_closed(v, &d);
	} else if (str_eq(type, STR("ack"))) {
		terminal_stream_on_ack(
			v, json_doc_uint(json_get(root, "bytes"), INT64_MAX));
	} else if (str_eq(type, STR("hello"))) {
		terminal_stream_on_hello(v, json_doc_str(&d, json_get(root, "epoch")));
	} else if (str_eq(type, STR("opened"))) {
		r = terminal_stream_on_opened(v, &d);
	} else if (str_eq(type, STR("gap"))) {
		v->at = json_doc_uint(json_get(root, "to"), INT64_MAX);
	}
	/* The sandbox refused an input, such as a key: ring the bell. */
	else if (str_eq(type, STR("error")))
		r = fd_write_all(STDERR_FILENO, "\a", 1);
	json_doc_free(&d);
	return r;
}

static int terminal_stream_on_event(struct terminal_stream *v, const struct ws_event *e)
{
	int r;

	if (e->op == WS_PING)
		return terminal_stream_send_frame(v, WS_PONG, e->data, STR(""));
	if (e->op == WS_CLOSE) {
		v->is_ended = true;
		return ERR_CLOSED;
	}
	if (e->op == WS_PONG)
		return 0;
	buf_str(&v->message, e->data);
	if (v->message.err || !e->last)
		return v->message.err;
	v->limit.began = 0;
	r = e->op == WS_TEXT ? terminal_stream_on_text(v, buf_view(&v->message))
			     : terminal_stream_on_binary(v, buf_view(&v->message));
	buf_reset(&v->message);
	return r;
}

/* Handles all received bytes: 0, DONE, or negative. */
static int terminal_stream_receive(struct terminal_stream *v)
{
	struct str piece = {0};
	int r;

	while ((r = http_client_try_read(&v->call, &piece)) == 1) {
		char *at = (char *)(uintptr_t)piece.p;
		struct ws_event e;
		int end = 0;

		while (!end && (r = ws_next(&v->ws, &at, &piece.n, &e)) == 0)
			end = terminal_stream_on_event(v, &e);
		if (end || r < 0)
			return end ? end : r;
	}
	if (r == 0)
		return ERR_CLOSED;
	return r == -EAGAIN ? 0 : r;
}

/* --- The user ------------------------------------------------------------------- */

/* Stores input for a terminal, because it may be lost with the connection. */
static int terminal_stream_store_input(struct terminal_stream *v, struct str typed)
{
	if (v->terminal_name[0])
		buf_str(&v->typed, typed);
	return v->typed.err ? v->typed.err : terminal_stream_send_input(v, typed);
}

static int terminal_stream_read_stdin(struct terminal_stream *v)
{
	char piece[4096];
	ssize_t n = read(STDIN_FILENO, piece, sizeof(piece));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0 || (v->conf->leaves && memchr(piece, LEAVE_KEY, (size_t)n))) {
		v->typed_all = true;
		return terminal_stream_send_close(v);
	}
	return terminal_stream_store_input(v, str_make(piece, (size_t)n));
}

static int terminal_stream_step(struct terminal_stream *v)
{
	bool reads = !v->typed_all && !v->opening && v->put - v->taken < STREAM_INPUT / 2;
	int r = transport_flush(&v->call.transport);
	struct pollfd fds[STOP_FDS] = {
		[1] = {.fd = v->call.transport.fd,
			.events = (short)(POLLIN | (r > 0 ? POLLOUT : 0))},
		[2] = {.fd = reads ? STDIN_FILENO : -1, .events = POLLIN},
	};

	if (r < 0)
		return r;
	r = stop_poll(fds, v->received_at + WS_DEAD_MS, false);
	if (r < 0)
		return r;
	if (stop_is_resized()) {
		v->resized = true;
		r = terminal_stream_send_size(v, 0);
	} else {
		r = 0;
	}
	if (!r && fds[2].revents)
		r = terminal_stream_read_stdin(v);
	if (fds[1].revents)
		v->received_at = clock_ms();
	else if (clock_ms() >= v->received_at + WS_DEAD_MS)
		return ERR_CLOSED;
	if (!r && fds[1].revents)
		r = terminal_stream_receive(v);
	v->is_ended |=
		!r && message_limit_is_over(&v->limit, &v->call, !ws_is_idle(&v->ws));
	return r ? r : v->is_ended ? -ETIME : 0;
}

/* --- The stream ----------------------------------------------------------------- */

/* 0; TERMINAL_STREAM_NONE; or negative. */
static int terminal_stream_open(struct terminal_stream *v)
{
	char headers[256], key[WS_KEY_LEN];
	struct http_client_request q = {.method = "GET",
		.target = TARGET("/v1/stream"),
		.headers = headers,
		.keep = true};
	int r = ws_hand_fields(headers, sizeof(headers), key);

	ws_init(&v->ws, false, STREAM_WINDOW);
	v->received_at = clock_ms();
	if (!r)
		r = sandbox_start(v->sandbox, &v->call, &q, INJECT_ENGINE_MS);
	if (!r)
		r = http_client_finish(&v->call);
	if (r)
		return r == -EINTR ? r : TERMINAL_STREAM_NONE;
	if (ws_hand_check_answer(
		    &v->call.head, v->call.in.p + v->call.at - v->call.head.head.n, key))
		return TERMINAL_STREAM_NONE;
	http_client_set_limits(&v->call, WS_DEAD_MS, 0);
	return 0;
}

/* --- Reconnecting --------------------------------------------------------------- */

static bool terminal_stream_is_loss(const struct terminal_stream *v, int r)
{
	bool known = v->terminal_name[0] || (v->conf->session && v->epoch[0]);

	return known && !v->is_ended && !v->typed_all && r != -EINTR && r != -ENOMEM &&
		(r == ERR_CLOSED || r == ERR_TLS || (r < 0 && r > -4096));
}

/* Waits: 0; 1: the user gives up; -errno. */
static int terminal_stream_wait(struct terminal_stream *v, uint64_t ms, bool told)
{
	uint64_t until = clock_ms() + ms;
	int r = 0;

	for (; r >= 0 && clock_ms() < until; v->resized |= stop_is_resized()) {
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

/* 0; DONE; TERMINAL_STREAM_NONE; or negative. */
static int terminal_stream_try_connect(struct terminal_stream *v)
{
	int r = sandbox_check_alive(v->sandbox, ALIVE_MS);

	if (r)
		return r < 0 ? r : TERMINAL_STREAM_NONE;
	http_client_close(&v->call);
	http_client_begin(&v->call, -1, 0, false);
	buf_reset(&v->message);
	r = terminal_stream_open(v);
	if (r)
		return r;
	v->got = v->sent_state = 0;
	if (!v->terminal_name[0])
		v->put = v->taken = 0;
	r = terminal_stream_send_open(v, true);
	return r ? r : terminal_stream_receive(v);
}

static void terminal_stream_print_note(const struct terminal_stream *v, const char *words)
{
	out_note("%s%s%s", v->terminal.raw ? "\r\n" : "", words,
		v->terminal.raw ? "\r" : "");
}

/* Reconnects after the error lost. 0: connected; otherwise the end of the session. */
static int terminal_stream_reconnect(struct terminal_stream *v, int lost)
{
	uint64_t start = clock_ms(), pause = 0;
	bool told = false;
	int r;

	for (;;) {
		v->is_ended = clock_ms() - start > AWAY_MS ||
			sandbox_is_stopped(v->sandbox, ALIVE_MS);
		if (v->is_ended)
			return lost;
		r = terminal_stream_try_connect(v);
		if (r == DONE || r == -EINTR || r == -ENOMEM)
			return r;
		if (!r)
			break;
		if (!told && clock_ms() - start > TELL_MS) {
			terminal_stream_print_note(v,
				"the connection was lost; connecting again, press ^C to "
				"stop");
			told = true;
		}
		pause = backoff(pause, PAUSE_MS, PAUSE_MAX_MS);
		r = terminal_stream_wait(v, pause, told);
		v->is_ended = r == 1;
		if (r)
			return r < 0 ? r : lost;
	}
	/* The last change of size may not have arrived. */
	r = v->resized ? terminal_stream_send_size(v, 0) : 0;
	if (r || !told)
		return r;
	terminal_stream_print_note(v, "the connection was restored");
	/* A full-screen program draws its screen again when its size changes. */
	r = terminal_stream_send_size(v, 1);
	return r ? r : terminal_stream_send_size(v, 0);
}

static int terminal_stream_run_session(struct terminal_stream *v)
{
	int r = stop_watch_size();

	v->typed_all = v->conf->leaves && !isatty(STDIN_FILENO);
	if (!r && terminal_is_attached())
		r = terminal_set_raw(&v->terminal);
	if (!r)
		r = terminal_stream_send_open(v, false);
	/* Poll does not report bytes that arrived with the answer. */
	if (!r)
		r = terminal_stream_receive(v);
	while (!r || terminal_stream_is_loss(v, r))
		r = r ? terminal_stream_reconnect(v, r) : terminal_stream_step(v);
	if (r == -EINTR && terminal_stream_send_close(v))
		r = -EINTR;
	terminal_restore(&v->terminal);
	return r == DONE ? v->code : r;
}

int terminal_stream_run(const struct sandbox *s, const struct terminal_stream_conf *conf)
{
	struct terminal_stream v = {.conf = conf,
		.sandbox = s,
		.at = UINT64_MAX,
		.message = BUF_INIT(STREAM_WINDOW),
		.typed = BUF_INIT(STREAM_INPUT)};
	int r = sandbox_check_alive(s, ALIVE_MS);

	if (r)
		return r < 0 ? r : TERMINAL_STREAM_NONE;
	http_client_begin(&v.call, -1, 0, false);
	r = terminal_stream_open(&v);
	if (!r) {
		r = terminal_stream_run_session(&v);
		if (r < 0 && r != -EINTR && r > FAIL_BASE)
			r = out_fail("od-runtime logs shows the log of its server",
				"the connection to the sandbox %s was lost: %s",
				s->state.name, err_text(r));
	}
	http_client_close(&v.call);
	buf_free(&v.message);
	buf_free(&v.typed);
	return r;
}
