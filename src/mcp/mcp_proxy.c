#include "mcp/mcp_proxy_private.h"

#include "base/json_text.h"
#include "base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

enum {
	MCP_PAGES_MAX = 100,     /* pages of one list of one server */
	MCP_LIST_MAX = 32 << 20, /* bytes of all lists together */
};

static struct mcp_proxy *mcp_proxy_of(const struct mcp_call *c)
{
	return c->session->server->arg;
}

static struct mcp_child *mcp_proxy_get_first(const struct mcp_proxy *p)
{
	return LIST_FIRST(&p->children, struct mcp_child, node);
}

bool mcp_proxy_is_single(const struct mcp_proxy *p)
{
	return list_count(&p->children) == 1;
}

static void mcp_proxy_fail(struct mcp_call *c, const char *why)
{
	mcp_error(c, JSONRPC_INTERNAL, str_c(why));
}

/* --- Names --------------------------------------------------------------------- */

/* The length of the scheme of a URI with "://". The server's name follows it. */
static size_t mcp_proxy_scheme_length(struct str uri)
{
	size_t at = str_find(uri, STR("://"));

	return at == uri.n ? 0 : at + 3;
}

void mcp_put_public_name(
	struct buf *out, const struct mcp_child *c, bool alone, bool uri, struct str name)
{
	size_t at = uri ? mcp_proxy_scheme_length(name) : 0;

	buf_putc(out, '"');
	buf_put(out, name.p, at);
	if (!alone)
		buf_fmt(out, "%s%c", c->name, uri ? '/' : '_');
	buf_str(out, str_skip(name, at));
	buf_putc(out, '"');
}

/*
 * The server whose name is the prefix of *name, the longest name first. *name becomes the
 * server's own name of the object. NULL: there is none.
 */
static struct mcp_child *mcp_proxy_match_owner(
	const struct mcp_proxy *p, struct mcp_call *call, bool uri, struct str *name)
{
	size_t at = uri ? mcp_proxy_scheme_length(*name) : 0, best = 0;
	struct str rest = str_skip(*name, at);
	struct mcp_child *found = NULL;
	char *copy;

	if (mcp_proxy_is_single(p))
		return mcp_proxy_get_first(p);
	LIST_EACH (struct mcp_child, c, &p->children, node) {
		size_t n = strlen(c->name);

		if (n >= best && rest.n > n && str_starts(rest, str_c(c->name)) &&
			rest.p[n] == (uri ? '/' : '_')) {
			found = c;
			best = n;
		}
	}
	copy = found ? arena_cstr(call->arena, *name) : NULL;
	if (!copy)
		return NULL;
	memmove(copy + at, copy + at + best + 1, name->n - at - best - 1);
	*name = str_make(copy, name->n - best - 1);
	return found;
}

/* --- A request to a server ------------------------------------------------------ */

struct pass {
	struct mcp_child_call ask;
	struct mcp_call *call;
	struct mcp_child *to;
	struct str watched; /* URI to subscribe to, in the server's spelling */
};

/*
 * Stores a subscription that the server has accepted, so that updates reach this client.
 */
static int mcp_proxy_subscribe(struct pass *p, const struct jsonrpc *m)
{
	if (!p->watched.n || json_type(m->error) != JSON_ABSENT)
		return 0;
	return mcp_relay_watch(p->call->session, p->to, p->watched);
}

static void mcp_proxy_on_answer(
	struct mcp_child_call *q, const struct jsonrpc *m, const char *why)
{
	struct pass *p = container_of(q, struct pass, ask);

	if (m && mcp_proxy_subscribe(p, m) < 0)
		mcp_proxy_fail(p->call, "This client has too many subscriptions.");
	else if (m)
		mcp_answer(p->call, m);
	else
		mcp_proxy_fail(p->call, why);
}

struct mcp_call *mcp_call_of(const struct mcp_child_call *q)
{
	return q->done == mcp_proxy_on_answer ? container_of(q, struct pass, ask)->call
					      : NULL;
}

static void mcp_proxy_on_progress(struct mcp_child_call *q, struct json_val params)
{
	mcp_progress(container_of(q, struct pass, ask)->call, params);
}

