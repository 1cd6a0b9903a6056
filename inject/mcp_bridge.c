#include "inject/mcp_bridge.h"

#include "base/lines.h"
#include "inject/doc.h"
#include "inject/out.h"
#include "inject/stop.h"
#include "limits.h"
#include "net/jsonrpc.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

enum {
	ASKS = 16,
	FDS = 2 + ASKS,
	SESSION = 128,
	PUT_MAX = 4096, /* bytes that a pipe takes without waiting if it has room */
};

#define TARGET "/mcp/sandbox"

enum ask_state {
	ASK_FREE,
	ASK_SENT,   /* the head of its answer has not come */
	ASK_WHOLE,  /* one answer, at its end */
	ASK_EVENTS, /* answers as they come */
};

/* A message on its way, and what comes back. */
struct ask {
	enum ask_state state;
	struct call call;
	struct buf line;       /* the message */
	struct buf id;         /* of the request; empty for none */
	bool opens;            /* it is initialize */
	bool again;            /* it was sent before, in a session that is gone */
	char session[SESSION]; /* in which it was sent */
	struct buf body;
	struct lines lines;
};

struct bridge {
	const struct sandbox *sandbox;
	char session[SESSION]; /* as the sandbox calls it; empty: there is none */
	struct buf hello;      /* the initialize that made it, to make another */
	struct ask asks[ASKS];
	struct lines lines; /* of stdin */
	struct buf in;      /* read, and not taken apart yet */
	bool all_in;        /* stdin has ended */
};

/* --- To the client ---------------------------------------------------------------- */

/* A client that reads no more may still tell us to stop. */
static int put_all(struct str s)
{
	while (s.n) {
		int r = stop_wait(STDOUT_FILENO, POLLOUT, 0, false);
		ssize_t n;

		if (r < 0)
			return r;
		n = write(STDOUT_FILENO, s.p, s.n < PUT_MAX ? s.n : PUT_MAX);
		if (n >= 0)
			s = str_skip(s, (size_t)n);
		else if (errno != EAGAIN && errno != EINTR)
			return -errno;
	}
	return 0;
}

static int put(struct str message)
{
	int r = put_all(message);

	return r ? r : put_all(STR("\n"));
}

/* Who has asked hears why there is no answer. */
static int put_error(const struct ask *a, const char *words)
{
	struct buf out = BUF_INIT(4096);
	int r = 0;

	if (a->id.n) {
		jsonrpc_error(&out, buf_view(&a->id), JSONRPC_INTERNAL, str_c(words));
		r = out.err ? out.err : put(buf_view(&out));
	} else {
		out_note("%s", words);
	}
	buf_free(&out);
	return r;
}

static int put_failure(const struct ask *a, int err)
{
	char words[256];

	if (err == -EINTR || err == -ENOMEM)
		return err;
	snprintf(words, sizeof(words), "The sandbox did not answer%s%s.",
		err <= FAIL_BASE ? "" : ": ", err <= FAIL_BASE ? "" : err_text(err));
	return put_error(a, words);
}

/* --- To the sandbox --------------------------------------------------------------- */

static int start(struct bridge *b, struct call *c, const char *method, struct str body)
{
	char headers[256];
	const struct call_request q = {
		.method = method,
		.target = TARGET,
		.headers = headers,
		.type = body.n ? "application/json" : NULL,
		.parts = &body,
		.parts_n = body.n ? 1 : 0,
	};

	snprintf(headers, sizeof(headers),
		"Accept: application/json, text/event-stream\r\n%s%s%s",
		b->session[0] ? "Mcp-Session-Id: " : "", b->session,
		b->session[0] ? "\r\n" : "");
	return sandbox_start(b->sandbox, c, &q, 0);
}

static void keep_session(struct bridge *b, const struct call *c)
{
	struct str id;

	if (http_field_find(&c->head.head, c->in.p, STR("mcp-session-id"), &id) == 0 &&
		id.n < sizeof(b->session))
		snprintf(b->session, sizeof(b->session), "%.*s", STR_ARG(id));
}

/* One message whose answer nobody wants. */
static int tell(struct bridge *b, const char *method, struct str body)
{
	struct buf answer = BUF_INIT(INJECT_TEXT_MAX);
	struct call c;
	int r = start(b, &c, method, body);

	if (!r)
		r = call_finish(&c);
	if (!r)
		keep_session(b, &c);
	if (!r)
		r = call_collect(&c, &answer);
	call_close(&c);
	buf_free(&answer);
	return r;
}

