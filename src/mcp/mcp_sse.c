/*
 * Streams of events that are no answer to a POST: HTTP+SSE, the transport of the revision
 * 2024-11-05, and GET of Streamable HTTP.
 */
#include "mcp/mcp_private.h"

#include <stdio.h>
#include <stdlib.h>

/* Frees the stream. No answers are sent on it any more. */
void mcp_close_stream(struct mcp_session *s)
{
	struct mcp_post *p = s->stream;

	timer_cancel(p->server->loop, &p->timer);
	buf_free(&p->text);
	free(p);
	s->stream = NULL;
}

void mcp_end_stream(struct mcp_session *s)
{
	struct request *rq = s->stream->rq;

	rq->user = NULL;
	mcp_close_stream(s);
	request_end(rq);
}

static struct mcp_post *mcp_sse_stream_new(struct mcp_server *s, struct request *rq)
{
	struct mcp_post *p = calloc(1, sizeof(*p));

	if (p)
		*p = (struct mcp_post){
			.server = s,
			.rq = rq,
			.incomplete = true,
			.text = BUF_INIT(HTTP_REPLY_MAX),
		};
	return p;
}

/* Whether a GET may have a stream of events. False: the request is answered. */
static bool mcp_sse_check_request(struct request *rq)
{
	if (!mcp_check_request(rq))
		return false;
	if (mcp_accepts_events(rq))
		return true;
	mcp_reply_error(rq, 406, JSONRPC_INVALID, "Accept must list text/event-stream.");
	return false;
}

static void mcp_sse_begin(struct mcp_session *s, struct mcp_post *p)
{
	s->stream = p;
	p->rq->ops = &mcp_post_ops;
	p->rq->user = p;
	p->rq->needs_peer = true;
	p->streams = true;
	request_begin_events(p->rq);
	timer_set(p->server->loop, &p->timer, MCP_BEAT_MS, mcp_send_heartbeat);
}

void mcp_server_stream(struct mcp_server *s, struct request *rq, const char *path)
{
	struct mcp_session *session;
	struct mcp_post *p;
	char line[256];

	if (!mcp_sse_check_request(rq))
		return;
	p = mcp_sse_stream_new(s, rq);
	session = p ? mcp_session_new(s, MCP_BY_STREAM) : NULL;
	if (!session) {
		free(p);
		mcp_reply_error(rq, 503, JSONRPC_INTERNAL,
			"Too many sessions are open and busy. Try again.");
		return;
	}
	mcp_sse_begin(session, p);
	snprintf(line, sizeof(line), "event: endpoint\ndata: %s?session_id=%s\n\n", path,
		session->id);
	mcp_send(p, str_c(line));
}

void mcp_server_listen(struct mcp_server *s, struct request *rq)
{
	struct mcp_session *session;
	struct mcp_post *p;

	if (!mcp_sse_check_request(rq))
		return;
	session = mcp_session_of(s, rq);
	if (!session)
		return;
	p = mcp_sse_stream_new(s, rq);
	if (!p) {
		mcp_reply_error(rq, 503, JSONRPC_INTERNAL, "Out of memory.");
		return;
	}
	/* The old stream may belong to a peer whose disconnection was not detected. */
	if (session->stream)
		mcp_end_stream(session);
	mcp_sse_begin(session, p);
	mcp_mark_reachable(session);
}

/* Handles the only message of a body. The message outlives its request. */
static void mcp_sse_handle_message(struct mcp_session *session, struct request *rq)
{
	struct arena *arena, memory;
	struct jsonrpc *m = NULL;
	bool batch = false, call = false;
	char *body;
	size_t n;

	arena_init(&memory, HTTP_ARENA_MAX + HTTP_BODY_MAX);
	arena = arena_alloc(&memory, sizeof(*arena));
	body = arena_cstr(&memory, rq->body);
	if (!arena || !body)
		mcp_reply_error(rq, 503, JSONRPC_INTERNAL, "Out of memory.");
	else
		m = mcp_read_messages(
			rq, &memory, str_make(body, rq->body.n), &n, &batch);
	if (m && batch) {
		mcp_reply_error(rq, 400, JSONRPC_INVALID,
			"A list of messages is not supported here. Send one message.");
		m = NULL;
	}
	if (!m) {
		arena_reset(&memory);
		return;
	}
	buf_puts(request_out(rq), "Accepted");
	request_reply(rq, 202, "text/plain");
	*arena = memory;
	call = m->kind == JSONRPC_REQUEST;
	if (mcp_handle_message(session->stream, session, m, arena) < 0)
		call = false;
	if (!call) {
		memory = *arena;
		arena_reset(&memory);
	}
}

void mcp_server_message(struct mcp_server *s, struct request *rq)
{
	struct mcp_session *session = NULL;
	struct str id;

	if (!mcp_check_request(rq))
		return;
	if (request_query(rq, STR("session_id"), &id) == 0)
		session = mcp_session_find(s, MCP_BY_STREAM, id);
	if (!session)
		mcp_reply_error(rq, 404, JSONRPC_INVALID,
			"The session does not exist or has ended. Open a new stream.");
	else if (!mcp_is_json(rq))
		mcp_reply_error(rq, 415, JSONRPC_INVALID,
			"The content type must be application/json.");
	else
		mcp_sse_handle_message(session, rq);
}