void mcp_put_member(struct buf *out, struct str key, struct str value)
{
	buf_puts(out, out->n > 1 ? "," : "");
	buf_str(out, key);
	buf_putc(out, ':');
	buf_str(out, value);
}

/* Replaces the progressToken by a token that is unique among all clients. */
static void mcp_proxy_put_meta(struct buf *out, struct json_val meta, uint64_t token)
{
	struct buf own = BUF_INIT(HTTP_BODY_MAX);
	struct json_val key, v;
	char text[24];
	int it = 0;

	snprintf(text, sizeof(text), "%" PRIu64, token);
	buf_putc(&own, '{');
	while (json_next(meta, &it, &key, &v)) {
		bool is_token =
			json_text_equals(json_raw_content(key), STR("progressToken"));

		mcp_put_member(&own, json_raw(key), is_token ? str_c(text) : json_raw(v));
	}
	buf_putc(&own, '}');
	mcp_put_member(out, STR("\"_meta\""), buf_view(&own));
	if (own.err)
		out->err = own.err;
	buf_free(&own);
}

void mcp_put_params(struct buf *out, struct json_val params, const char *name,
	struct str value, uint64_t token)
{
	struct json_val key, v;
	int it = 0;

	if (json_type(params) != JSON_OBJECT)
		return;
	buf_putc(out, '{');
	while (json_next(params, &it, &key, &v)) {
		if (json_text_equals(json_raw_content(key), STR("_meta")) &&
			json_type(v) == JSON_OBJECT)
			mcp_proxy_put_meta(out, v, token);
		else if (name && json_text_equals(json_raw_content(key), str_c(name)))
			mcp_put_member(out, json_raw(key), value);
		else
			mcp_put_member(out, json_raw(key), json_raw(v));
	}
	buf_putc(out, '}');
}

/* Sends the call to a server. If name is not NULL, value (JSON) replaces that member. */
static void mcp_proxy_forward(
	struct mcp_call *c, struct mcp_child *to, const char *name, struct str value)
{
	struct pass *p = arena_alloc(c->arena, sizeof(*p));
	struct buf params = BUF_INIT(HTTP_BODY_MAX + HTTP_HEAD_MAX);
	char words[MCP_NAME_MAX + MCP_WHY_MAX + 64];
	int r = p ? 0 : -ENOMEM;

	if (p) {
		*p = (struct pass){
			.ask = {.done = mcp_proxy_on_answer,
				.progress = mcp_proxy_on_progress},
			.call = c,
			.to = to,
		};
		if (str_eq(c->message.method, STR("resources/subscribe")) && value.n)
			p->watched = str_make(value.p + 1, value.n - 2);
		c->data = &p->ask;
		mcp_put_params(
			&params, c->message.params, name, value, mcp_child_next_id(to));
		r = params.err ? params.err
			       : mcp_child_request(to, &p->ask, c->message.method,
					 buf_view(&params));
	}
	buf_free(&params);
	if (r == 0)
		return;
	c->data = NULL;
	if (r == ERR_CLOSED)
		snprintf(words, sizeof(words), "The MCP server %s is not ready%s%s.",
			to->name, to->why[0] ? ": " : "", to->why);
	else if (r == ERR_LIMIT)
		snprintf(words, sizeof(words),
			"The MCP server %s does not read its input.", to->name);
	else
		snprintf(words, sizeof(words), "Out of memory.");
	mcp_proxy_fail(c, words);
}

/* Copies JSON into the arena of the call. Empty: out of memory. */
static struct str mcp_proxy_copy_json(struct mcp_call *c, struct buf *json)
{
	char *copy = json->err ? NULL : arena_cstr(c->arena, buf_view(json));
	struct str kept = copy ? str_make(copy, json->n) : str_make(NULL, 0);

	buf_free(json);
	return kept;
}

static struct str mcp_proxy_quote(struct mcp_call *c, struct str inside)
{
	struct buf json = BUF_INIT(HTTP_BODY_MAX);