/*
 * The server was started again and knows us no more, which our client need not hear.
 * Where that fails the old session stays, so that the next message leads here again.
 */
static int open_again(struct bridge *b)
{
	char old[SESSION];
	int r;

	memcpy(old, b->session, sizeof(old));
	b->session[0] = '\0';
	r = tell(b, "POST", buf_view(&b->hello));
	if (!r && !b->session[0])
		r = ERR_CLOSED;
	if (!r)
		r = tell(b, "POST",
			STR("{\"jsonrpc\":\"2.0\",\"method\":"
			    "\"notifications/initialized\"}"));
	if (r)
		memcpy(b->session, old, sizeof(old));
	return r;
}

static void release(struct ask *a)
{
	call_close(&a->call);
	buf_free(&a->line);
	buf_free(&a->id);
	buf_free(&a->body);
	lines_free(&a->lines);
	*a = (struct ask){.state = ASK_FREE};
}

static int send(struct bridge *b, struct ask *a)
{
	int r = start(b, &a->call, "POST", buf_view(&a->line));

	memcpy(a->session, b->session, sizeof(a->session));
	if (r) {
		r = put_failure(a, r);
		release(a);
	} else {
		a->state = ASK_SENT;
	}
	return r;
}

/* --- From the sandbox ------------------------------------------------------------- */

/* Where others of that session have come back before, there is a new one already. */
static bool has_session(struct bridge *b, const struct ask *a)
{
	return strcmp(a->session, b->session) != 0 || open_again(b) == 0;
}

/* The end of a, unless it can be sent again in a new session. */
static int refused(struct bridge *b, struct ask *a)
{
	unsigned status = a->call.head.status;
	char words[128];
	int r;

	snprintf(words, sizeof(words), "The sandbox refused this: status %u.", status);
	if (status == 404 && b->session[0] && !a->again && !a->opens) {
		call_close(&a->call);
		a->again = true;
		if (has_session(b, a))
			return send(b, a);
	}
	r = put_error(a, words);
	release(a);
	return r;
}

static int read_head(struct bridge *b, struct ask *a)
{
	struct str type = {0};
	unsigned status;
	int r = call_finish(&a->call);

	if (r)
		return r;
	status = a->call.head.status;
	if (status == 200 || status == 202) {
		keep_session(b, &a->call);
		r = http_field_find(
			&a->call.head.head, a->call.in.p, STR("content-type"), &type);
		a->state = r == 0 && str_eq(type, STR("text/event-stream")) ? ASK_EVENTS
									    : ASK_WHOLE;
		return 0;
	}
	return refused(b, a);
}

/* A message of ours is always one line of an event. */
static int take_events(struct ask *a, struct str piece)
{
	const struct str data = STR("data: ");
	struct str line;
	int r;

	while ((r = lines_next(&a->lines, &piece, &line)) == 0) {
		if (!str_starts(line, data))
			continue;
		r = put(str_skip(line, data.n));
		if (r)
			return r;
	}
	return r < 0 ? r : 0;
}

static int end_of(struct ask *a)
{
	return a->state == ASK_WHOLE && a->body.n ? put(buf_view(&a->body)) : 0;
}

/* What is there, and no more: others wait, too. */
static int read_body(struct ask *a)
{
	struct str piece;
	int r;

	while ((r = call_try(&a->call, &piece)) == 1) {
		if (a->state == ASK_EVENTS)
			r = take_events(a, piece);
		else
			buf_str(&a->body, piece);
		if (a->body.err)
			r = a->body.err;
		if (r < 0)
			break;
	}
	if (r == -EAGAIN)
		return 0;
	r = r == 0 ? end_of(a) : r;
	if (r >= 0)
		release(a);
	return r;
}

static int receive(struct bridge *b, struct ask *a)
{
	int r = 0;

	if (a->state == ASK_SENT)
		r = read_head(b, a);
	if (!r && (a->state == ASK_WHOLE || a->state == ASK_EVENTS))
		r = read_body(a);
	if (r == 0 || r == -EPIPE)
		return r;
	r = put_failure(a, r);
	release(a);
	return r;
}

/* --- From the client -------------------------------------------------------------- */

