/*
 * Requests and notifications of proxied servers to clients. A server has a single client,
 * the proxy, and does not name the client that it means: that is the client with a call
 * in progress there, or else the only client that supports the request.
 */
#include "mcp/mcp_proxy_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Log level and subscriptions of a client. */
struct memo {
	unsigned level; /* of log messages, from 1; 0: not set */
	unsigned watched_n;
	struct watched *watched;
};

struct watched {
	struct watched *next;
	char server[MCP_NAME_MAX + 1];
	struct str uri; /* as the server spells it; stored behind this struct */
};

/* --- State of a client ---------------------------------------------------------- */

static struct memo *mcp_relay_state_new(void)
{
	return calloc(1, sizeof(struct memo));
}

static struct memo *mcp_relay_get_state(struct mcp_session *s)
{
	if (!s->data)
		s->data = mcp_relay_state_new();
	return s->data;
}

static struct watched *mcp_relay_watch_new(const struct mcp_child *c, struct str uri)
{
	struct watched *w = calloc(1, sizeof(*w) + uri.n);

	if (!w)
		return NULL;
	w->uri = str_make(memcpy(w + 1, uri.p, uri.n), uri.n);
	snprintf(w->server, sizeof(w->server), "%s", c->name);
	return w;
}

static struct watched **mcp_relay_find_watch(
	struct mcp_session *s, const struct mcp_child *c, struct str uri)
{
	struct memo *m = s->data;

	for (struct watched **at = m ? &m->watched : NULL; at && *at; at = &(*at)->next)
		if (str_eq((*at)->uri, uri) && strcmp((*at)->server, c->name) == 0)
			return at;
	return NULL;
}

int mcp_relay_watch(struct mcp_session *s, const struct mcp_child *c, struct str uri)
{
	struct memo *m = mcp_relay_get_state(s);
	struct watched *w;

	if (mcp_relay_find_watch(s, c, uri))
		return 0;
	if (m && m->watched_n >= MCP_WATCHED_MAX)
		return ERR_LIMIT;
	w = m ? mcp_relay_watch_new(c, uri) : NULL;
	if (!w)
		return -ENOMEM;
	w->next = m->watched;
	m->watched = w;
	m->watched_n++;
	return 0;
}

static void mcp_relay_del_watch(struct memo *m, struct watched **at)
{
	struct watched *w = *at;

	*at = w->next;
	m->watched_n--;
	free(w);
}

bool mcp_relay_unwatch(struct mcp_session *s, const struct mcp_child *c, struct str uri)
{
	struct watched **at = mcp_relay_find_watch(s, c, uri);

	if (at)
		mcp_relay_del_watch(s->data, at);
	LIST_EACH (struct mcp_session, o, &s->server->sessions, node)
		if (mcp_relay_find_watch(o, c, uri))
			return true;
	return false;
}

static struct mcp_child *mcp_relay_find_child(const struct mcp_proxy *p, const char *name)
{
	LIST_EACH (struct mcp_child, c, &p->children, node)
		if (strcmp(c->name, name) == 0)
			return c;
	return NULL;
}

/* --- Requests of the proxy itself; their answers are ignored --------------------- */

static void mcp_relay_discard_answer(
	struct mcp_child_call *q, const struct jsonrpc *m, const char *why)
{
	(void)m;
	(void)why;
	free(q);
}

static struct mcp_child_call *mcp_relay_call_new(void)
{
	struct mcp_child_call *q = calloc(1, sizeof(*q));

	if (q)
		q->done = mcp_relay_discard_answer;
	return q;
}

static void mcp_relay_send_request(
	struct mcp_child *c, struct str method, struct buf *params)
{
	struct mcp_child_call *q = params->err ? NULL : mcp_relay_call_new();

	if (q && mcp_child_request(c, q, method, buf_view(params)) < 0)
		free(q);
	buf_free(params);
}

static void mcp_relay_send_uri(struct mcp_child *c, struct str method, struct str uri)
{
	struct buf params = BUF_INIT(HTTP_BODY_MAX);

	buf_puts(&params, "{\"uri\":\"");
	buf_str(&params, uri);
	buf_puts(&params, "\"}");
	mcp_relay_send_request(c, method, &params);
}

/* --- Levels --------------------------------------------------------------------- */

static const char *const levels[] = {
	"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"};

/* From 1; 0: there is no such level. */
static unsigned mcp_relay_read_level(struct json_val params)
{
	struct str name = json_raw_content(json_get(params, "level"));

	for (unsigned i = 0; i < ARRAY_LEN(levels); i++)
		if (str_eq(name, str_c(levels[i])))
			return i + 1;
	return 0;
}

