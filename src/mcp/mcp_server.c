#include "mcp/mcp_private.h"

#include "base/hash.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* --- Sessions ------------------------------------------------------------------ */

static void mcp_session_del(struct mcp_session *s)
{
	assert(list_is_empty(&s->calls) && !s->stream);
	list_remove(&s->node);
	s->server->sessions_n[s->transport]--;
	mcp_fail_client_requests(s);
	if (s->server->ops->on_session_end)
		s->server->ops->on_session_end(s);
	free(s);
}

/*
 * If there are too many sessions of this transport, ends the least recently used one
 * without calls; a session without a stream goes first.
 */
static bool mcp_server_evict_session(struct mcp_server *server, enum mcp_transport way)
{
	struct mcp_session *idle = NULL;

	if (server->sessions_n[way] < MCP_SESSIONS_MAX)
		return true;
	LIST_EACH (struct mcp_session, s, &server->sessions, node)
		if (s->transport == way && list_is_empty(&s->calls) &&
			(!s->stream || !idle || idle->stream))
			idle = s;
	if (!idle)
		return false;
	if (idle->stream)
		mcp_end_stream(idle);
	mcp_session_del(idle);
	return true;
}

struct mcp_session *mcp_session_new(struct mcp_server *server, enum mcp_transport way)
{
	uint8_t secret[MCP_SESSION_ID / 2];
	struct mcp_session *s;

	if (!mcp_server_evict_session(server, way) ||
		random_bytes(secret, sizeof(secret)) < 0)
		return NULL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	hex_encode(secret, sizeof(secret), s->id);
	s->server = server;
	s->transport = way;
	list_prepend(&server->sessions, &s->node);
	server->sessions_n[way]++;
	return s;
}

/* A session that was found moves to the front. */
struct mcp_session *mcp_session_find(
	struct mcp_server *server, enum mcp_transport way, struct str id)
{
	LIST_EACH (struct mcp_session, s, &server->sessions, node) {
		if (s->transport != way || !str_eq(id, str_c(s->id)))
			continue;
		list_remove(&s->node);
		list_prepend(&server->sessions, &s->node);
		return s;
	}
	return NULL;
}

struct mcp_session *mcp_session_of(struct mcp_server *server, struct request *rq)
{
	struct mcp_session *s;
	struct str id;

	if (request_header(rq, STR("mcp-session-id"), &id) != 0) {
		mcp_reply_error(rq, 400, JSONRPC_INVALID,
			"The header Mcp-Session-Id is missing. Send initialize first.");
		return NULL;
	}
	s = mcp_session_find(server, MCP_BY_POST, id);
	if (!s)
		mcp_reply_error(rq, 404, JSONRPC_INVALID,
			"The session does not exist or has ended. Send initialize "
			"again.");
	return s;
}

/* --- Answers ------------------------------------------------------------------- */

static void mcp_server_finish_post(struct mcp_post *p)
{
	struct request *rq = p->rq;

	rq->user = NULL;
	timer_cancel(p->server->loop, &p->timer);
	buf_free(&p->text);
	if (p->streams) {
		request_end(rq);
		return;
	}
	/* All requests were cancelled: the reply is an empty stream of events. */
	if (!request_out(rq)->n) {
		request_reply(rq, 200, REQUEST_EVENTS);
		return;
	}
	if (p->batch)
		buf_putc(request_out(rq), ']');
	request_reply(rq, 200, MCP_JSON);
}

static void mcp_server_check_post(struct mcp_post *p)
{
	if (!p->waiting && !p->incomplete)
		mcp_server_finish_post(p);
}

static void mcp_server_unlink_call(struct mcp_call *c)
{
	list_remove(&c->node);
	mcp_detach_client_requests(c->session, c);
	c->post->waiting--;
	if (c->owns_arena) {
		/* The arena is stored in its own memory. */
		struct arena arena = *c->arena;

		arena_reset(&arena);
	}
}

/* The connection handles a peer that reads too slowly. */
void mcp_send(struct mcp_post *p, struct str piece)
{
	p->full = !request_write(p->rq, piece);
}

void mcp_write_event(struct mcp_post *p)
{
	mcp_send(p, STR("event: message\ndata: "));
	mcp_send(p, buf_view(&p->text));
	mcp_send(p, STR("\n\n"));
	buf_reset(&p->text);
}

/* A batch has a single answer, which is sent when it is complete. */
bool mcp_may_stream(const struct mcp_post *p)
{
	return p->streams || (!p->batch && mcp_accepts_events(p->rq));
}

