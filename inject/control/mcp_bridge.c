#include "inject/control/mcp_bridge.h"

#include "codec/http/jsonrpc.h"
#include "codec/http/sse.h"
#include "inject/console/out.h"
#include "inject/console/stop.h"
#include "inject/http/json_doc.h"

#include "base/list.h"
#include "limits.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	CALLS = 16, /* concurrent requests; more wait */
	NOTES = 8,  /* concurrent messages without an answer, besides the requests */
	SLOTS = CALLS + NOTES,
	FDS = 2 + SLOTS,
	WAITING = 256, /* messages; as many calls as the sandbox has for one session */
	WAITING_BYTES = 2 * INJECT_BODY_MAX,
	SESSION = 128,
	READ = 65536,
	HEAD_MS = 5000, /* from the first byte of an answer's head to its last */
	PUT_MAX = 4096, /* bytes that a pipe takes without waiting if it has room */
};

/* A message from the client, on the heap. */
struct message {
	struct list node; /* in the queue of waiting messages */
	struct buf line;
	struct buf id;        /* of the request; empty for none */
	struct buf cancel_id; /* the id of the request that it cancels; or empty */
	bool is_request;      /* it is a request */
	bool is_initialize;   /* it is initialize */
};

enum bridge_slot_state {
	SLOT_FREE,
	SLOT_SENT,   /* the head of its answer has not arrived */
	SLOT_BODY,   /* a single answer, complete at its end */
	SLOT_EVENTS, /* a stream of answers */
};

/* A message that was sent, and its answer. */
struct bridge_slot {
	enum bridge_slot_state state;
	struct http_client call;
	struct message *m;
	bool retried;          /* it was sent before, in a session that was lost */
	char session[SESSION]; /* the session in which it was sent */
	struct buf body;
	struct sse events;
};

struct bridge {
	const struct sandbox *sandbox;
	char session[SESSION]; /* the session id; empty: there is none */
	struct buf initialize; /* the initialize of the session, to repeat it */
	struct bridge_slot slots[SLOTS];
	struct list waiting; /* the queue, the oldest first */
	unsigned waiting_n;
	size_t waiting_bytes;
	struct lines lines; /* of stdin */
	bool input_ended;   /* stdin has ended */
};

/* --- To the client ---------------------------------------------------------------- */

/* Writes all bytes to stdout. Signals end the wait for a client that does not read. */
static int bridge_write_all(struct str s)
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

static int bridge_write_line(struct str message)
{
	int r = bridge_write_all(message);

	return r ? r : bridge_write_all(STR("\n"));
}

/* Sends the client an error for its request; prints it if the message has no id. */
static int bridge_send_error(const struct message *m, const char *words)
{
	struct buf out = BUF_INIT(4096);
	int r = 0;

	if (m->id.n) {
		jsonrpc_write_error(
			&out, buf_view(&m->id), JSONRPC_INTERNAL, str_c(words));
		r = out.err ? out.err : bridge_write_line(buf_view(&out));
	} else {
		out_note("%s", words);
	}
	buf_free(&out);
	return r;
}

static int bridge_send_failure(const struct bridge_slot *a, int err)
{
	char words[256];

	if (err == -EINTR || err == -ENOMEM)
		return err;
	snprintf(words, sizeof(words), "The sandbox did not answer%s%s.",
		err <= FAIL_BASE ? "" : ": ", err <= FAIL_BASE ? "" : err_text(err));
	return bridge_send_error(a->m, words);
}

/* --- To the sandbox --------------------------------------------------------------- */