	buf_putc(&json, '"');
	buf_str(&json, inside);
	buf_putc(&json, '"');
	return mcp_proxy_copy_json(c, &json);
}

/*
 * The server that the member name of the object identifies. *value becomes the server's
 * own name. NULL: the call is answered.
 */
static struct mcp_child *mcp_proxy_find_owner(
	struct mcp_call *c, struct json_val of, const char *name, struct str *value)
{
	bool uri = str_eq(str_c(name), STR("uri"));
	struct mcp_child *to;

	*value = json_raw_content(json_get(of, name));
	to = value->n ? mcp_proxy_match_owner(mcp_proxy_of(c), c, uri, value) : NULL;
	if (!to)
		mcp_error(c, JSONRPC_PARAMS,
			STR("No MCP server has this tool, prompt or resource."));
	return to;
}

static void mcp_proxy_forward_name(struct mcp_call *c, const char *name)
{
	struct str value;
	struct mcp_child *to = mcp_proxy_find_owner(c, c->message.params, name, &value);
	struct jw w;

	if (!to)
		return;
	if (str_eq(c->message.method, STR("resources/unsubscribe")) &&
		mcp_relay_unwatch(c->session, to, value)) {
		mcp_result_begin(c, &w);
		jw_raw(&w, STR("{}"));
		mcp_result_end(c, &w);
		return;
	}
	value = mcp_proxy_quote(c, value);
	if (value.n)
		mcp_proxy_forward(c, to, name, value);
	else
		mcp_proxy_fail(c, "Out of memory.");
}

/* In completion/complete the name of a prompt, or a URI, is a level deeper. */
static void mcp_proxy_forward_ref(struct mcp_call *c)
{
	struct json_val ref = json_get(c->message.params, "ref"), key, v;
	bool uri = json_type(json_get(ref, "uri")) != JSON_ABSENT;
	struct buf own = BUF_INIT(HTTP_BODY_MAX);
	struct mcp_child *to;
	struct str value;
	int it = 0;

	to = mcp_proxy_find_owner(c, ref, uri ? "uri" : "name", &value);
	if (!to)
		return;
	value = mcp_proxy_quote(c, value);
	buf_putc(&own, '{');
	while (json_next(ref, &it, &key, &v)) {
		bool named = json_text_equals(
			json_raw_content(key), uri ? STR("uri") : STR("name"));

		mcp_put_member(&own, json_raw(key), named ? value : json_raw(v));
	}
	buf_putc(&own, '}');
	if (!value.n)
		own.err = -ENOMEM;
	value = mcp_proxy_copy_json(c, &own);
	if (value.n)
		mcp_proxy_forward(c, to, "ref", value);
	else
		mcp_proxy_fail(c, "Out of memory.");
}

/* --- Merged lists --------------------------------------------------------------- */

/*
 * The methods that list, the member with the list, and the member of an item that is
 * shown with a prefix.
 */
static const struct list_method {
	const char *method, *member, *name;
	bool uri;
} lists[] = {
	{"tools/list", "tools", "name", false},
	{"prompts/list", "prompts", "name", false},
	{"resources/list", "resources", "uri", true},
	{"resources/templates/list", "resourceTemplates", "uriTemplate", true},
};

struct part {
	struct mcp_child_call ask;
	struct merge *merge;
	struct mcp_child *child;
	struct buf out; /* the items of this server, in a row */
	unsigned pages;
};

struct merge {
	struct mcp_call *call;
	const struct list_method *list;
	bool alone;
	struct timer timer; /* a silent server must not delay the others */
	unsigned waiting, n;
	struct part parts[MCP_SERVERS_MAX];
};