void mcp_begin_stream(struct mcp_post *p)
{
	if (!p->streams)
		request_begin(p->rq, 200, REQUEST_EVENTS, REQUEST_LENGTH_UNKNOWN);
	p->streams = true;
}

static struct buf *mcp_answer_begin(struct mcp_call *c)
{
	struct mcp_post *p = c->post;
	struct buf *out = request_out(p->rq);

	if (p->no_json)
		mcp_begin_stream(p);
	if (p->streams)
		return &p->text;
	if (p->batch)
		buf_putc(out, out->n ? ',' : '[');
	return out;
}

static void mcp_answer_end(struct mcp_call *c)
{
	struct mcp_post *p = c->post;

	if (p->text.err) {
		buf_reset(&p->text);
		jsonrpc_write_error(&p->text, c->message.id, JSONRPC_INTERNAL,
			STR("The sandbox has no memory for an answer of this length."));
	}
	if (p->streams)
		mcp_write_event(p);
	mcp_server_unlink_call(c);
	mcp_server_check_post(p);
}

void mcp_result_begin(struct mcp_call *c, struct jw *w)
{
	jsonrpc_begin(w, mcp_answer_begin(c), c->message.id);
}

void mcp_result_end(struct mcp_call *c, struct jw *w)
{
	jsonrpc_end(w);
	mcp_answer_end(c);
}

void mcp_error(struct mcp_call *c, int code, struct str words)
{
	jsonrpc_write_error(mcp_answer_begin(c), c->message.id, code, words);
	mcp_answer_end(c);
}

void mcp_answer(struct mcp_call *c, const struct jsonrpc *m)
{
	jsonrpc_write_forward(mcp_answer_begin(c), c->message.id, m);
	mcp_answer_end(c);
}

/* --- Streams ------------------------------------------------------------------- */

static void mcp_server_write_progress(struct mcp_post *p, struct buf *params)
{
	jsonrpc_write_call(&p->text, 0, STR("notifications/progress"), buf_view(params));
	if (params->err || p->text.err)
		buf_reset(&p->text);
	else
		mcp_write_event(p);
	buf_free(params);
}

static void mcp_server_send_beat(struct mcp_post *p, const struct mcp_call *c)
{
	struct buf params = BUF_INIT(JSONRPC_ID_MAX + 128);

	buf_puts(&params, "{\"progressToken\":");
	buf_str(&params, c->progress_token);
	buf_fmt(&params, ",\"progress\":%u}", p->beats);
	mcp_server_write_progress(p, &params);
}

void mcp_send_heartbeat(struct timer *t)
{
	struct mcp_post *p = container_of(t, struct mcp_post, timer);
	bool told = false;

	mcp_begin_stream(p);
	p->beats++;
	LIST_EACH (struct mcp_session, s, &p->server->sessions, node)
		LIST_EACH (struct mcp_call, c, &s->calls, node)
			if (c->post == p && c->progress_token.n &&
				!p->server->ops->sends_progress) {
				mcp_server_send_beat(p, c);
				told = true;
			}
	/* A comment: clients ignore it, and proxies on the way see traffic. */
	if (!told)
		mcp_send(p, STR(":\n\n"));
	timer_set(p->server->loop, t, MCP_BEAT_MS, mcp_send_heartbeat);
}

void mcp_progress(struct mcp_call *c, struct json_val params)
{
	struct buf own = BUF_INIT(HTTP_REPLY_MAX);
	struct mcp_post *p = c->post;

	/* A client that reads slowly receives no outdated progress. */
	if (!c->progress_token.n || p->full || !mcp_may_stream(p))
		return;
	mcp_begin_stream(p);
	mcp_progress_params(&own, c->progress_token, params);
	mcp_server_write_progress(p, &own);
}

/* An answer that takes longer than MCP_STREAM_MS becomes a stream. */
static void mcp_server_await_answers(struct mcp_post *p)
{
	if (mcp_may_stream(p))
		timer_set(p->server->loop, &p->timer, MCP_STREAM_MS, mcp_send_heartbeat);
}

/* --- Messages ------------------------------------------------------------------ */

static unsigned mcp_read_capabilities(struct json_val said)
{
	static const struct {
		const char *name;
		unsigned can;
	} known[] = {
		{"sampling", MCP_SAMPLING},
		{"elicitation", MCP_ELICITATION},
		{"roots", MCP_ROOTS},
	};
	unsigned can = 0;

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (json_type(json_get(said, known[i].name)) == JSON_OBJECT)
			can |= known[i].can;
	return can;
}

