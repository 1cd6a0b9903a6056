#include "inject/control/mcp_bridge.h"

#include "codec/http/jsonrpc.h"
#include "codec/http/sse.h"
#include "inject/console/out.h"
#include "inject/console/stop.h"
#include "inject/http/doc.h"
#include "limits.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	CALLS = 16, /* concurrent requests; more wait */
	NOTES = 8,  /* concurrent messages without an answer, besides the requests */
	ASKS = CALLS + NOTES,
	FDS = 2 + ASKS,
	WAITING = 256, /* messages; as many calls as the sandbox has for one session */
	WAITING_BYTES = 2 * INJECT_BODY_MAX,
	SESSION = 128,
	READ = 65536,
	HEAD_MS = 5000, /* from the first byte of an answer's head to its last */
	PUT_MAX = 4096, /* bytes that a pipe takes without waiting if it has room */
};

/* A message from the client, on the heap. */
struct message {
	struct message *next; /* in the queue of waiting messages */
	struct buf line;
	struct buf id;      /* of the request; empty for none */
	struct buf cancels; /* the id of the request that it cancels; or empty */
	bool calls;         /* it is a request */
	bool opens;         /* it is initialize */
};

enum ask_state {
	ASK_FREE,
	ASK_SENT,   /* the head of its answer has not arrived */
	ASK_WHOLE,  /* a single answer, complete at its end */
	ASK_EVENTS, /* a stream of answers */
};

/* A message that was sent, and its answer. */
struct ask {
	enum ask_state state;
	struct call call;
	struct message *m;
	bool again;            /* it was sent before, in a session that was lost */
	char session[SESSION]; /* the session in which it was sent */
	struct buf body;
	struct sse events;
};

struct bridge {
	const struct sandbox *sandbox;
	char session[SESSION]; /* the session id; empty: there is none */
	struct buf hello;      /* the initialize of the session, to repeat it */
	struct ask asks[ASKS];
	struct message *waiting; /* the queue, the oldest first */
	unsigned waiting_n;
	size_t waiting_bytes;
	struct lines lines; /* of stdin */
	bool all_in;        /* stdin has ended */
};

/* --- To the client ---------------------------------------------------------------- */

/* Writes all bytes to stdout. Signals end the wait for a client that does not read. */
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