/* What is no message is for the sandbox to refuse. */
static int look(struct bridge *b, struct ask *a)
{
	const char *why;
	struct jsonrpc m = {.id = {NULL, 0}};
	struct doc d;

	if (doc_parse(&d, buf_view(&a->line)) == 0) {
		int r = jsonrpc_read(doc_root(&d), &d.arena, &m, &why);

		if (r == 0 && m.kind == JSONRPC_REQUEST)
			a->opens = str_eq(m.method, STR("initialize"));
		if (r < 0 || m.kind == JSONRPC_REQUEST)
			buf_str(&a->id, m.id.n ? m.id : STR("null"));
		doc_free(&d);
	} else {
		buf_puts(&a->id, "null");
	}
	if (a->opens) {
		b->session[0] = '\0';
		buf_reset(&b->hello);
		buf_str(&b->hello, buf_view(&a->line));
	}
	return a->id.err ? a->id.err : b->hello.err;
}

static int take_line(struct bridge *b, struct ask *a, struct str line)
{
	int r;

	*a = (struct ask){
		.line = BUF_INIT(INJECT_BODY_MAX),
		.id = BUF_INIT(JSONRPC_ID_MAX),
		.body = BUF_INIT(INJECT_REPLY_MAX),
	};
	lines_init(&a->lines, INJECT_REPLY_MAX);
	call_begin(&a->call, -1, 0, false);
	buf_str(&a->line, line);
	r = a->line.err ? a->line.err : look(b, a);
	if (!r)
		return send(b, a);
	release(a);
	return r;
}

/* A free place; NULL while there is none, or nothing may overtake an initialize. */
static struct ask *place(struct bridge *b)
{
	struct ask *a = NULL;

	for (size_t i = 0; i < ASKS; i++) {
		if (b->asks[i].state == ASK_FREE)
			a = &b->asks[i];
		else if (b->asks[i].opens)
			return NULL;
	}
	return a;
}

static int take_lines(struct bridge *b)
{
	struct str in = buf_view(&b->in), line;
	struct ask *a;
	int r = 0;

	while (!r && (a = place(b)) && (r = lines_next(&b->lines, &in, &line)) == 0) {
		line = str_trim(line, " \t\r");
		if (line.n)
			r = take_line(b, a, line);
	}
	buf_consume(&b->in, b->in.n - in.n);
	return r < 0 ? r : 0;
}

static int read_in(struct bridge *b)
{
	char *room = buf_room(&b->in, 65536);
	ssize_t n = room ? read(STDIN_FILENO, room, 65536) : -1;

	if (!room)
		return b->in.err;
	if (n > 0) {
		buf_commit(&b->in, (size_t)n);
	} else if (n == 0) {
		b->all_in = true;
		/* The last line may lack its end. */
		buf_putc(&b->in, '\n');
	} else if (errno != EAGAIN && errno != EINTR) {
		return -errno;
	}
	return 0;
}

/* --- Both ------------------------------------------------------------------------- */

static bool is_busy(const struct bridge *b)
{
	for (size_t i = 0; i < ASKS; i++)
		if (b->asks[i].state != ASK_FREE)
			return true;
	return b->in.n > 0;
}

static int step(struct bridge *b)
{
	struct pollfd fds[FDS];
	int r;

	fds[1] = (struct pollfd){
		.fd = b->all_in || b->in.n || !place(b) ? -1 : STDIN_FILENO,
		.events = POLLIN,
	};
	for (size_t i = 0; i < ASKS; i++)
		fds[2 + i] = (struct pollfd){
			.fd = b->asks[i].state ? b->asks[i].call.way.fd : -1,
			.events = POLLIN,
		};
	r = stop_poll_n(fds, FDS, 0, false);
	if (r < 0)
		return r;
	r = fds[1].revents ? read_in(b) : 0;
	for (size_t i = 0; i < ASKS && !r; i++)
		if (fds[2 + i].revents && b->asks[i].state)
			r = receive(b, &b->asks[i]);
	return r ? r : take_lines(b);
}

int mcp_bridge(const struct sandbox *s)
{
	struct bridge b = {
		.sandbox = s,
		.hello = BUF_INIT(INJECT_BODY_MAX),
		.in = BUF_INIT(2 * 65536),
	};
	int r = 0;

	lines_init(&b.lines, INJECT_BODY_MAX);
	while (!r && (!b.all_in || is_busy(&b)))
		r = step(&b);
	/* It would end by itself, too, when others need its place. */
	if (!r && b.session[0] && tell(&b, "DELETE", STR("")))
		b.session[0] = '\0';
	for (size_t i = 0; i < ASKS; i++)
		if (b.asks[i].state)
			release(&b.asks[i]);
	lines_free(&b.lines);
	buf_free(&b.in);
	buf_free(&b.hello);
	return r == ERR_LIMIT ? out_fail(NULL, "a message of the client is too long") : r;
}