static int bridge_start_call(
	struct bridge *b, struct http_client *c, const char *method, struct str body)
{
	char headers[256];
	const struct http_client_request q = {
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

static void bridge_save_session(struct bridge *b, const struct http_client *c)
{
	struct str id;

	if (http_field_find(&c->head.head, c->in.p, STR("mcp-session-id"), &id) == 0 &&
		id.n < sizeof(b->session))
		snprintf(b->session, sizeof(b->session), "%.*s", STR_ARG(id));
}

/* Sends a message and discards its answer. */
static int bridge_notify(struct bridge *b, const char *method, struct str body)
{
	struct buf answer = BUF_INIT(INJECT_TEXT_MAX);
	struct http_client c;
	int r = bridge_start_call(b, &c, method, body);

	if (!r)
		r = http_client_finish(&c);
	if (!r)
		bridge_save_session(b, &c);
	if (!r)
		r = http_client_read_all(&c, &answer);
	http_client_close(&c);
	buf_free(&answer);
	return r;
}

/*
 * Begins a new session after the server was started again and refused the old one. The
 * client is not involved. On failure the old session stays, so that the next message is
 * refused and leads here again.
 */
static int bridge_reopen_session(struct bridge *b)
{
	char old[SESSION];
	int r;

	memcpy(old, b->session, sizeof(old));
	b->session[0] = '\0';
	r = bridge_notify(b, "POST", buf_view(&b->initialize));
	if (!r && !b->session[0])
		r = ERR_CLOSED;
	if (!r)
		r = bridge_notify(b, "POST",
			STR("{\"jsonrpc\":\"2.0\",\"method\":"
			    "\"notifications/initialized\"}"));
	if (r)
		memcpy(b->session, old, sizeof(old));
	return r;
}

static void bridge_free_message(struct message *m)
{
	buf_free(&m->line);
	buf_free(&m->id);
	buf_free(&m->cancel_id);
	free(m);
}

static void bridge_free_slot(struct bridge_slot *a)
{
	http_client_close(&a->call);
	bridge_free_message(a->m);
	buf_free(&a->body);
	sse_free(&a->events);
	*a = (struct bridge_slot){.state = SLOT_FREE};
}

static int bridge_send(struct bridge *b, struct bridge_slot *a)
{
	int r = bridge_start_call(b, &a->call, "POST", buf_view(&a->m->line));

	memcpy(a->session, b->session, sizeof(a->session));
	if (r) {
		r = bridge_send_failure(a, r);
		bridge_free_slot(a);
	} else {
		/* A tool may take any time to begin its answer. */
		http_client_set_limits(&a->call, 0, 0);
		a->state = SLOT_SENT;
	}
	return r;
}

/* --- From the sandbox ------------------------------------------------------------- */

/* Begins a new session, unless another message of the lost session has done so. */
static bool bridge_ensure_session(struct bridge *b, const struct bridge_slot *a)
{
	return strcmp(a->session, b->session) != 0 || bridge_reopen_session(b) == 0;
}

/* Ends a with an error, unless it can be sent again in a new session. */
static int bridge_handle_refusal(struct bridge *b, struct bridge_slot *a)
{
	unsigned status = a->call.head.status;
	char words[128];
	int r;

	snprintf(words, sizeof(words), "The sandbox refused the message: HTTP status %u.",
		status);
	if (status == 404 && b->session[0] && !a->retried && !a->m->is_initialize) {
		http_client_close(&a->call);
		a->retried = true;
		if (bridge_ensure_session(b, a))
			return bridge_send(b, a);
	}
	r = bridge_send_error(a->m, words);
	bridge_free_slot(a);
	return r;
}

static int bridge_read_head(struct bridge *b, struct bridge_slot *a)
{
	struct str type = {0};
	unsigned status;
	int r;

	/* All other calls wait until a head that has begun is complete. */
	http_client_set_limits(&a->call, HEAD_MS, HEAD_MS);
	r = http_client_finish(&a->call);
	if (r)
		return r;
	http_client_set_limits(&a->call, 0, 0);
	status = a->call.head.status;
	if (status == 200 || status == 202) {
		bridge_save_session(b, &a->call);
		r = http_field_find(
			&a->call.head.head, a->call.in.p, STR("content-type"), &type);
		a->state = r == 0 && str_eq(type, STR("text/event-stream")) ? SLOT_EVENTS
									    : SLOT_BODY;
		return 0;
	}
	return bridge_handle_refusal(b, a);
}

static int bridge_write_events(struct bridge_slot *a, struct str piece)
{
	struct str data;
	int r;

	while ((r = sse_next(&a->events, &piece, &data)) == 0) {
		/* Each event is a line, as the sandbox writes it. */
		r = bridge_write_line(data);
		if (r)
			return r;
	}
	return r < 0 ? r : 0;
}

static int bridge_finish_reply(struct bridge_slot *a)
{
	return a->state == SLOT_BODY && a->body.n ? bridge_write_line(buf_view(&a->body))
						  : 0;
}

/* Reads the bytes that have arrived and does not wait, because other calls wait too. */
static int bridge_read_body(struct bridge_slot *a)
{
	struct str piece;
	int r;

	while ((r = http_client_try_read(&a->call, &piece)) == 1) {
		if (a->state == SLOT_EVENTS)
			r = bridge_write_events(a, piece);
		else
			buf_str(&a->body, piece);
		if (a->body.err)
			r = a->body.err;
		if (r < 0)
			break;
	}
	if (r == -EAGAIN)
		return 0;
	r = r == 0 ? bridge_finish_reply(a) : r;
	if (r >= 0)
		bridge_free_slot(a);
	return r;
}

static int bridge_receive(struct bridge *b, struct bridge_slot *a)
{
	int r = 0;

	if (a->state == SLOT_SENT)
		r = bridge_read_head(b, a);
	if (!r && (a->state == SLOT_BODY || a->state == SLOT_EVENTS))
		r = bridge_read_body(a);
	if (r == 0 || r == -EPIPE)
		return r;
	r = bridge_send_failure(a, r);
	bridge_free_slot(a);
	return r;
}

/* --- From the client -------------------------------------------------------------- */

static int bridge_copy_id(struct buf *id, struct json_val v)
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
static int bridge_parse_message(struct message *m)
{
	const char *why;
	struct jsonrpc j = {.id = {NULL, 0}};
	struct json_doc d;
	int r;

	if (json_doc_parse(&d, buf_view(&m->line)) < 0) {
		buf_puts(&m->id, "null");
		return m->id.err;
	}
	r = jsonrpc_read(json_doc_root(&d), &d.arena, &j, &why);
	m->is_request = r == 0 && j.kind == JSONRPC_REQUEST;
	m->is_initialize = m->is_request && str_eq(j.method, STR("initialize"));
	if (r < 0 || m->is_request)
		buf_str(&m->id, j.id.n ? j.id : STR("null"));
	r = m->id.err;
	if (!r && !m->is_request && str_eq(j.method, STR("notifications/cancelled")))
		r = bridge_copy_id(&m->cancel_id, json_get(j.params, "requestId"));
	json_doc_free(&d);
	/* An id that is too long matches no request. */
	return r == ERR_LIMIT ? 0 : r;
}

/* 0 with the message in *made; -ENOMEM, ERR_LIMIT. */
static int bridge_message_new(struct str line, struct message **made)
{
	struct message *m = calloc(1, sizeof(*m));
	int r;

	if (!m)
		return -ENOMEM;
	*m = (struct message){
		.line = BUF_INIT(INJECT_BODY_MAX),
		.id = BUF_INIT(JSONRPC_ID_MAX),
		.cancel_id = BUF_INIT(JSONRPC_ID_MAX),
	};
	buf_str(&m->line, line);
	r = m->line.err ? m->line.err : bridge_parse_message(m);
	if (r)
		bridge_free_message(m);
	else
		*made = m;
	return r;
}

static void bridge_unlink_message(struct bridge *b, struct message *m)
{
	list_remove(&m->node);
	b->waiting_n--;
	b->waiting_bytes -= m->line.n;
}

/* Removes the waiting request that m cancels. False: it does not wait here. */
static bool bridge_cancel(struct bridge *b, const struct message *m)
{
	LIST_EACH (struct message, found, &b->waiting, node) {
		if (!str_eq(buf_view(&found->id), buf_view(&m->cancel_id)))
			continue;
		if (!found->is_request)
			return false;
		bridge_unlink_message(b, found);
		bridge_free_message(found);
		return true;
	}
	return false;
}

static int bridge_queue_line(struct bridge *b, struct str line)
{
	struct message *m;
	int r = bridge_message_new(line, &m);

	if (r)
		return r;
	if (m->cancel_id.n && bridge_cancel(b, m)) {
		bridge_free_message(m);
		return 0;
	}
	/* Reading continues, because a cancellation may follow. */
	if (m->is_request &&
		(b->waiting_n >= WAITING ||
			b->waiting_bytes + m->line.n > WAITING_BYTES)) {
		r = bridge_send_error(m,
			"Too many calls are waiting for the sandbox. Try again when one "
			"has ended.");
		bridge_free_message(m);
		return r;
	}
	list_append(&b->waiting, &m->node);
	b->waiting_n++;
	b->waiting_bytes += m->line.n;
	return 0;
}

/* A free slot for m; NULL: there is none, or an initialize is in progress. */
static struct bridge_slot *bridge_find_slot(struct bridge *b, const struct message *m)
{
	struct bridge_slot *a = NULL;
	unsigned calls = 0;

	for (size_t i = 0; i < SLOTS; i++) {
		if (b->slots[i].state == SLOT_FREE) {
			a = &b->slots[i];
			continue;
		}
		if (b->slots[i].m->is_initialize)
			return NULL;
		calls += b->slots[i].m->is_request;
	}
	return m->is_request && calls >= CALLS ? NULL : a;
}

static int bridge_start_message(
	struct bridge *b, struct bridge_slot *a, struct message *m)
{
	*a = (struct bridge_slot){.m = m, .body = BUF_INIT(INJECT_REPLY_MAX)};
	sse_init(&a->events, INJECT_REPLY_MAX);
	http_client_begin(&a->call, -1, 0, false);
	if (m->is_initialize) {
		b->session[0] = '\0';
		buf_reset(&b->initialize);
		buf_str(&b->initialize, buf_view(&m->line));
	}
	if (!b->initialize.err)
		return bridge_send(b, a);
	bridge_free_slot(a);
	return b->initialize.err;
}

/*
 * Sends the waiting messages that have a slot. Messages without an answer may overtake
 * requests; no message overtakes an initialize.
 */
static int bridge_send_waiting(struct bridge *b)
{
	LIST_EACH (struct message, m, &b->waiting, node) {
		struct bridge_slot *a = bridge_find_slot(b, m);
		int r;

		if (!a && m->is_initialize)
			return 0;
		if (!a)
			continue;
		bridge_unlink_message(b, m);
		r = bridge_start_message(b, a, m);
		if (r)
			return r;
	}
	return 0;
}

static int bridge_queue_lines(struct bridge *b, struct str in)
{
	struct str line;
	int r;

	while ((r = lines_next(&b->lines, &in, &line)) == 0) {
		line = str_trim(line, " \t\r");
		r = line.n ? bridge_queue_line(b, line) : 0;
		if (r)
			break;
	}
	return r < 0 ? r : 0;
}

static int bridge_read_stdin(struct bridge *b)
{
	static char room[READ];
	ssize_t n = read(STDIN_FILENO, room, sizeof(room));

	if (n > 0)
		return bridge_queue_lines(b, str_make(room, (size_t)n));
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	b->input_ended = true;
	/* The last line may lack its line feed. */
	return bridge_queue_lines(b, STR("\n"));
}

/* --- The event loop --------------------------------------------------------------- */

static bool bridge_is_busy(const struct bridge *b)
{
	for (size_t i = 0; i < SLOTS; i++)
		if (b->slots[i].state != SLOT_FREE)
			return true;
	return !list_is_empty(&b->waiting);
}

static int bridge_poll(struct bridge *b)
{
	struct pollfd fds[FDS];
	int r;

	fds[1] = (struct pollfd){
		.fd = b->input_ended || b->waiting_n >= 2 * WAITING ? -1 : STDIN_FILENO,
		.events = POLLIN,
	};
	for (size_t i = 0; i < SLOTS; i++)
		fds[2 + i] = (struct pollfd){
			.fd = b->slots[i].state ? b->slots[i].call.transport.fd : -1,
			.events = POLLIN,
		};
	r = stop_poll_n(fds, FDS, 0, false);
	if (r < 0)
		return r;
	r = fds[1].revents ? bridge_read_stdin(b) : 0;
	for (size_t i = 0; i < SLOTS && !r; i++)
		if (fds[2 + i].revents && b->slots[i].state)
			r = bridge_receive(b, &b->slots[i]);
	return r ? r : bridge_send_waiting(b);
}

int bridge_run(const struct sandbox *s)
{
	struct bridge b = {.sandbox = s, .initialize = BUF_INIT(INJECT_BODY_MAX)};
	int r = 0;

	lines_init(&b.lines, INJECT_BODY_MAX);
	while (!r && (!b.input_ended || bridge_is_busy(&b)))
		r = bridge_poll(&b);
	/* Ends the session; the sandbox would also end it when it needs the place. */
	if (!r && b.session[0] && bridge_notify(&b, "DELETE", STR("")))
		b.session[0] = '\0';
	for (size_t i = 0; i < SLOTS; i++)
		if (b.slots[i].state)
			bridge_free_slot(&b.slots[i]);
	LIST_EACH (struct message, m, &b.waiting, node) {
		bridge_unlink_message(&b, m);
		bridge_free_message(m);
	}
	lines_free(&b.lines);
	buf_free(&b.initialize);
	return r == ERR_LIMIT ? out_fail("send large content with od-runtime cp",
					"a message of the MCP client is too long")
			      : r;
}
