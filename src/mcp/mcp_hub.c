/*
 * The plugin that proxies MCP servers: POST /update_mcp_server starts them in the
 * sandbox, and clients reach them at /mcp and /mcp/sse. It is always available, and uses
 * no memory before the first of these requests.
 */
#include "plugin/table.h"

#include "action/session.h"
#include "base/env.h"
#include "mcp/mcp_proxy.h"
#include "proc/which.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	MCP_ARGS_MAX = 256,       /* words of a command */
	MCP_MEMORY_MAX = 4 << 20, /* bytes of arguments and environment of a server */
};

/* The state of the plugin in a sandbox. */
struct hub {
	struct box *box;
	struct mcp_proxy proxy;
	struct mcp_server server;
	struct list leaving; /* servers that are being stopped */
	unsigned leaving_n;
	struct list updates;
};

/*
 * A request that waits until the servers that it has added are ready. Lives in its
 * request's arena.
 */
struct update {
	struct list node;
	struct hub *hub;
	struct request *rq;
	struct timer timer;
};

struct entry {
	struct mcp_child child;
	struct later later;
};

static struct hub *mcp_hub_new(struct plugin_instance *p)
{
	struct hub *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->box = p->box;
	h->server = (struct mcp_server){
		.ops = &mcp_proxy_ops, .loop = p->box->loop, .arg = &h->proxy};
	h->proxy.server = &h->server;
	return h;
}

/* Creates the hub when it is first needed. NULL: out of memory. */
static struct hub *mcp_hub_get(struct plugin_instance *p)
{
	if (!p->data)
		p->data = mcp_hub_new(p);
	return p->data;
}

/* --- Updates ------------------------------------------------------------------- */

static void mcp_hub_unlink_update(struct update *u)
{
	list_remove(&u->node);
	timer_cancel(u->hub->box->loop, &u->timer);
	u->rq->user = NULL;
}

/* The answer of the wire contract: a text lists the servers that are not ready. */
static void mcp_hub_answer_update(struct update *u)
{
	struct request *rq = u->rq;
	struct buf log = BUF_INIT(MCP_SERVERS_MAX * 512);
	struct jw w;

	LIST_EACH (const struct mcp_child, c, &u->hub->proxy.children, node)
		if (c->service.state != SERVICE_READY)
			buf_fmt(&log, "%s%s: %s", log.n ? "\n" : "", c->name,
				c->why[0] ? c->why : "it is not ready yet");
	mcp_hub_unlink_update(u);
	jw_init(&w, request_out(rq));
	jw_object(&w);
	jw_key(&w, "detail");
	jw_cstr(&w, "MCP server updated successfully");
	jw_key(&w, "router_error_log");
	jw_str(&w, buf_view(&log));
	jw_end(&w);
	buf_free(&log);
	request_reply(rq, 200, "application/json");
}

static bool mcp_hub_is_settled(const struct hub *h)
{
	LIST_EACH (const struct mcp_child, c, &h->proxy.children, node)
		if (c->service.state != SERVICE_READY &&
			c->service.state != SERVICE_PAUSED)
			return false;
	return true;
}

static void mcp_hub_on_update_timer(struct timer *t)
{
	mcp_hub_answer_update(container_of(t, struct update, timer));
}

/* Answers from the loop, because the caller of on_state may itself be such a request. */
static void mcp_hub_on_state(struct mcp_child *c)
{
	struct hub *h = c->arg;

	mcp_relay_on_state(&h->proxy, c);
	if (!mcp_hub_is_settled(h))
		return;
	LIST_EACH (struct update, u, &h->updates, node)
		timer_set(h->box->loop, &u->timer, 0, mcp_hub_on_update_timer);
}

/* --- A single entry ------------------------------------------------------------- */

static bool mcp_hub_is_name(struct str name)
{
	for (size_t i = 0; i < name.n; i++)
		if (!isalnum((unsigned char)name.p[i]) && !strchr("-_", name.p[i]))
			return false;
	return name.n && name.n <= MCP_NAME_MAX && !memchr(name.p, '\0', name.n);
}

/*
 * Finds the command on the PATH of env, else in /.od/bin. If it is in neither, the start
 * fails.
 */
static const char *mcp_hub_find_program(
	const char *const *env, struct str command, struct arena *a)
{
	const char *path = env_value(env, "PATH");
	const char *name = arena_cstr(a, command);
	char out[FILE_PATH_MAX];

	if (!name)
		return NULL;
	if (which_find(name, path ? path : "/usr/local/bin:/usr/bin:/bin", out) < 0)
		snprintf(out, sizeof(out), "/.od/bin/%s", name);
	return arena_cstr(a, str_c(out));
}