static void mcp_server_initialize(struct mcp_call *c)
{
	struct mcp_session *s = c->session;
	struct str asked = {0};
	struct jw w;

	if (json_str(json_get(c->message.params, "protocolVersion"), c->arena, &asked) <
		0) {
		mcp_error(c, JSONRPC_PARAMS,
			STR("initialize requires \"protocolVersion\"."));
		return;
	}
	s->version = mcp_find_version(asked) ? mcp_find_version(asked) : mcp_versions[0];
	s->capabilities =
		mcp_read_capabilities(json_get(c->message.params, "capabilities"));
	if (s->transport == MCP_BY_POST)
		request_add_field(c->rq, STR("mcp-session-id"), str_c(s->id));
	mcp_result_begin(c, &w);
	jw_object(&w);
	jw_key(&w, "protocolVersion");
	jw_cstr(&w, s->version);
	s->server->ops->describe(s->server, &w);
	jw_end(&w);
	mcp_result_end(c, &w);
}

static void mcp_server_dispatch(struct mcp_call *c)
{
	struct jw w;

	if (str_eq(c->message.method, STR("initialize"))) {
		mcp_server_initialize(c);
	} else if (str_eq(c->message.method, STR("ping"))) {
		mcp_result_begin(c, &w);
		jw_object(&w);
		jw_end(&w);
		mcp_result_end(c, &w);
	} else {
		c->session->server->ops->call(c);
	}
}

static void mcp_server_cancel_call(struct mcp_call *c)
{
	struct mcp_post *p = c->post;

	p->server->ops->cancel(c);
	mcp_server_unlink_call(c);
	mcp_server_check_post(p);
}

/* Compares ids as they were sent: a client writes an id always in the same form. */
static void mcp_server_on_cancelled(struct mcp_session *s, const struct jsonrpc *m)
{
	struct str id = json_raw(json_get(m->params, "requestId"));

	LIST_EACH (struct mcp_call, c, &s->calls, node)
		if (str_eq(c->message.id, id)) {
			mcp_server_cancel_call(c);
			return;
		}
}

static void mcp_server_on_notification(struct mcp_session *s, const struct jsonrpc *m)
{
	if (str_eq(m->method, STR(MCP_CANCELLED)))
		mcp_server_on_cancelled(s, m);
	else if (str_eq(m->method, STR("notifications/progress")))
		mcp_handle_progress(s, m);
	else if (s->server->ops->on_notification)
		s->server->ops->on_notification(s, m);
}

/* If arena is not the request's, it is freed when the call ends. 0, or -ENOMEM. */
int mcp_handle_message(struct mcp_post *p, struct mcp_session *s, const struct jsonrpc *m,
	struct arena *arena)
{
	struct json_val token = json_get(json_get(m->params, "_meta"), "progressToken");
	struct mcp_call *c;

	if (m->kind == JSONRPC_NOTIFICATION)
		mcp_server_on_notification(s, m);
	else if (m->kind == JSONRPC_RESPONSE)
		mcp_handle_response(s, m);
	if (m->kind != JSONRPC_REQUEST)
		return 0;
	c = arena_alloc(arena, sizeof(*c));
	if (!c)
		return -ENOMEM;
	*c = (struct mcp_call){
		.post = p,
		.session = s,
		.arena = arena,
		.owns_arena = arena != &p->rq->arena,
		.rq = p->rq,
		.message = *m,
	};
	if (json_type(token) == JSON_STRING || json_type(token) == JSON_NUMBER)
		c->progress_token = json_raw(token);
	list_prepend(&s->calls, &c->node);
	p->waiting++;
	if (list_count(&s->calls) > MCP_CALLS_MAX)
		mcp_error(c, JSONRPC_INTERNAL,
			STR("Too many calls are running. Wait until one has ended."));
	else
		mcp_server_dispatch(c);
	return 0;
}

/* Handles all messages of a body. Each of them was checked before. */
static void mcp_server_handle_post(struct mcp_post *p, struct mcp_session *s,
	const struct jsonrpc *messages, size_t n)
{
	struct request *rq = p->rq;
	bool asked = false;

	for (size_t i = 0; i < n; i++)
		asked = asked || messages[i].kind == JSONRPC_REQUEST;
	if (!asked) {
		for (size_t i = 0; i < n; i++)
			if (mcp_handle_message(p, s, &messages[i], &rq->arena) < 0)
				break;
		request_reply(rq, 202, NULL);
		return;
	}
	rq->ops = &mcp_post_ops;
	rq->user = p;
	p->incomplete = true;
	for (size_t i = 0; i < n; i++)
		if (mcp_handle_message(p, s, &messages[i], &rq->arena) < 0)
			request_out(rq)->err = -ENOMEM;
	p->incomplete = false;
	if (p->waiting)
		mcp_server_await_answers(p);
	else
		mcp_server_finish_post(p);
}