/* A server has one level for all clients: the lowest. Each client receives its part. */
static void mcp_relay_send_level(struct mcp_proxy *p, struct mcp_child *c)
{
	struct buf params = BUF_INIT(64);
	unsigned lowest = 0;

	LIST_EACH (struct mcp_session, s, &p->server->sessions, node) {
		const struct memo *m = s->data;

		if (m && m->level && (!lowest || m->level < lowest))
			lowest = m->level;
	}
	if (!lowest)
		return;
	buf_fmt(&params, "{\"level\":\"%s\"}", levels[lowest - 1]);
	mcp_relay_send_request(c, STR("logging/setLevel"), &params);
}

void mcp_relay_set_level(struct mcp_call *c)
{
	struct mcp_proxy *p = c->session->server->arg;
	unsigned level = mcp_relay_read_level(c->message.params);
	struct memo *m = mcp_relay_get_state(c->session);
	struct jw w;

	if (!level) {
		mcp_error(c, JSONRPC_PARAMS, STR("The level is unknown."));
		return;
	}
	if (!m) {
		mcp_error(c, JSONRPC_INTERNAL, STR("Out of memory."));
		return;
	}
	m->level = level;
	LIST_EACH (struct mcp_child, child, &p->children, node)
		mcp_relay_send_level(p, child);
	mcp_result_begin(c, &w);
	jw_raw(&w, STR("{}"));
	mcp_result_end(c, &w);
}

/* --- Requests of servers -------------------------------------------------------- */

/* A request of a server that a client has not answered yet. */
struct mcp_relay_request {
	struct list node;
	struct mcp_client_request question;
	struct mcp_proxy *proxy;
	struct mcp_child *child;
	struct str id, token; /* from the server, in JSON; stored behind this struct */
};

static const struct kind {
	const char *method;
	unsigned can;
} kinds[] = {
	{"sampling/createMessage", MCP_SAMPLING},
	{"elicitation/create", MCP_ELICITATION},
	{"roots/list", MCP_ROOTS},
};

static void mcp_relay_del_request(struct mcp_relay_request *a)
{
	list_remove(&a->node);
	free(a);
}

static void mcp_relay_on_answer(struct mcp_client_request *q, const struct jsonrpc *m)
{
	struct mcp_relay_request *a = container_of(q, struct mcp_relay_request, question);

	if (m)
		mcp_child_send_answer(a->child, a->id, m);
	else
		mcp_child_send_error(
			a->child, a->id, JSONRPC_INTERNAL, "The client has left.");
	mcp_relay_del_request(a);
}

static void mcp_relay_on_progress(struct mcp_client_request *q, struct json_val params)
{
	struct mcp_relay_request *a = container_of(q, struct mcp_relay_request, question);
	struct buf own = BUF_INIT(HTTP_BODY_MAX);

	if (!a->token.n)
		return;
	mcp_progress_params(&own, a->token, params);
	if (!own.err)
		mcp_child_notify(a->child, STR("notifications/progress"), buf_view(&own));
	buf_free(&own);
}

static struct mcp_relay_request *mcp_relay_request_new(
	struct mcp_proxy *p, struct mcp_child *c, const struct jsonrpc *m)
{
	struct json_val token = json_get(json_get(m->params, "_meta"), "progressToken");
	struct str raw = json_raw(token);
	struct mcp_relay_request *a = calloc(1, sizeof(*a) + m->id.n + raw.n);
	char *text;

	if (!a)
		return NULL;
	text = (char *)(a + 1);
	*a = (struct mcp_relay_request){
		.question = {.done = mcp_relay_on_answer,
			.progress = mcp_relay_on_progress},
		.proxy = p,
		.child = c,
		.id = {memcpy(text, m->id.p, m->id.n), m->id.n},
		.token = {text + m->id.n, raw.n},
	};
	if (raw.n)
		memcpy(text + m->id.n, raw.p, raw.n);
	list_prepend(&p->requests, &a->node);
	return a;
}

/* The newest call of s that c handles; if s is NULL, of any session. */
static struct mcp_call *mcp_relay_find_call(
	const struct mcp_child *c, const struct mcp_session *s)
{
	LIST_EACH (const struct mcp_child_call, q, &c->calls, node) {
		struct mcp_call *call = mcp_call_of(q);

		if (call && (!s || call->session == s))
			return call;
	}
	return NULL;
}

/*
 * The client that c means: it supports the request, and has a call at c if any client
 * has. NULL: *code and *why are the error.
 */