static void mcp_proxy_answer_list(struct merge *m)
{
	struct mcp_call *c = m->call;
	struct buf out = BUF_INIT(MCP_LIST_MAX);
	struct jw w;

	timer_cancel(c->session->server->loop, &m->timer);
	c->data = NULL;
	for (unsigned i = 0; i < m->n; i++) {
		struct buf *part = &m->parts[i].out;

		buf_puts(&out, out.n && part->n ? "," : "");
		buf_str(&out, buf_view(part));
		if (part->err)
			out.err = part->err;
		buf_free(part);
	}
	if (out.err) {
		buf_free(&out);
		mcp_proxy_fail(c, "The lists of the MCP servers are too long.");
		return;
	}
	mcp_result_begin(c, &w);
	jw_object(&w);
	jw_key(&w, m->list->member);
	jw_raw(&w, STR("["));
	buf_str(w.out, buf_view(&out));
	buf_putc(w.out, ']');
	jw_end(&w);
	mcp_result_end(c, &w);
	buf_free(&out);
}

static void mcp_proxy_on_list_timeout(struct timer *t)
{
	struct merge *m = container_of(t, struct merge, timer);

	for (unsigned i = 0; i < m->n; i++) {
		if (m->parts[i].ask.child)
			log_warn("mcp: the server %s did not answer %s in time",
				m->parts[i].child->name, m->list->method);
		mcp_child_cancel(&m->parts[i].ask, true);
	}
	m->waiting = 0;
	mcp_proxy_answer_list(m);
}

static void mcp_proxy_put_item(struct part *p, struct json_val item)
{
	struct merge *m = p->merge;
	struct buf one = BUF_INIT(MCP_LIST_MAX);
	struct buf shown = BUF_INIT(MCP_LIST_MAX);
	struct json_val key, v;
	int it = 0;

	buf_putc(&one, '{');
	while (json_next(item, &it, &key, &v)) {
		if (!json_text_equals(json_raw_content(key), str_c(m->list->name))) {
			mcp_put_member(&one, json_raw(key), json_raw(v));
			continue;
		}
		buf_reset(&shown);
		mcp_put_public_name(
			&shown, p->child, m->alone, m->list->uri, json_raw_content(v));
		mcp_put_member(&one, json_raw(key), buf_view(&shown));
	}
	buf_putc(&one, '}');
	buf_puts(&p->out, p->out.n ? "," : "");
	buf_str(&p->out, buf_view(&one));
	if (one.err || shown.err)
		p->out.err = -ENOMEM;
	buf_free(&one);
	buf_free(&shown);
}

/* A server without such a list, or that ends or is too late, contributes no items. */
static void mcp_proxy_on_part(
	struct mcp_child_call *q, const struct jsonrpc *m, const char *why)
{
	struct part *p = container_of(q, struct part, ask);
	struct merge *merge = p->merge;
	struct json_val none = {.at = -1};
	struct json_val result = m ? m->result : none, item;
	struct json_val cursor = json_get(result, "nextCursor");
	struct json_val items = json_get(result, merge->list->member);
	int it = 0;

	(void)why;
	while (json_type(items) == JSON_ARRAY && json_next(items, &it, NULL, &item))
		if (json_type(item) == JSON_OBJECT)
			mcp_proxy_put_item(p, item);
	if (json_type(cursor) == JSON_STRING && ++p->pages < MCP_PAGES_MAX) {
		struct buf params = BUF_INIT(HTTP_BODY_MAX);
		int r;

		buf_puts(&params, "{\"cursor\":");
		buf_str(&params, json_raw(cursor));
		buf_putc(&params, '}');
		r = params.err ? params.err
			       : mcp_child_request(p->child, q,
					 str_c(merge->list->method), buf_view(&params));
		buf_free(&params);
		if (r == 0)
			return;
	}
	if (--merge->waiting == 0)
		mcp_proxy_answer_list(merge);
}

