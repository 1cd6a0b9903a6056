#include "plug/mcp_server.h"

#include "base/hash.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define JSON "application/json"
#define EVENTS "text/event-stream"

/* What one POST has brought; its request's user, in the request's arena. */
struct mcp_post {
	struct mcp_server *server;
	struct request *rq;
	unsigned waiting; /* calls without an answer */
	unsigned beats;
	bool batch;
	bool held;          /* more calls may follow: it cannot be complete yet */
	bool streams;       /* its answers are events */
	bool no_json;       /* the client takes nothing but events */
	struct buf text;    /* the answer that is being written, to become an event */
	struct timer timer; /* to begin with events, then to show that we live */
};

static const char *const versions[] = {"2025-06-18", "2025-03-26", "2024-11-05"};

/* A method's revision; NULL for one that is not spoken here. */
static const char *version_find(struct str version)
{
	for (size_t i = 0; i < ARRAY_LEN(versions); i++)
		if (str_eq(version, str_c(versions[i])))
			return versions[i];
	return NULL;
}

/* --- What is refused --------------------------------------------------------- */

static void refuse(struct request *rq, unsigned status, int code, const char *words)
{
	struct buf *out = request_out(rq);

	buf_reset(out);
	jsonrpc_error(out, STR(""), code, str_c(words));
	request_reply(rq, status, JSON);
}

bool mcp_origin_ok(struct request *rq)
{
	static const char *const hosts[] = {"localhost", "127.0.0.1", "[::1]"};
	struct str origin, host;
	int r = request_header(rq, STR("origin"), &origin);

	if (r == 1)
		return true;
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(hosts); i++) {
		size_t at = str_find(origin, STR("://"));

		host = str_skip(origin, at + 3);
		if (str_starts(host, str_c(hosts[i]))) {
			host = str_skip(host, strlen(hosts[i]));
			if (!host.n || host.p[0] == ':')
				return true;
		}
	}
	refuse(rq, 403, JSONRPC_INVALID, "This Origin may not ask.");
	return false;
}

/* Whether the field Accept has room for the type, of that group. */
static bool accepts(struct request *rq, struct str type, struct str group)
{
	struct str list, one;

	if (request_header(rq, STR("accept"), &list) != 0)
		return true;
	while (list.n) {
		one = str_cut(&list, ',');
		one = str_trim(str_cut(&one, ';'), " \t");
		if (str_eq_nocase(one, type) || str_eq_nocase(one, group) ||
			str_eq(one, STR("*/*")))
			return true;
	}
	return false;
}

static bool is_json(struct request *rq)
{
	struct str type;

	if (request_header(rq, STR("content-type"), &type) != 0)
		return false;
	return str_eq_nocase(str_trim(str_cut(&type, ';'), " \t"), STR(JSON));
}

/* Before anything of a request counts. False, and answered. */
static bool is_welcome(struct request *rq)
{
	struct str version;
	int r;

	if (!mcp_origin_ok(rq))
		return false;
	r = request_header(rq, STR("mcp-protocol-version"), &version);
	if (r == 1 || (r == 0 && version_find(version)))
		return true;
	refuse(rq, 400, JSONRPC_INVALID,
		"This MCP-Protocol-Version is not spoken here; 2025-06-18, 2025-03-26 "
		"and 2024-11-05 are.");
	return false;
}

/* --- Sessions ------------------------------------------------------------------ */

static void session_del(struct mcp_session *s)
{
	struct mcp_session **at = &s->server->sessions;

	assert(!s->calls);
	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	s->server->sessions_n--;
	free(s);
}

/* The least recently used one with nothing under way makes room. */
static bool make_room(struct mcp_server *server)
{
	struct mcp_session *idle = NULL;

	if (server->sessions_n < MCP_SESSIONS_MAX)
		return true;
	for (struct mcp_session *s = server->sessions; s; s = s->next)
		if (!s->calls)
			idle = s;
	if (idle)
		session_del(idle);
	return idle;
}

static struct mcp_session *session_new(struct mcp_server *server)
{
	uint8_t secret[MCP_SESSION_ID / 2];
	struct mcp_session *s;

	if (!make_room(server) || random_bytes(secret, sizeof(secret)) < 0)
		return NULL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	hex_encode(secret, sizeof(secret), s->id);
	s->server = server;
	s->next = server->sessions;
	server->sessions = s;
	server->sessions_n++;
	return s;
}

/* Found sessions move to the front. */
static struct mcp_session *session_find(struct mcp_server *server, struct str id)
{
	for (struct mcp_session **at = &server->sessions; *at; at = &(*at)->next) {
		struct mcp_session *s = *at;

		if (!str_eq(id, str_c(s->id)))
			continue;
		*at = s->next;
		s->next = server->sessions;
		server->sessions = s;
		return s;
	}
	return NULL;
}

/* That of the request; NULL, and answered, when it has none that lives. */
static struct mcp_session *session_of(struct mcp_server *server, struct request *rq)
{
	struct mcp_session *s;
	struct str id;