static struct mcp_session *mcp_relay_find_session(const struct mcp_proxy *p,
	const struct mcp_child *c, unsigned can, int *code, const char **why)
{
	bool working = mcp_relay_find_call(c, NULL);
	struct mcp_session *found = NULL;

	*code = JSONRPC_NO_METHOD;
	*why = working ? "The client of the call does not support this request."
		       : "No connected client supports this request.";
	LIST_EACH (struct mcp_session, s, &p->server->sessions, node) {
		struct mcp_call *about = mcp_relay_find_call(c, s);

		if (!(s->capabilities & can) || !about != !working ||
			!mcp_is_reachable(s, about))
			continue;
		if (found) {
			*code = JSONRPC_INTERNAL;
			*why = "Several connected clients support this request, and it "
			       "does not name one of them.";
			return NULL;
		}
		found = s;
	}
	return found;
}

static const char *mcp_relay_error_text(int err)
{
	return err == ERR_LIMIT
		? "The client does not read its stream, or does not answer."
		: "Out of memory.";
}

static void mcp_relay_forward_request(struct mcp_proxy *p, struct mcp_child *c,
	const struct jsonrpc *m, const struct kind *kind)
{
	struct buf params = BUF_INIT(MCP_CHILD_LINE_MAX);
	struct mcp_relay_request *a;
	struct mcp_session *s;
	const char *why;
	int code, r;

	s = mcp_relay_find_session(p, c, kind->can, &code, &why);
	if (!s) {
		mcp_child_send_error(c, m->id, code, why);
		return;
	}
	a = mcp_relay_request_new(p, c, m);
	mcp_put_params(&params, m->params, NULL, STR(""), mcp_next_request_id(p->server));
	r = a ? params.err : -ENOMEM;
	if (!r)
		r = mcp_request_client(s, mcp_relay_find_call(c, s), &a->question,
			m->method, buf_view(&params));
	buf_free(&params);
	if (!r)
		return;
	mcp_child_send_error(c, m->id, JSONRPC_INTERNAL, mcp_relay_error_text(r));
	if (a)
		mcp_relay_del_request(a);
}

/* The server has cancelled a request. */
static void mcp_relay_on_cancelled(
	struct mcp_proxy *p, const struct mcp_child *c, const struct jsonrpc *m)
{
	struct str id = json_raw(json_get(m->params, "requestId"));

	LIST_EACH (struct mcp_relay_request, a, &p->requests, node)
		if (a->child == c && str_eq(a->id, id)) {
			mcp_cancel_client_request(&a->question);
			mcp_relay_del_request(a);
			return;
		}
}

void mcp_relay_drop_child(struct mcp_proxy *p, const struct mcp_child *c)
{
	LIST_EACH (struct mcp_relay_request, a, &p->requests, node) {
		if (a->child != c)
			continue;
		mcp_cancel_client_request(&a->question);
		mcp_relay_del_request(a);
	}
}

/* --- Notifications of servers --------------------------------------------------- */

static void mcp_relay_broadcast(struct mcp_proxy *p, struct str method, struct str params)
{
	LIST_EACH (struct mcp_session, s, &p->server->sessions, node)
		mcp_notify_client(s, NULL, method, params);
}

static void mcp_relay_send_log(
	struct mcp_proxy *p, const struct mcp_child *c, const struct jsonrpc *m)
{
	unsigned level = mcp_relay_read_level(m->params);

	LIST_EACH (struct mcp_session, s, &p->server->sessions, node) {
		const struct memo *memo = s->data;

		if (!memo || level >= memo->level)
			mcp_notify_client(s, mcp_relay_find_call(c, s), m->method,
				json_raw(m->params));
	}
}

/* Whether uri is the watched one, or below it. */
static bool mcp_relay_is_below(struct str watched, struct str uri)
{
	return str_starts(uri, watched) &&
		(uri.n == watched.n || str_ends(watched, STR("/")) ||
			uri.p[watched.n] == '/');
}

static void mcp_relay_notify_updated(struct mcp_session *s, const struct mcp_child *c,
	struct str uri, struct json_val params)
{
	struct buf shown = BUF_INIT(HTTP_BODY_MAX), own = BUF_INIT(HTTP_BODY_MAX);

	mcp_put_public_name(&shown, c, mcp_proxy_is_single(s->server->arg), true, uri);
	if (json_type(params) == JSON_OBJECT) {
		mcp_put_params(&own, params, "uri", buf_view(&shown), 0);
	} else {
		buf_putc(&own, '{');
		mcp_put_member(&own, STR("\"uri\""), buf_view(&shown));
		buf_putc(&own, '}');
	}
	if (!shown.err && !own.err)
		mcp_notify_client(
			s, NULL, STR("notifications/resources/updated"), buf_view(&own));
	buf_free(&shown);
	buf_free(&own);
}

static void mcp_relay_on_updated(
	struct mcp_proxy *p, const struct mcp_child *c, struct json_val params)
{
	struct str uri = json_raw_content(json_get(params, "uri"));