/* Splits a text into words as a shell does: blanks, quotes, backslashes. -errno. */
static int mcp_hub_split_words(
	struct str text, const char **argv, size_t *n, struct arena *a)
{
	char *out = arena_alloc(a, text.n + 1), quote = 0;
	bool word = false;

	if (!out)
		return -ENOMEM;
	for (size_t i = 0; i < text.n; i++) {
		char c = text.p[i];

		if (!quote && strchr(" \t\r\n", c)) {
			*out = '\0';
			out += word;
			word = false;
			continue;
		}
		if (!word && *n == MCP_ARGS_MAX)
			return ERR_LIMIT;
		if (!word)
			argv[(*n)++] = out;
		word = true;
		if (c == quote && quote)
			quote = 0;
		else if (!quote && (c == '\'' || c == '"'))
			quote = c;
		else if (c == '\\' && quote != '\'' && i + 1 < text.n)
			*out++ = text.p[++i];
		else
			*out++ = c;
	}
	*out = '\0';
	return quote ? ERR_SYNTAX : 0;
}

static int mcp_hub_read_args(
	struct json_val args, const char **argv, size_t *n, struct arena *a)
{
	struct json_val v;
	struct str text;
	int it = 0, r;

	if (json_type(args) == JSON_ABSENT || json_type(args) == JSON_NULL)
		return 0;
	if (json_type(args) == JSON_STRING) {
		r = json_str(args, a, &text);
		return r ? r : mcp_hub_split_words(text, argv, n, a);
	}
	if (json_type(args) != JSON_ARRAY)
		return ERR_TYPE;
	while (json_next(args, &it, NULL, &v)) {
		if (*n == MCP_ARGS_MAX)
			return ERR_LIMIT;
		r = json_str(v, a, &text);
		argv[*n] = r ? NULL : arena_cstr(a, text);
		if (!argv[*n])
			return r ? r : -ENOMEM;
		++*n;
	}
	return 0;
}

/* The environment of the shells, with the variables of the entry. */
static int mcp_hub_read_env(
	struct json_val own, const char *const *env, struct mcp_child *c)
{
	struct json_val key, v;
	const char **list;
	struct str k, value;
	int it = 0;

	if (json_type(own) != JSON_OBJECT && json_type(own) != JSON_ABSENT &&
		json_type(own) != JSON_NULL)
		return ERR_TYPE;
	list = env_copy(env, json_count(own), &c->memory);
	if (!list)
		return -ENOMEM;
	while (json_type(own) == JSON_OBJECT && json_next(own, &it, &key, &v)) {
		char *text;
		int r = json_str(key, &c->memory, &k);

		if (r == 0)
			r = json_str(v, &c->memory, &value);
		if (r)
			return r;
		text = arena_alloc(&c->memory, k.n + value.n + 2);
		if (!text)
			return -ENOMEM;
		snprintf(
			text, k.n + value.n + 2, "%.*s=%.*s", STR_ARG(k), STR_ARG(value));
		env_put(list, text);
	}
	c->env = list;
	return 0;
}

/* 0; ERR_TYPE, ERR_LIMIT, ERR_SYNTAX: the entry is not valid; -ENOMEM. */
static int mcp_hub_read_entry(struct hub *h, struct json_val v, struct mcp_child *c)
{
	const char **argv = arena_array(&c->memory, MCP_ARGS_MAX + 2, sizeof(*argv));
	struct json_val name_v = json_get(v, "name"), command_v = json_get(v, "command");
	struct str name, command;
	size_t n = 1;
	int r;

	if (!argv)
		return -ENOMEM;
	if (json_type(name_v) != JSON_STRING || json_type(command_v) != JSON_STRING)
		return ERR_TYPE;
	r = json_str(name_v, &c->memory, &name);
	if (r == 0)
		r = json_str(command_v, &c->memory, &command);
	if (r == 0 &&
		(!mcp_hub_is_name(name) || !command.n ||
			str_find_byte(command, ' ') < command.n))
		r = ERR_TYPE;
	if (r == 0)
		r = mcp_hub_read_args(json_get(v, "args"), argv, &n, &c->memory);
	if (r == 0)
		r = mcp_hub_read_env(json_get(v, "env"), h->box->shell_setup->env, c);
	if (r)
		return r;
	snprintf(c->name, sizeof(c->name), "%.*s", STR_ARG(name));
	argv[0] = arena_cstr(&c->memory, command);
	c->argv = argv;
	c->path = mcp_hub_find_program(c->env, command, &c->memory);
	return argv[0] && c->path ? 0 : -ENOMEM;
}