	if (request_header(rq, STR("mcp-session-id"), &id) != 0) {
		refuse(rq, 400, JSONRPC_INVALID,
			"The field Mcp-Session-Id is missing: begin with initialize.");
		return NULL;
	}
	s = session_find(server, id);
	if (!s)
		refuse(rq, 404, JSONRPC_INVALID, "There is no such session (any more).");
	return s;
}

void mcp_server_free(struct mcp_server *s)
{
	while (s->sessions) {
		s->sessions->calls = NULL;
		session_del(s->sessions);
	}
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
	/* All that was asked has been cancelled: a stream that says nothing. */
	if (!request_out(rq)->n) {
		request_reply(rq, 200, EVENTS);
		return;
	}
	if (p->batch)
		buf_putc(request_out(rq), ']');
	request_reply(rq, 200, JSON);
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
	c->post->waiting--;
}

/* A peer that reads too slowly is the connection's to deal with. */
static void send(struct mcp_post *p, struct str piece)
{
	if (!request_write(p->rq, piece))
		return;
}

static void write_event(struct mcp_post *p)
{
	send(p, STR("event: message\ndata: "));
	send(p, buf_view(&p->text));
	send(p, STR("\n\n"));
	buf_reset(&p->text);
}

static void begin_stream(struct mcp_post *p)
{
	if (!p->streams)
		request_begin(p->rq, 200, EVENTS, REQUEST_LENGTH_UNKNOWN);
	p->streams = true;
}

static struct buf *answer_begin(struct mcp_call *c)
{
	struct mcp_post *p = c->post;
	struct buf *out = request_out(p->rq);