	LIST_EACH (struct mcp_session, s, &p->server->sessions, node) {
		const struct memo *m = s->data;

		for (const struct watched *w = m ? m->watched : NULL; w; w = w->next)
			if (strcmp(w->server, c->name) == 0 &&
				mcp_relay_is_below(w->uri, uri)) {
				mcp_relay_notify_updated(s, c, uri, params);
				break;
			}
	}
}

void mcp_relay_on_message(
	struct mcp_proxy *p, struct mcp_child *c, const struct jsonrpc *m)
{
	if (m->kind == JSONRPC_REQUEST) {
		for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
			if (str_eq(m->method, str_c(kinds[i].method))) {
				mcp_relay_forward_request(p, c, m, &kinds[i]);
				return;
			}
		mcp_child_send_error(c, m->id, JSONRPC_NO_METHOD,
			"This client does not support the method.");
	} else if (str_eq(m->method, STR(MCP_CANCELLED))) {
		mcp_relay_on_cancelled(p, c, m);
	} else if (str_eq(m->method, STR("notifications/message"))) {
		mcp_relay_send_log(p, c, m);
	} else if (str_eq(m->method, STR("notifications/resources/updated"))) {
		mcp_relay_on_updated(p, c, m->params);
	} else {
		mcp_relay_broadcast(p, m->method, json_raw(m->params));
	}
}

/* --- Changes of servers and clients --------------------------------------------- */

static void mcp_relay_notify_lists(struct mcp_session *s)
{
	mcp_notify_client(s, NULL, STR("notifications/tools/list_changed"), STR(""));
	mcp_notify_client(s, NULL, STR("notifications/resources/list_changed"), STR(""));
	mcp_notify_client(s, NULL, STR("notifications/prompts/list_changed"), STR(""));
}

void mcp_relay_lists_changed(struct mcp_proxy *p)
{
	LIST_EACH (struct mcp_session, s, &p->server->sessions, node)
		mcp_relay_notify_lists(s);
}

/* Repeats level and subscriptions for a new process, which does not have them. */
static void mcp_relay_resend_state(struct mcp_proxy *p, struct mcp_child *c)
{
	mcp_relay_send_level(p, c);
	LIST_EACH (struct mcp_session, s, &p->server->sessions, node) {
		const struct memo *m = s->data;

		for (const struct watched *w = m ? m->watched : NULL; w; w = w->next)
			if (strcmp(w->server, c->name) == 0)
				mcp_relay_send_uri(c, STR("resources/subscribe"), w->uri);
	}
}

void mcp_relay_on_state(struct mcp_proxy *p, struct mcp_child *c)
{
	bool ready = c->service.state == SERVICE_READY;

	if (ready)
		mcp_relay_resend_state(p, c);
	else
		mcp_relay_drop_child(p, c);
	if (ready || c->service.was_ready)
		mcp_relay_lists_changed(p);
}

static void mcp_relay_notify_roots(struct mcp_proxy *p)
{
	LIST_EACH (struct mcp_child, c, &p->children, node)
		mcp_child_notify(c, STR("notifications/roots/list_changed"), STR(""));
}

/* A client that connects may change whose roots are used. */
void mcp_relay_on_notification(struct mcp_session *s, const struct jsonrpc *m)
{
	bool comes = str_eq(m->method, STR("notifications/initialized")) && s->stream;

	if (s->capabilities & MCP_ROOTS &&
		(comes || str_eq(m->method, STR("notifications/roots/list_changed"))))
		mcp_relay_notify_roots(s->server->arg);
}

void mcp_relay_on_reachable(struct mcp_session *s, bool missed)
{
	struct mcp_proxy *p = s->server->arg;
	struct json_val none = {.at = -1};
	const struct memo *m = s->data;

	if (s->capabilities & MCP_ROOTS)
		mcp_relay_notify_roots(p);
	if (!missed)
		return;
	mcp_relay_notify_lists(s);
	for (const struct watched *w = m ? m->watched : NULL; w; w = w->next) {
		const struct mcp_child *c = mcp_relay_find_child(p, w->server);

		if (c)
			mcp_relay_notify_updated(s, c, w->uri, none);
	}
}

void mcp_relay_on_session_end(struct mcp_session *s)
{
	struct mcp_proxy *p = s->server->arg;
	struct memo *m = s->data;

	while (m && m->watched) {
		struct mcp_child *c = mcp_relay_find_child(p, m->watched->server);
		struct watched *w = m->watched;

		m->watched = w->next;
		LIST_EACH (struct mcp_session, o, &s->server->sessions, node)
			if (c && mcp_relay_find_watch(o, c, w->uri))
				c = NULL;
		if (c)
			mcp_relay_send_uri(c, STR("resources/unsubscribe"), w->uri);
		free(w);
	}
	free(m);
	s->data = NULL;
}