/* --- The entries --------------------------------------------------------------- */

static void mcp_hub_del_entry(struct later *l)
{
	free(container_of(l, struct entry, later));
}

static void mcp_hub_on_message(struct mcp_child *c, const struct jsonrpc *m)
{
	struct hub *h = c->arg;

	mcp_relay_on_message(&h->proxy, c, m);
}

static void mcp_hub_on_stopped(struct mcp_child *c)
{
	struct hub *h = c->arg;

	list_remove(&c->node);
	h->leaving_n--;
	loop_defer_free(h->box->loop, &container_of(c, struct entry, child)->later,
		mcp_hub_del_entry);
}

static const struct mcp_child_ops child_ops = {.on_state = mcp_hub_on_state,
	.on_message = mcp_hub_on_message,
	.on_stopped = mcp_hub_on_stopped};

/* Stops a server. It has time to end, unless many are being stopped. */
static void mcp_hub_drop_child(struct hub *h, struct mcp_child *c, const char *why)
{
	list_remove(&c->node);
	mcp_relay_drop_child(&h->proxy, c);
	list_prepend(&h->leaving, &c->node);
	if (h->leaving_n++ < MCP_SERVERS_MAX) {
		mcp_child_stop(c, why);
	} else {
		mcp_child_free(c, why, true);
		mcp_hub_on_stopped(c);
	}
}

static struct entry *mcp_hub_entry_new(struct hub *h)
{
	struct entry *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->child = (struct mcp_child){
		.ops = &child_ops,
		.arg = h,
		.user = h->box->user,
		.cwd = h->box->shell_setup->cwd,
	};
	mcp_child_init(&e->child, h->box->loop);
	arena_init(&e->child.memory, MCP_MEMORY_MAX);
	return e;
}

/* Adds an entry, and stops a server of equal name. */
static void mcp_hub_add_child(struct hub *h, struct entry *e)
{
	LIST_EACH (struct mcp_child, c, &h->proxy.children, node)
		if (strcmp(c->name, e->child.name) == 0) {
			mcp_hub_drop_child(h, c, "The MCP server was replaced.");
			break;
		}
	list_append(&h->proxy.children, &e->child.node);
	mcp_child_start(&e->child);
}

/* Whether the new entries and the servers that they do not replace fit. */
static bool mcp_hub_has_space(const struct hub *h, struct entry *const *made, size_t n)
{
	size_t all = n;

	LIST_EACH (const struct mcp_child, c, &h->proxy.children, node) {
		size_t i = 0;

		while (i < n && strcmp(c->name, made[i]->child.name) != 0)
			i++;
		all += i == n;
	}
	return all <= MCP_SERVERS_MAX;
}

/* Reads all entries before the first one is started. */
static int mcp_hub_add_entries(struct hub *h, struct json_val list)
{
	struct entry *made[MCP_SERVERS_MAX];
	struct json_val v;
	size_t n = 0;
	int it = 0, r = 0;

	if (json_count(list) > MCP_SERVERS_MAX)
		return ERR_LIMIT;
	while (!r && json_next(list, &it, NULL, &v)) {
		struct entry *e = mcp_hub_entry_new(h);

		if (!e) {
			r = -ENOMEM;
			break;
		}
		made[n++] = e;
		r = mcp_hub_read_entry(h, v, &e->child);
	}
	if (r == 0 && !mcp_hub_has_space(h, made, n))
		r = ERR_LIMIT;
	/*
	 * The names in the lists change, too: they have prefixes if there are several
	 * servers.
	 */
	for (size_t i = 0; i < n; i++) {
		if (r == 0) {
			mcp_hub_add_child(h, made[i]);
			continue;
		}
		arena_reset(&made[i]->child.memory);
		free(made[i]);
	}
	if (r == 0 && n)
		mcp_relay_lists_changed(&h->proxy);
	return r;
}

/* --- Routes -------------------------------------------------------------------- */

static void mcp_hub_on_disconnect(struct request *rq)
{
	mcp_hub_unlink_update(rq->user);
}

static void mcp_hub_await_children(struct hub *h, struct request *rq)
{
	static const struct request_ops ops = {.on_close = mcp_hub_on_disconnect};
	struct update *u = arena_alloc(&rq->arena, sizeof(*u));

	if (!u) {
		request_fail(rq, 503, STR("The sandbox is out of memory."));
		return;
	}
	*u = (struct update){.hub = h, .rq = rq};
	list_prepend(&h->updates, &u->node);
	rq->ops = &ops;
	rq->user = u;
	if (mcp_hub_is_settled(h))
		mcp_hub_answer_update(u);
	else
		timer_set(
			h->box->loop, &u->timer, MCP_UPDATE_MS, mcp_hub_on_update_timer);
}