void mcp_server_post(struct mcp_server *s, struct request *rq)
{
	struct mcp_session *session;
	struct jsonrpc *messages;
	struct mcp_post *p;
	bool batch, no_json;
	size_t n;

	if (!mcp_check_request(rq))
		return;
	if (!mcp_is_json(rq)) {
		mcp_reply_error(rq, 415, JSONRPC_INVALID,
			"The content type must be application/json.");
		return;
	}
	no_json = !mcp_accepts_json(rq);
	if (no_json && !mcp_accepts_events(rq)) {
		mcp_reply_error(rq, 406, JSONRPC_INVALID,
			"Accept must list application/json and text/event-stream.");
		return;
	}
	messages = mcp_read_messages(rq, &rq->arena, rq->body, &n, &batch);
	if (!messages)
		return;
	if (mcp_is_initialize(&messages[0])) {
		session = mcp_session_new(s, MCP_BY_POST);
		if (!session)
			mcp_reply_error(rq, 503, JSONRPC_INTERNAL,
				"Too many sessions are open and busy. Try again.");
	} else {
		session = mcp_session_of(s, rq);
	}
	if (!session)
		return;
	p = arena_alloc(&rq->arena, sizeof(*p));
	if (!p) {
		mcp_reply_error(rq, 503, JSONRPC_INTERNAL, "Out of memory.");
		return;
	}
	*p = (struct mcp_post){
		.server = s,
		.rq = rq,
		.batch = batch,
		.no_json = no_json,
		.text = BUF_INIT(HTTP_REPLY_MAX),
	};
	mcp_server_handle_post(p, session, messages, n);
}

/* NULL: the session has no call. */
static struct mcp_call *mcp_server_get_first_call(const struct mcp_session *s)
{
	return LIST_FIRST(&s->calls, struct mcp_call, node);
}

void mcp_server_delete(struct mcp_server *s, struct request *rq)
{
	struct mcp_session *session;
	struct mcp_call *c;

	if (!mcp_check_request(rq))
		return;
	session = mcp_session_of(s, rq);
	if (!session)
		return;
	while ((c = mcp_server_get_first_call(session)))
		mcp_server_cancel_call(c);
	if (session->stream)
		mcp_end_stream(session);
	mcp_session_del(session);
	request_reply(rq, 200, NULL);
}

/* --- End ----------------------------------------------------------------------- */

void mcp_server_drain(struct mcp_server *server)
{
	LIST_EACH (struct mcp_session, s, &server->sessions, node) {
		if (!s->stream ||
			(s->transport == MCP_BY_STREAM && !list_is_empty(&s->calls)))
			continue;
		mcp_end_stream(s);
		if (s->transport == MCP_BY_STREAM)
			mcp_session_del(s);
	}
}

void mcp_server_free(struct mcp_server *server)
{
	struct mcp_call *c;

	LIST_EACH (struct mcp_session, s, &server->sessions, node) {
		while ((c = mcp_server_get_first_call(s))) {
			server->ops->drop(c);
			mcp_server_unlink_call(c);
		}
		if (s->stream)
			mcp_end_stream(s);
		mcp_session_del(s);
	}
}

/* A call that waits for an answer by p, or NULL. */
static struct mcp_call *mcp_server_find_call(const struct mcp_post *p)
{
	LIST_EACH (struct mcp_session, s, &p->server->sessions, node)
		LIST_EACH (struct mcp_call, c, &s->calls, node)
			if (c->post == p)
				return c;
	return NULL;
}

static void mcp_post_on_close(struct request *rq)
{
	struct mcp_post *p = rq->user;
	struct mcp_session *over = NULL;
	struct mcp_call *c;

	timer_cancel(p->server->loop, &p->timer);
	p->incomplete = true;
	/*
	 * Restarts at the front after each call: its end may be the answer to another
	 * one.
	 */
	while ((c = mcp_server_find_call(p))) {
		p->server->ops->drop(c);
		mcp_server_unlink_call(c);
	}
	buf_free(&p->text);
	LIST_EACH (struct mcp_session, s, &p->server->sessions, node)
		if (s->stream == p)
			over = s;
	if (!over)
		return;
	mcp_close_stream(over);
	if (over->transport == MCP_BY_STREAM)
		mcp_session_del(over);
}

const struct request_ops mcp_post_ops = {
	.on_close = mcp_post_on_close,
	.on_writable = mcp_post_on_writable,
};
