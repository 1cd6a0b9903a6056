#include "mcp/mcp_private.h"

#include "base/hash.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* --- Sessions ------------------------------------------------------------------ */

static void session_del(struct mcp_session *s)
{
	struct mcp_session **at = &s->server->sessions;

	assert(!s->calls && !s->stream);
	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	s->server->sessions_n[s->way]--;
	mcp_questions_end(s);
	if (s->server->ops->ended)
		s->server->ops->ended(s);
	free(s);
}

/*
 * If there are too many sessions of this transport, ends the least recently used one
 * without calls; a session without a stream goes first.
 */
static bool make_room(struct mcp_server *server, enum mcp_way way)
{
	struct mcp_session *idle = NULL;

	if (server->sessions_n[way] < MCP_SESSIONS_MAX)
		return true;
	for (struct mcp_session *s = server->sessions; s; s = s->next)
		if (s->way == way && !s->calls && (!s->stream || !idle || idle->stream))
			idle = s;
	if (!idle)
		return false;
	if (idle->stream)
		mcp_end_stream(idle);
	session_del(idle);
	return true;
}

struct mcp_session *mcp_session_new(struct mcp_server *server, enum mcp_way way)
{
	uint8_t secret[MCP_SESSION_ID / 2];
	struct mcp_session *s;

	if (!make_room(server, way) || random_bytes(secret, sizeof(secret)) < 0)
		return NULL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	hex_encode(secret, sizeof(secret), s->id);
	s->server = server;
	s->way = way;
	s->next = server->sessions;
	server->sessions = s;
	server->sessions_n[way]++;
	return s;
}

/* A session that was found moves to the front. */
struct mcp_session *mcp_session_find(
	struct mcp_server *server, enum mcp_way way, struct str id)
{
	for (struct mcp_session **at = &server->sessions; *at; at = &(*at)->next) {
		struct mcp_session *s = *at;

		if (s->way != way || !str_eq(id, str_c(s->id)))
			continue;
		*at = s->next;
		s->next = server->sessions;
		server->sessions = s;
		return s;
	}
	return NULL;
}

struct mcp_session *mcp_session_of(struct mcp_server *server, struct request *rq)
{
	struct mcp_session *s;
	struct str id;

	if (request_header(rq, STR("mcp-session-id"), &id) != 0) {
		mcp_refuse(rq, 400, JSONRPC_INVALID,
			"The field Mcp-Session-Id is missing: begin with initialize.");
		return NULL;
	}
	s = mcp_session_find(server, MCP_BY_POST, id);
	if (!s)
		mcp_refuse(
			rq, 404, JSONRPC_INVALID, "There is no such session (any more).");
	return s;
}

/* --- Answers ------------------------------------------------------------------- */

static void finish(struct mcp_post *p)
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

static void look_finished(struct mcp_post *p)
{
	if (!p->waiting && !p->held)
		finish(p);
}