static void mcp_hub_handle_update(struct plugin_instance *p, struct request *rq)
{
	static const struct json_caps caps = {
		JSON_DEPTH_MAX, JSON_TOKENS_MAX, JSON_KEYS_MAX};
	struct hub *h;
	struct json doc;
	struct json_error e;
	int r;

	/* A cross-origin page must not choose what is started. */
	if (!mcp_check_origin(rq))
		return;
	h = mcp_hub_get(p);
	r = h ? json_parse(&doc, rq->body, &caps, &rq->arena, &e) : -ENOMEM;
	if (r == 0 && json_type(json_root(&doc)) == JSON_ARRAY)
		r = mcp_hub_add_entries(h, json_root(&doc));
	else if (r != -ENOMEM) {
		request_fail(rq, 400, STR("Request must be a list of MCP tools to sync"));
		return;
	}
	if (r == -ENOMEM)
		request_fail(rq, 503, STR("The sandbox is out of memory."));
	else if (r)
		request_fail(rq, 500,
			STR("Internal server error: an entry does not describe an MCP "
			    "server."));
	else
		mcp_hub_await_children(h, rq);
}

typedef void mcp_hub_fn(struct mcp_server *s, struct request *rq);

static void mcp_hub_call_server(
	struct plugin_instance *p, struct request *rq, mcp_hub_fn *fn)
{
	struct hub *h = mcp_hub_get(p);

	if (h)
		fn(&h->server, rq);
	else
		request_fail(rq, 503, STR("The sandbox is out of memory."));
}

static void mcp_hub_handle_post(struct plugin_instance *p, struct request *rq)
{
	mcp_hub_call_server(p, rq, mcp_server_post);
}

static void mcp_hub_end_session(struct plugin_instance *p, struct request *rq)
{
	mcp_hub_call_server(p, rq, mcp_server_delete);
}

static void mcp_hub_listen(struct plugin_instance *p, struct request *rq)
{
	mcp_hub_call_server(p, rq, mcp_server_listen);
}

static void mcp_hub_handle_message(struct plugin_instance *p, struct request *rq)
{
	mcp_hub_call_server(p, rq, mcp_server_message);
}

static void mcp_hub_open_stream(struct mcp_server *s, struct request *rq)
{
	mcp_server_stream(s, rq, "/mcp/messages/");
}

static void mcp_hub_handle_stream(struct plugin_instance *p, struct request *rq)
{
	mcp_hub_call_server(p, rq, mcp_hub_open_stream);
}

static const struct plugin_endpoint routes[] = {
	{"POST", "/update_mcp_server", mcp_hub_handle_update},
	{"POST", "/mcp", mcp_hub_handle_post},
	{"GET", "/mcp", mcp_hub_listen},
	{"DELETE", "/mcp", mcp_hub_end_session},
	{"GET", "/mcp/sse", mcp_hub_handle_stream},
	{"GET", "/sse", mcp_hub_handle_stream},
	{"POST", "/mcp/messages/", mcp_hub_handle_message},
	{"POST", "/mcp/messages", mcp_hub_handle_message},
	{0},
};

static void mcp_hub_drain(struct plugin_instance *p)
{
	struct hub *h = p->data;

	mcp_server_drain(&h->server);
}

/* Closes the input of the servers. The sandbox ends all processes next. */
static void mcp_hub_free_children(struct list *list, struct hub *h)
{
	struct mcp_child *c;

	while ((c = LIST_FIRST(list, struct mcp_child, node))) {
		list_remove(&c->node);
		mcp_relay_drop_child(&h->proxy, c);
		mcp_child_free(c, "The sandbox is stopping.", false);
		loop_defer_free(h->box->loop,
			&container_of(c, struct entry, child)->later, mcp_hub_del_entry);
	}
}

static void mcp_hub_stop(struct plugin_instance *p)
{
	struct hub *h = p->data;
	struct update *u;

	p->data = NULL;
	mcp_hub_free_children(&h->proxy.children, h);
	mcp_hub_free_children(&h->leaving, h);
	while ((u = LIST_FIRST(&h->updates, struct update, node)))
		mcp_hub_answer_update(u);
	mcp_server_free(&h->server);
	free(h);
}

const struct plugin plugin_mcp = {
	.name = "mcp",
	.drain = mcp_hub_drain,
	.stop = mcp_hub_stop,
	.routes = routes,
};