static void mcp_proxy_list(struct mcp_call *c, const struct list_method *list)
{
	struct mcp_proxy *proxy = mcp_proxy_of(c);
	struct merge *m = arena_alloc(c->arena, sizeof(*m));

	if (!m) {
		mcp_proxy_fail(c, "Out of memory.");
		return;
	}
	m->call = c;
	m->list = list;
	m->alone = mcp_proxy_is_single(proxy);
	c->data = m;
	/*
	 * A count for this function, so that the merge is not complete before all are
	 * asked.
	 */
	m->waiting = 1;
	LIST_EACH (struct mcp_child, child, &proxy->children, node) {
		struct part *p = &m->parts[m->n];

		if (m->n == MCP_SERVERS_MAX)
			break;
		*p = (struct part){
			.ask = {.done = mcp_proxy_on_part},
			.merge = m,
			.child = child,
			.out = BUF_INIT(MCP_LIST_MAX),
		};
		if (mcp_child_request(child, &p->ask, str_c(list->method), STR("")) < 0)
			continue;
		m->n++;
		m->waiting++;
	}
	/* With a single server the client's own time limit is enough. */
	if (m->waiting > 1 && !m->alone)
		timer_set(c->session->server->loop, &m->timer, MCP_LIST_MS,
			mcp_proxy_on_list_timeout);
	if (--m->waiting == 0)
		mcp_proxy_answer_list(m);
}

/* --- Requests of clients -------------------------------------------------------- */

static void mcp_proxy_describe(struct mcp_server *s, struct jw *w)
{
	(void)s;
	jw_key(w, "capabilities");
	jw_raw(w,
		STR("{\"tools\":{\"listChanged\":true},"
		    "\"resources\":{\"listChanged\":true,\"subscribe\":true},"
		    "\"prompts\":{\"listChanged\":true},"
		    "\"logging\":{},\"completions\":{}}"));
	jw_key(w, "serverInfo");
	jw_object(w);
	jw_key(w, "name");
	jw_cstr(w, "od-runtime-proxy");
	jw_key(w, "version");
	jw_cstr(w, OD_VERSION);
	jw_end(w);
}

static const struct list_method *mcp_proxy_find_list(const struct mcp_call *c)
{
	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		if (str_eq(c->message.method, str_c(lists[i].method)))
			return &lists[i];
	return NULL;
}

/* Methods for a single server, and the member that identifies it. */
static const struct {
	const char *method, *name;
} named[] = {
	{"tools/call", "name"},
	{"prompts/get", "name"},
	{"resources/read", "uri"},
	{"resources/subscribe", "uri"},
	{"resources/unsubscribe", "uri"},
};

static void mcp_proxy_call(struct mcp_call *c)
{
	struct str method = c->message.method;
	struct mcp_proxy *p = mcp_proxy_of(c);

	for (size_t i = 0; i < ARRAY_LEN(named); i++)
		if (str_eq(method, str_c(named[i].method))) {
			mcp_proxy_forward_name(c, named[i].name);
			return;
		}
	if (mcp_proxy_find_list(c))
		mcp_proxy_list(c, mcp_proxy_find_list(c));
	else if (str_eq(method, STR("completion/complete")))
		mcp_proxy_forward_ref(c);
	else if (str_eq(method, STR("logging/setLevel")))
		mcp_relay_set_level(c);
	else if (mcp_proxy_is_single(p))
		mcp_proxy_forward(c, mcp_proxy_get_first(p), NULL, STR(""));
	else
		mcp_error(c, JSONRPC_NO_METHOD,
			STR("This server does not support the method."));
}

static void mcp_proxy_abandon(struct mcp_call *c, bool tell)
{
	struct merge *m = c->data;

	if (!c->data)
		return;
	if (!mcp_proxy_find_list(c)) {
		mcp_child_cancel(c->data, tell);
		return;
	}
	timer_cancel(c->session->server->loop, &m->timer);
	for (unsigned i = 0; i < m->n; i++) {
		mcp_child_cancel(&m->parts[i].ask, tell);
		buf_free(&m->parts[i].out);
	}
}

static void mcp_proxy_drop_call(struct mcp_call *c)
{
	mcp_proxy_abandon(c, false);
}

static void mcp_proxy_cancel(struct mcp_call *c)
{
	mcp_proxy_abandon(c, true);
}

const struct mcp_ops mcp_proxy_ops = {
	.describe = mcp_proxy_describe,
	.call = mcp_proxy_call,
	.cancel = mcp_proxy_cancel,
	.sends_progress = true,
	.drop = mcp_proxy_drop_call,
	.on_notification = mcp_relay_on_notification,
	.on_reachable = mcp_relay_on_reachable,
	.on_session_end = mcp_relay_on_session_end,
};