/* Sends the client an error for its request; prints it if the message has no id. */
static int put_error(const struct message *m, const char *words)
{
	struct buf out = BUF_INIT(4096);
	int r = 0;

	if (m->id.n) {
		jsonrpc_error(&out, buf_view(&m->id), JSONRPC_INTERNAL, str_c(words));
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
	return put_error(a->m, words);
}

/* --- To the sandbox --------------------------------------------------------------- */

static int start(struct bridge *b, struct call *c, const char *method, struct str body)
{
	char headers[256];
	const struct call_request q = {
		.method = method,
		.target = TARGET("/mcp/sandbox"),
		.headers = headers,
		.type = body.n ? "application/json" : NULL,
		.parts = &body,
		.parts_n = body.n ? 1 : 0,
	};

	snprintf(headers, sizeof(headers),
		"Accept: application/json, text/event-stream\r\n%s%s%s",
		b->session[0] ? "Mcp-Session-Id: " : "", b->session,
		b->session[0] ? "\r\n" : "");
	return sandbox_start(b->sandbox, c, &q, INJECT_ENGINE_MS);
}

static void keep_session(struct bridge *b, const struct call *c)
{
	struct str id;

	if (http_field_find(&c->head.head, c->in.p, STR("mcp-session-id"), &id) == 0 &&
		id.n < sizeof(b->session))
		snprintf(b->session, sizeof(b->session), "%.*s", STR_ARG(id));
}

/* Sends a message and discards its answer. */
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
 * Begins a new session after the server was started again and refused the old one. The
 * client is not involved. On failure the old session stays, so that the next message is
 * refused and leads here again.
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

static void message_del(struct message *m)
{
	buf_free(&m->line);
	buf_free(&m->id);
	buf_free(&m->cancels);
	free(m);
}

static void release(struct ask *a)
{
	call_close(&a->call);
	message_del(a->m);
	buf_free(&a->body);
	sse_free(&a->events);
	*a = (struct ask){.state = ASK_FREE};
}

static int send(struct bridge *b, struct ask *a)
{
	int r = start(b, &a->call, "POST", buf_view(&a->m->line));

	memcpy(a->session, b->session, sizeof(a->session));
	if (r) {
		r = put_failure(a, r);
		release(a);
	} else {
		/* A tool may take any time to begin its answer. */
		call_limit(&a->call, 0, 0);
		a->state = ASK_SENT;
	}
	return r;
}

/* --- From the sandbox ------------------------------------------------------------- */

/* Begins a new session, unless another message of the lost session has done so. */
static bool has_session(struct bridge *b, const struct ask *a)
{
	return strcmp(a->session, b->session) != 0 || open_again(b) == 0;
}

/* Ends a with an error, unless it can be sent again in a new session. */
static int refused(struct bridge *b, struct ask *a)
{
	unsigned status = a->call.head.status;
	char words[128];
	int r;

	snprintf(words, sizeof(words), "The sandbox refused this: status %u.", status);
	if (status == 404 && b->session[0] && !a->again && !a->m->opens) {
		call_close(&a->call);
		a->again = true;
		if (has_session(b, a))
			return send(b, a);
	}
	r = put_error(a->m, words);
	release(a);
	return r;
}

static int read_head(struct bridge *b, struct ask *a)
{
	struct str type = {0};
	unsigned status;
	int r;

	/* All other calls wait until a head that has begun is complete. */
	call_limit(&a->call, HEAD_MS, HEAD_MS);
	r = call_finish(&a->call);
	if (r)
		return r;
	call_limit(&a->call, 0, 0);
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

static int take_events(struct ask *a, struct str piece)
{
	struct str data;
	int r;

	while ((r = sse_next(&a->events, &piece, &data)) == 0) {
		/* Each event is a line, as the sandbox writes it. */
		r = put(data);
		if (r)
			return r;
	}
	return r < 0 ? r : 0;
}

static int end_of(struct ask *a)
{
	return a->state == ASK_WHOLE && a->body.n ? put(buf_view(&a->body)) : 0;
}

/* Reads the bytes that have arrived and does not wait, because other calls wait too. */
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

static int keep_id(struct buf *id, struct json_val v)
{
	enum json_type type = json_type(v);

	if (type == JSON_STRING || type == JSON_NUMBER)
		buf_str(id, json_raw(v));
	return id->err;
}

/*
 * Reads the kind and the ids of a message. Text that is no message is sent as well: the
 * sandbox refuses it.
 */
static int look(struct message *m)
{
	const char *why;
	struct jsonrpc j = {.id = {NULL, 0}};
	struct doc d;
	int r;

	if (doc_parse(&d, buf_view(&m->line)) < 0) {
		buf_puts(&m->id, "null");
		return m->id.err;
	}
	r = jsonrpc_read(doc_root(&d), &d.arena, &j, &why);
	m->calls = r == 0 && j.kind == JSONRPC_REQUEST;
	m->opens = m->calls && str_eq(j.method, STR("initialize"));
	if (r < 0 || m->calls)
		buf_str(&m->id, j.id.n ? j.id : STR("null"));
	r = m->id.err;
	if (!r && !m->calls && str_eq(j.method, STR("notifications/cancelled")))
		r = keep_id(&m->cancels, json_get(j.params, "requestId"));
	doc_free(&d);
	/* An id that is too long matches no request. */
	return r == ERR_LIMIT ? 0 : r;
}

/* 0 with the message in *made; -ENOMEM, ERR_LIMIT. */
static int message_new(struct str line, struct message **made)
{
	struct message *m = calloc(1, sizeof(*m));
	int r;

	if (!m)
		return -ENOMEM;
	*m = (struct message){
		.line = BUF_INIT(INJECT_BODY_MAX),
		.id = BUF_INIT(JSONRPC_ID_MAX),
		.cancels = BUF_INIT(JSONRPC_ID_MAX),
	};
	buf_str(&m->line, line);
	r = m->line.err ? m->line.err : look(m);
	if (r)
		message_del(m);
	else
		*made = m;
	return r;
}

static void unlink_waiting(struct bridge *b, struct message **at)
{
	struct message *m = *at;

	*at = m->next;
	b->waiting_n--;
	b->waiting_bytes -= m->line.n;
}

/* Removes the waiting request that m cancels. False: it does not wait here. */
static bool cancel(struct bridge *b, const struct message *m)
{
	struct message **at = &b->waiting, *found;

	while (*at && !str_eq(buf_view(&(*at)->id), buf_view(&m->cancels)))
		at = &(*at)->next;
	found = *at;
	if (!found || !found->calls)
		return false;
	unlink_waiting(b, at);
	message_del(found);
	return true;
}

static int take_line(struct bridge *b, struct str line)
{
	struct message *m, **end = &b->waiting;
	int r = message_new(line, &m);

	if (r)
		return r;
	if (m->cancels.n && cancel(b, m)) {
		message_del(m);
		return 0;
	}
	/* Reading continues, because a cancellation may follow. */
	if (m->calls &&
		(b->waiting_n >= WAITING ||
			b->waiting_bytes + m->line.n > WAITING_BYTES)) {
		r = put_error(m, "Too many calls are waiting.");
		message_del(m);
		return r;
	}
	while (*end)
		end = &(*end)->next;
	*end = m;
	b->waiting_n++;
	b->waiting_bytes += m->line.n;
	return 0;
}

/* A free slot for m; NULL: there is none, or an initialize is in progress. */
static struct ask *place(struct bridge *b, const struct message *m)
{
	struct ask *a = NULL;
	unsigned calls = 0;

	for (size_t i = 0; i < ASKS; i++) {
		if (b->asks[i].state == ASK_FREE) {
			a = &b->asks[i];
			continue;
		}
		if (b->asks[i].m->opens)
			return NULL;
		calls += b->asks[i].m->calls;
	}
	return m->calls && calls >= CALLS ? NULL : a;
}

static int go(struct bridge *b, struct ask *a, struct message *m)
{
	*a = (struct ask){.m = m, .body = BUF_INIT(INJECT_REPLY_MAX)};
	sse_init(&a->events, INJECT_REPLY_MAX);
	call_begin(&a->call, -1, 0, false);
	if (m->opens) {
		b->session[0] = '\0';
		buf_reset(&b->hello);
		buf_str(&b->hello, buf_view(&m->line));
	}
	if (!b->hello.err)
		return send(b, a);
	release(a);
	return b->hello.err;
}

/*
 * Sends the waiting messages that have a slot. Messages without an answer may overtake
 * requests; no message overtakes an initialize.
 */
static int pump(struct bridge *b)
{
	struct message **at = &b->waiting;
	int r = 0;

	while (*at && !r) {
		struct message *m = *at;
		struct ask *a = place(b, m);

		if (a) {
			unlink_waiting(b, at);
			r = go(b, a, m);
		} else if (m->opens) {
			break;
		} else {
			at = &m->next;
		}
	}
	return r;
}

static int take_lines(struct bridge *b, struct str in)
{
	struct str line;
	int r;

	while ((r = lines_next(&b->lines, &in, &line)) == 0) {
		line = str_trim(line, " \t\r");
		r = line.n ? take_line(b, line) : 0;
		if (r)
			break;
	}
	return r < 0 ? r : 0;
}

static int read_in(struct bridge *b)
{
	static char room[READ];
	ssize_t n = read(STDIN_FILENO, room, sizeof(room));

	if (n > 0)
		return take_lines(b, str_make(room, (size_t)n));
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	b->all_in = true;
	/* The last line may lack its line feed. */
	return take_lines(b, STR("\n"));
}

/* --- The event loop --------------------------------------------------------------- */

static bool is_busy(const struct bridge *b)
{
	for (size_t i = 0; i < ASKS; i++)
		if (b->asks[i].state != ASK_FREE)
			return true;
	return b->waiting;
}

static int step(struct bridge *b)
{
	struct pollfd fds[FDS];
	int r;

	fds[1] = (struct pollfd){
		.fd = b->all_in || b->waiting_n >= 2 * WAITING ? -1 : STDIN_FILENO,
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
	return r ? r : pump(b);
}

int mcp_bridge(const struct sandbox *s)
{
	struct bridge b = {.sandbox = s, .hello = BUF_INIT(INJECT_BODY_MAX)};
	int r = 0;

	lines_init(&b.lines, INJECT_BODY_MAX);
	while (!r && (!b.all_in || is_busy(&b)))
		r = step(&b);
	/* Ends the session; the sandbox would also end it when it needs the place. */
	if (!r && b.session[0] && tell(&b, "DELETE", STR("")))
		b.session[0] = '\0';
	for (size_t i = 0; i < ASKS; i++)
		if (b.asks[i].state)
			release(&b.asks[i]);
	while (b.waiting) {
		struct message *m = b.waiting;

		unlink_waiting(&b, &b.waiting);
		message_del(m);
	}
	lines_free(&b.lines);
	buf_free(&b.hello);
	return r == ERR_LIMIT ? out_fail("send large content with od-runtime cp",
					"a message of the client is too long")
			      : r;
}
