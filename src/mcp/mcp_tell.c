/* Requests and notifications to clients. */
#include "mcp/mcp_private.h"

#include "base/json_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

/* --- The stream to a client ----------------------------------------------------- */

/*
 * Messages that belong to a call use the call's own stream (MCP, Streamable HTTP). NULL:
 * there is no stream.
 */
static struct mcp_post *mcp_find_stream(
	const struct mcp_session *s, const struct mcp_call *about)
{
	return about && mcp_may_stream(about->post) ? about->post : s->stream;
}

bool mcp_is_reachable(const struct mcp_session *s, const struct mcp_call *about)
{
	return mcp_find_stream(s, about);
}

void mcp_mark_reachable(struct mcp_session *s)
{
	bool missed = s->missed;

	s->missed = false;
	if (s->server->ops->on_reachable)
		s->server->ops->on_reachable(s, missed);
}

/* Sends a message as an event. -ENOMEM: nothing is sent. */
static int mcp_send_event(
	struct mcp_post *p, uint64_t id, struct str method, struct str params)
{
	jsonrpc_write_call(&p->text, id, method, params);
	if (p->text.err) {
		buf_reset(&p->text);
		return -ENOMEM;
	}
	mcp_begin_stream(p);
	mcp_write_event(p);
	return 0;
}

void mcp_notify_client(struct mcp_session *s, struct mcp_call *about, struct str method,
	struct str params)
{
	struct mcp_post *p = mcp_find_stream(s, about);

	/* Before initialize the client has no lists that could change. */
	if (!s->version)
		return;
	if (!p || p->full || mcp_send_event(p, 0, method, params) < 0)
		s->missed = true;
}

void mcp_post_on_writable(struct request *rq)
{
	struct mcp_post *p = rq->user;

	p->full = false;
	LIST_EACH (struct mcp_session, s, &p->server->sessions, node)
		if (s->stream == p && s->missed) {
			mcp_mark_reachable(s);
			return;
		}
}

/* --- Questions ------------------------------------------------------------------ */

static void mcp_unlink_client_request(struct mcp_client_request *q)
{
	list_remove(&q->node);
	q->session = NULL;
}

int mcp_request_client(struct mcp_session *s, struct mcp_call *about,
	struct mcp_client_request *q, struct str method, struct str params)
{
	struct mcp_post *p = mcp_find_stream(s, about);
	int r;

	if (!p)
		return ERR_CLOSED;
	if (p->full || list_count(&s->questions) >= MCP_QUESTIONS_MAX)
		return ERR_LIMIT;
	r = mcp_send_event(p, mcp_next_request_id(s->server), method, params);
	if (r < 0)
		return r;
	q->id = ++s->server->questions;
	q->session = s;
	q->about = about;
	list_prepend(&s->questions, &q->node);
	return 0;
}

uint64_t mcp_next_request_id(const struct mcp_server *s)
{
	return s->questions + 1;
}

struct str mcp_cancelled_params(char room[MCP_CANCELLED_MAX], uint64_t id)
{
	snprintf(room, MCP_CANCELLED_MAX, "{\"requestId\":%" PRIu64 "}", id);
	return str_c(room);
}

void mcp_cancel_client_request(struct mcp_client_request *q)
{
	struct mcp_session *s = q->session;
	struct mcp_call *about = q->about;
	char room[MCP_CANCELLED_MAX];

	if (!s)
		return;
	mcp_unlink_client_request(q);
	mcp_notify_client(
		s, about, STR(MCP_CANCELLED), mcp_cancelled_params(room, q->id));
}

static struct mcp_client_request *mcp_find_client_request(
	struct mcp_session *s, struct str id)
{
	uint64_t n;

	if (str_u64(id, UINT64_MAX, &n) < 0)
		return NULL;
	LIST_EACH (struct mcp_client_request, q, &s->questions, node)
		if (q->id == n)
			return q;
	return NULL;
}

void mcp_handle_response(struct mcp_session *s, const struct jsonrpc *m)
{
	struct mcp_client_request *q = mcp_find_client_request(s, m->id);

	/* The response is too late, or matches no question. */
	if (!q)
		return;
	mcp_unlink_client_request(q);
	q->done(q, m);
}

void mcp_handle_progress(struct mcp_session *s, const struct jsonrpc *m)
{
	struct mcp_client_request *q = mcp_find_client_request(
		s, json_raw(json_get(m->params, "progressToken")));

	if (q)
		q->progress(q, m->params);
}

void mcp_detach_client_requests(struct mcp_session *s, const struct mcp_call *about)
{
	LIST_EACH (struct mcp_client_request, q, &s->questions, node)
		if (q->about == about)
			q->about = NULL;
}

void mcp_fail_client_requests(struct mcp_session *s)
{
	struct mcp_client_request *q;

	while ((q = LIST_FIRST(&s->questions, struct mcp_client_request, node))) {
		mcp_unlink_client_request(q);
		q->done(q, NULL);
	}
}

/* --- Progress ------------------------------------------------------------------- */

void mcp_progress_params(struct buf *out, struct str token, struct json_val params)
{
	struct json_val key, v;
	int it = 0;

	buf_puts(out, "{\"progressToken\":");
	buf_str(out, token);
	while (json_next(params, &it, &key, &v)) {
		if (json_text_equals(json_raw_content(key), STR("progressToken")))
			continue;
		buf_putc(out, ',');
		buf_str(out, json_raw(key));
		buf_putc(out, ':');
		buf_str(out, json_raw(v));
	}
	buf_putc(out, '}');
}