static void unlink_call(struct mcp_call *c)
{
	struct mcp_call **at = &c->session->calls;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	mcp_questions_leave(c->session, c);
	c->post->waiting--;
	if (c->apart) {
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
	return p->streams || (!p->batch && mcp_takes_events(p->rq));
}

void mcp_begin_stream(struct mcp_post *p)
{
	if (!p->streams)
		request_begin(p->rq, 200, REQUEST_EVENTS, REQUEST_LENGTH_UNKNOWN);
	p->streams = true;
}

static struct buf *answer_begin(struct mcp_call *c)
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

static void answer_end(struct mcp_call *c)
{
	struct mcp_post *p = c->post;

	if (p->text.err) {
		buf_reset(&p->text);
		jsonrpc_error(&p->text, c->message.id, JSONRPC_INTERNAL,
			STR("There is no memory for so long an answer."));
	}
	if (p->streams)
		mcp_write_event(p);
	unlink_call(c);
	look_finished(p);
}

void mcp_result_begin(struct mcp_call *c, struct jw *w)
{
	jsonrpc_begin(w, answer_begin(c), c->message.id);
}

void mcp_result_end(struct mcp_call *c, struct jw *w)
{
	jsonrpc_end(w);
	answer_end(c);
}

void mcp_error(struct mcp_call *c, int code, struct str words)
{
	jsonrpc_error(answer_begin(c), c->message.id, code, words);
	answer_end(c);
}

void mcp_answer(struct mcp_call *c, const struct jsonrpc *m)
{
	jsonrpc_pass(answer_begin(c), c->message.id, m);
	answer_end(c);
}

/* --- Streams ------------------------------------------------------------------- */

static void write_progress(struct mcp_post *p, struct buf *params)
{
	jsonrpc_call(&p->text, 0, STR("notifications/progress"), buf_view(params));
	if (params->err || p->text.err)
		buf_reset(&p->text);
	else
		mcp_write_event(p);
	buf_free(params);
}

static void tell_beat(struct mcp_post *p, const struct mcp_call *c)
{
	struct buf params = BUF_INIT(JSONRPC_ID_MAX + 128);

	buf_puts(&params, "{\"progressToken\":");
	buf_str(&params, c->progress_token);
	buf_fmt(&params, ",\"progress\":%u}", p->beats);
	write_progress(p, &params);
}

void mcp_beat(struct timer *t)
{
	struct mcp_post *p = container_of(t, struct mcp_post, timer);
	bool told = false;

	mcp_begin_stream(p);
	p->beats++;
	for (struct mcp_session *s = p->server->sessions; s; s = s->next)
		for (struct mcp_call *c = s->calls; c; c = c->next)
			if (c->post == p && c->progress_token.n &&
				!p->server->ops->tells_progress) {
				tell_beat(p, c);
				told = true;
			}
	/* A comment: clients ignore it, and proxies on the way see traffic. */
	if (!told)
		mcp_send(p, STR(":\n\n"));
	if (timer_set(p->server->loop, t, MCP_BEAT_MS, mcp_beat) < 0)
		return;
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
	write_progress(p, &own);
}

/* An answer that takes longer than MCP_STREAM_MS becomes a stream. */
static void wait_for_answers(struct mcp_post *p)
{
	if (!mcp_may_stream(p))
		return;
	if (timer_set(p->server->loop, &p->timer, MCP_STREAM_MS, mcp_beat) < 0)
		return;
}

/* --- Messages ------------------------------------------------------------------ */

static unsigned read_capabilities(struct json_val said)
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

static void initialize(struct mcp_call *c)
{
	struct mcp_session *s = c->session;
	struct str asked = {0};
	struct jw w;

	if (json_str(json_get(c->message.params, "protocolVersion"), c->arena, &asked) <
		0) {
		mcp_error(c, JSONRPC_PARAMS,
			STR("initialize needs a \"protocolVersion\"."));
		return;
	}
	s->version = mcp_version_find(asked) ? mcp_version_find(asked) : mcp_versions[0];
	s->can = read_capabilities(json_get(c->message.params, "capabilities"));
	if (s->way == MCP_BY_POST)
		request_add_field(c->rq, STR("mcp-session-id"), str_c(s->id));
	mcp_result_begin(c, &w);
	jw_object(&w);
	jw_key(&w, "protocolVersion");
	jw_cstr(&w, s->version);
	s->server->ops->describe(s->server, &w);
	jw_end(&w);
	mcp_result_end(c, &w);
}

static void dispatch(struct mcp_call *c)
{
	struct jw w;

	if (str_eq(c->message.method, STR("initialize"))) {
		initialize(c);
	} else if (str_eq(c->message.method, STR("ping"))) {
		mcp_result_begin(c, &w);
		jw_object(&w);
		jw_end(&w);
		mcp_result_end(c, &w);
	} else {
		c->session->server->ops->call(c);
	}
}

static void cancel(struct mcp_call *c)
{
	struct mcp_post *p = c->post;

	p->server->ops->cancel(c);
	unlink_call(c);
	look_finished(p);
}

/* Compares ids as they were sent: a client writes an id always in the same form. */
static void cancelled(struct mcp_session *s, const struct jsonrpc *m)
{
	struct str id = json_raw(json_get(m->params, "requestId"));

	for (struct mcp_call *c = s->calls; c; c = c->next)
		if (str_eq(c->message.id, id)) {
			cancel(c);
			return;
		}
}

static unsigned count_calls(const struct mcp_session *s)
{
	unsigned n = 0;

	for (const struct mcp_call *c = s->calls; c; c = c->next)
		n++;
	return n;
}

static void take_notification(struct mcp_session *s, const struct jsonrpc *m)
{
	if (str_eq(m->method, STR(MCP_CANCELLED)))
		cancelled(s, m);
	else if (str_eq(m->method, STR("notifications/progress")))
		mcp_take_progress(s, m);
	else if (s->server->ops->heard)
		s->server->ops->heard(s, m);
}

/* If arena is not the request's, it is freed when the call ends. 0, or -ENOMEM. */
int mcp_take(struct mcp_post *p, struct mcp_session *s, const struct jsonrpc *m,
	struct arena *arena)
{
	struct json_val token = json_get(json_get(m->params, "_meta"), "progressToken");
	struct mcp_call *c;

	if (m->kind == JSONRPC_NOTIFICATION)
		take_notification(s, m);
	else if (m->kind == JSONRPC_RESPONSE)
		mcp_take_response(s, m);
	if (m->kind != JSONRPC_REQUEST)
		return 0;
	c = arena_alloc(arena, sizeof(*c));
	if (!c)
		return -ENOMEM;
	*c = (struct mcp_call){
		.post = p,
		.session = s,
		.next = s->calls,
		.arena = arena,
		.apart = arena != &p->rq->arena,
		.rq = p->rq,
		.message = *m,
	};
	if (json_type(token) == JSON_STRING || json_type(token) == JSON_NUMBER)
		c->progress_token = json_raw(token);
	s->calls = c;
	p->waiting++;
	if (count_calls(s) > MCP_CALLS_MAX)
		mcp_error(c, JSONRPC_INTERNAL, STR("Too many calls are under way."));
	else
		dispatch(c);
	return 0;
}

/* Handles all messages of a body. Each of them was checked before. */
static void take_all(struct mcp_post *p, struct mcp_session *s,
	const struct jsonrpc *messages, size_t n)
{
	struct request *rq = p->rq;
	bool asked = false;

	for (size_t i = 0; i < n; i++)
		asked = asked || messages[i].kind == JSONRPC_REQUEST;
	if (!asked) {
		for (size_t i = 0; i < n; i++)
			if (mcp_take(p, s, &messages[i], &rq->arena) < 0)
				break;
		request_reply(rq, 202, NULL);
		return;
	}
	rq->user = p;
	p->held = true;
	for (size_t i = 0; i < n; i++)
		if (mcp_take(p, s, &messages[i], &rq->arena) < 0)
			request_out(rq)->err = -ENOMEM;
	p->held = false;
	if (p->waiting)
		wait_for_answers(p);
	else
		finish(p);
}

void mcp_server_post(struct mcp_server *s, struct request *rq)
{
	struct mcp_session *session;
	struct jsonrpc *messages;
	struct mcp_post *p;
	bool batch, no_json;
	size_t n;

	if (!mcp_is_welcome(rq))
		return;
	if (!mcp_is_json(rq)) {
		mcp_refuse(rq, 415, JSONRPC_INVALID,
			"The content type must be application/json.");
		return;
	}
	no_json = !mcp_takes_json(rq);
	if (no_json && !mcp_takes_events(rq)) {
		mcp_refuse(rq, 406, JSONRPC_INVALID,
			"Accept must list application/json and text/event-stream.");
		return;
	}
	messages = mcp_read_messages(rq, &rq->arena, rq->body, &n, &batch);
	if (!messages)
		return;
	if (mcp_is_initialize(&messages[0])) {
		session = mcp_session_new(s, MCP_BY_POST);
		if (!session)
			mcp_refuse(
				rq, 503, JSONRPC_INTERNAL, "Too many sessions are busy.");
	} else {
		session = mcp_session_of(s, rq);
	}
	if (!session)
		return;
	p = arena_alloc(&rq->arena, sizeof(*p));
	if (!p) {
		mcp_refuse(rq, 503, JSONRPC_INTERNAL, "Out of memory.");
		return;
	}
	*p = (struct mcp_post){
		.server = s,
		.rq = rq,
		.batch = batch,
		.no_json = no_json,
		.text = BUF_INIT(HTTP_REPLY_MAX),
	};
	take_all(p, session, messages, n);
}

void mcp_server_delete(struct mcp_server *s, struct request *rq)
{
	struct mcp_session *session;

	if (!mcp_is_welcome(rq))
		return;
	session = mcp_session_of(s, rq);
	if (!session)
		return;
	while (session->calls)
		cancel(session->calls);
	if (session->stream)
		mcp_end_stream(session);
	session_del(session);
	request_reply(rq, 200, NULL);
}

/* --- End ----------------------------------------------------------------------- */

void mcp_server_drain(struct mcp_server *server)
{
	struct mcp_session *next;

	for (struct mcp_session *s = server->sessions; s; s = next) {
		next = s->next;
		if (!s->stream || (s->way == MCP_BY_STREAM && s->calls))
			continue;
		mcp_end_stream(s);
		if (s->way == MCP_BY_STREAM)
			session_del(s);
	}
}

void mcp_server_free(struct mcp_server *server)
{
	while (server->sessions) {
		struct mcp_session *s = server->sessions;

		while (s->calls) {
			server->ops->leave(s->calls);
			unlink_call(s->calls);
		}
		if (s->stream)
			mcp_end_stream(s);
		session_del(s);
	}
}

/* A call that waits for an answer by p, or NULL. */
static struct mcp_call *call_by(const struct mcp_post *p)
{
	for (struct mcp_session *s = p->server->sessions; s; s = s->next)
		for (struct mcp_call *c = s->calls; c; c = c->next)
			if (c->post == p)
				return c;
	return NULL;
}

void mcp_server_gone(struct request *rq)
{
	struct mcp_post *p = rq->user;
	struct mcp_session *over = NULL;
	struct mcp_call *c;

	timer_cancel(p->server->loop, &p->timer);
	p->held = true;
	/*
	 * Restarts at the front after each call: its end may be the answer to another
	 * one.
	 */
	while ((c = call_by(p))) {
		p->server->ops->leave(c);
		unlink_call(c);
	}
	buf_free(&p->text);
	for (struct mcp_session *s = p->server->sessions; s; s = s->next)
		if (s->stream == p)
			over = s;
	if (!over)
		return;
	mcp_close_stream(over);
	if (over->way == MCP_BY_STREAM)
		session_del(over);
}