	if (p->no_json)
		begin_stream(p);
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
		write_event(p);
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

/* --- Streams ------------------------------------------------------------------- */

/* Each of those who have asked for it hears that the work goes on. */
static void write_progress(struct mcp_post *p, const struct mcp_call *c)
{
	struct jw w;

	jw_init(&w, &p->text);
	jw_object(&w);
	jw_key(&w, "jsonrpc");
	jw_cstr(&w, "2.0");
	jw_key(&w, "method");
	jw_cstr(&w, "notifications/progress");
	jw_key(&w, "params");
	jw_object(&w);
	jw_key(&w, "progressToken");
	jw_raw(&w, c->progress_token);
	jw_key(&w, "progress");
	jw_uint(&w, p->beats);
	jw_end(&w);
	jw_end(&w);
	write_event(p);
}

static void beat(struct timer *t)
{
	struct mcp_post *p = container_of(t, struct mcp_post, timer);
	bool told = false;

	begin_stream(p);
	p->beats++;
	for (struct mcp_session *s = p->server->sessions; s; s = s->next)
		for (struct mcp_call *c = s->calls; c; c = c->next)
			if (c->post == p && c->progress_token.n) {
				write_progress(p, c);
				told = true;
			}
	/* A comment, which clients pass over, and what is between us and them sees. */
	if (!told)
		send(p, STR(":\n\n"));
	if (timer_set(p->server->loop, t, MCP_BEAT_MS, beat) < 0)
		return;
}

/* An answer that takes longer than this becomes a stream. */
static void wait_for_answers(struct mcp_post *p)
{
	/* A list has one answer, which comes when it is complete. */
	if (p->batch || !accepts(p->rq, STR(EVENTS), STR("text/*")))
		return;
	if (timer_set(p->server->loop, &p->timer, MCP_STREAM_MS, beat) < 0)
		return;
}

/* --- Messages ------------------------------------------------------------------ */

static void initialize(struct mcp_call *c)
{
	struct mcp_session *s = c->session;
	struct str asked = {0};
	struct jw w;

	if (json_str(json_get(c->message.params, "protocolVersion"), &c->rq->arena,
		    &asked) < 0) {
		mcp_error(c, JSONRPC_PARAMS,
			STR("initialize needs a \"protocolVersion\"."));
		return;
	}
	s->version = version_find(asked) ? version_find(asked) : versions[0];
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

/* By the id as it was written: a client writes an id always in the same way. */
static void cancelled(struct mcp_session *s, const struct jsonrpc *m)
{
	struct str id = json_raw(json_get(m->params, "requestId"));

	for (struct mcp_call *c = s->calls; c; c = c->next)
		if (str_eq(c->message.id, id)) {
			cancel(c);
			return;
		}
}

static bool is_initialize(const struct jsonrpc *m)
{
	return m->kind == JSONRPC_REQUEST && str_eq(m->method, STR("initialize"));
}

/* 0, or -ENOMEM. */
static int take(struct mcp_post *p, struct mcp_session *s, const struct jsonrpc *m)
{
	struct json_val token = json_get(json_get(m->params, "_meta"), "progressToken");
	struct mcp_call *c;

	if (m->kind == JSONRPC_NOTIFICATION &&
		str_eq(m->method, STR("notifications/cancelled")))
		cancelled(s, m);
	/* The others change nothing, and nobody was asked what a response answers. */
	if (m->kind != JSONRPC_REQUEST)
		return 0;
	c = arena_alloc(&p->rq->arena, sizeof(*c));
	if (!c)
		return -ENOMEM;
	*c = (struct mcp_call){
		.post = p,
		.session = s,
		.next = s->calls,
		.rq = p->rq,
		.message = *m,
	};
	if (json_type(token) == JSON_STRING || json_type(token) == JSON_NUMBER)
		c->progress_token = json_raw(token);
	s->calls = c;
	p->waiting++;
	dispatch(c);
	return 0;
}

/* All messages of one body, each of them checked before the first is obeyed. */
static void take_all(struct mcp_post *p, struct mcp_session *s,
	const struct jsonrpc *messages, size_t n)
{
	struct request *rq = p->rq;
	bool asked = false;

	for (size_t i = 0; i < n; i++)
		asked = asked || messages[i].kind == JSONRPC_REQUEST;
	if (!asked) {
		for (size_t i = 0; i < n; i++)
			if (take(p, s, &messages[i]) < 0)
				break;
		request_reply(rq, 202, NULL);
		return;
	}
	rq->user = p;
	p->held = true;
	for (size_t i = 0; i < n; i++)
		if (take(p, s, &messages[i]) < 0)
			request_out(rq)->err = -ENOMEM;
	p->held = false;
	if (p->waiting)
		wait_for_answers(p);
	else
		finish(p);
}

/* The messages of a body, n of them; NULL, and answered, where there are none. */
static struct jsonrpc *read_messages(struct request *rq, size_t *n, bool *batch)
{
	static const struct json_caps caps = {
		.depth = JSON_DEPTH_MAX,
		.tokens = JSON_TOKENS_MAX,
		.keys = JSON_KEYS_MAX,
	};
	struct json *doc = arena_alloc(&rq->arena, sizeof(*doc));
	struct json_error e = {.why = "out of memory"};
	struct jsonrpc *messages = NULL;
	struct json_val v;
	const char *why = "out of memory";
	int it = 0, r = doc ? json_parse(doc, rq->body, &caps, &rq->arena, &e) : -ENOMEM;

	if (r < 0) {
		refuse(rq, r == -ENOMEM ? 503 : 400, JSONRPC_PARSE, e.why);
		return NULL;
	}
	*batch = json_type(json_root(doc)) == JSON_ARRAY;
	*n = *batch ? json_count(json_root(doc)) : 1;
	if (*n)
		messages = arena_array(&rq->arena, *n, sizeof(*messages));
	else
		why = "an empty list of messages";
	r = messages ? 0 : ERR_TYPE;
	for (size_t i = 0; !r && i < *n; i++) {
		v = json_root(doc);
		if (*batch && !json_next(v, &it, NULL, &v))
			break;
		r = jsonrpc_read(v, &rq->arena, &messages[i], &why);
		if (!r && *batch && is_initialize(&messages[i])) {
			why = "initialize may not be part of a list";
			r = ERR_TYPE;
		}
	}
	if (!r)
		return messages;
	refuse(rq, r == -ENOMEM ? 503 : 400, JSONRPC_INVALID, why);
	return NULL;
}

void mcp_server_post(struct mcp_server *s, struct request *rq)
{
	struct mcp_session *session;
	struct jsonrpc *messages;
	struct mcp_post *p;
	bool batch, no_json;
	size_t n;

	if (!is_welcome(rq))
		return;
	if (!is_json(rq)) {
		refuse(rq, 415, JSONRPC_INVALID,
			"The content type must be application/json.");
		return;
	}
	no_json = !accepts(rq, STR(JSON), STR("application/*"));
	if (no_json && !accepts(rq, STR(EVENTS), STR("text/*"))) {
		refuse(rq, 406, JSONRPC_INVALID,
			"Accept must list application/json and text/event-stream.");
		return;
	}
	messages = read_messages(rq, &n, &batch);
	if (!messages)
		return;
	if (is_initialize(&messages[0])) {
		session = session_new(s);
		if (!session)
			refuse(rq, 503, JSONRPC_INTERNAL, "Too many sessions are busy.");
	} else {
		session = session_of(s, rq);
	}
	if (!session)
		return;
	p = arena_alloc(&rq->arena, sizeof(*p));
	if (!p) {
		refuse(rq, 503, JSONRPC_INTERNAL, "Out of memory.");
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

	if (!is_welcome(rq))
		return;
	session = session_of(s, rq);
	if (!session)
		return;
	while (session->calls)
		cancel(session->calls);
	session_del(session);
	request_reply(rq, 200, NULL);
}

void mcp_server_gone(struct request *rq)
{
	struct mcp_post *p = rq->user;

	timer_cancel(p->server->loop, &p->timer);
	buf_free(&p->text);
	p->held = true;
	for (struct mcp_session *s = p->server->sessions; s; s = s->next)
		for (struct mcp_call *c = s->calls, *next; c; c = next) {
			next = c->next;
			if (c->post != p)
				continue;
			p->server->ops->leave(c);
			unlink_call(c);
		}
}
