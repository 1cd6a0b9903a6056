#include "server/sandbox_mcp.h"

#include "base/json_text.h"
#include "server/idempotency/action_submit.h"
#include "server/mcp_tool.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* Member of _meta: a call with this id is executed at most once. */
#define MCP_ACTION_ID "od-runtime/action-id"

/* A tools/call in progress. In the arena of its call. */
struct mcp_tool_call {
	struct mcp_call *call;
	const struct tool *tool;
	struct action_sink sink;
	struct buf observation;
	struct search *search;
};

/* --- Results ------------------------------------------------------------------- */

/* Replies with a text as the result of a tool. This ends the call. */
static void sandbox_mcp_answer_text(struct mcp_call *c, struct str text, bool error)
{
	struct jw w;

	mcp_result_begin(c, &w);
	jw_object(&w);
	jw_key(&w, "content");
	jw_array(&w);
	jw_object(&w);
	jw_key(&w, "type");
	jw_cstr(&w, "text");
	jw_key(&w, "text");
	jw_str(&w, text);
	jw_end(&w);
	jw_end(&w);
	jw_key(&w, "isError");
	jw_bool(&w, error);
	jw_end(&w);
	mcp_result_end(c, &w);
}

/*
 * Writes a picture in the form "data:TYPE;base64,...", if it needs no escapes. False:
 * text has another form.
 */
static bool sandbox_mcp_put_image(struct jw *w, struct str text)
{
	struct str type = str_skip(text, 5);

	if (!str_starts(text, STR("data:image/")))
		return false;
	text = str_skip(type, str_find(type, STR(";base64,")) + 8);
	if (!text.n)
		return false;
	type.n = str_find_byte(type, ';');
	if (json_plain_length(text) != text.n || json_plain_length(type) != type.n)
		return false;
	jw_object(w);
	jw_key(w, "type");
	jw_cstr(w, "image");
	jw_key(w, "data");
	jw_str(w, text);
	jw_key(w, "mimeType");
	jw_str(w, type);
	jw_end(w);
	return true;
}

/*
 * The parts of the text are strings in the JSON of the observation, so they are escaped
 * already.
 */
static void sandbox_mcp_put_content(struct jw *w, struct json_val root)
{
	struct json_val extras = json_get(root, "extras"), url;
	struct json_val meta = json_get(extras, "metadata");
	struct json_val images = json_get(extras, "image_urls");
	struct str content = json_raw_content(json_get(root, "content"));
	int it = 0;

	/* The content of a "write" observation is empty; its message is used. */
	if (str_eq(json_raw_content(json_get(root, "observation")), STR("write")))
		content = json_raw_content(json_get(root, "message"));
	jw_array(w);
	if (!sandbox_mcp_put_image(w, content)) {
		jw_object(w);
		jw_key(w, "type");
		jw_cstr(w, "text");
		jw_key(w, "text");
		jw_raw(w, STR("\""));
		buf_str(w->out, json_raw_content(json_get(meta, "prefix")));
		buf_str(w->out, content);
		buf_str(w->out, json_raw_content(json_get(meta, "suffix")));
		buf_putc(w->out, '"');
		jw_end(w);
	}
	while (json_next(images, &it, NULL, &url))
		sandbox_mcp_put_image(w, json_raw_content(url));
	jw_end(w);
}

static void sandbox_mcp_put_meta(struct jw *w, struct json_val meta)
{
	static const char *const told[] = {"exit_code", "working_dir"};

	if (json_type(meta) != JSON_OBJECT)
		return;
	jw_key(w, "_meta");
	jw_object(w);
	for (size_t i = 0; i < ARRAY_LEN(told); i++) {
		jw_key(w, told[i]);
		jw_raw(w, json_raw(json_get(meta, told[i])));
	}
	jw_end(w);
}

static void sandbox_mcp_answer_action(struct mcp_tool_call *u)
{
	static const struct json_caps caps = {
		.depth = JSON_DEPTH_MAX,
		.tokens = JSON_TOKENS_MAX,
		.keys = JSON_KEYS_MAX,
	};
	/* The answer frees the memory of the call, which includes u. */
	struct buf text = u->observation;
	struct mcp_call *c = u->call;
	struct json_error e;
	struct json doc;
	struct jw w;
	bool error;

	if (text.err || json_parse(&doc, buf_view(&text), &caps, c->arena, &e) < 0) {
		mcp_error(c, JSONRPC_INTERNAL,
			STR("The sandbox is out of memory for this answer."));
		buf_free(&text);
		return;
	}
	error = str_eq(
		json_raw_content(json_get(json_root(&doc), "observation")), STR("error"));
	/* Observations of the browser have this member; others do not. */
	if (!error &&
		json_bool(json_get(json_get(json_root(&doc), "extras"), "error"), &error))
		error = false;
	mcp_result_begin(c, &w);
	jw_object(&w);
	jw_key(&w, "content");
	sandbox_mcp_put_content(&w, json_root(&doc));
	jw_key(&w, "isError");
	jw_bool(&w, error);
	sandbox_mcp_put_meta(
		&w, json_get(json_get(json_root(&doc), "extras"), "metadata"));
	jw_end(&w);
	mcp_result_end(c, &w);
	buf_free(&text);
}

/* --- Actions ------------------------------------------------------------------- */

static struct mcp_tool_call *sandbox_mcp_get_call(const struct action_sink *s)
{
	return container_of(
		(struct action_sink *)(uintptr_t)s, struct mcp_tool_call, sink);
}

static void sandbox_mcp_on_action_done(struct action_sink *s, int status)
{
	struct mcp_tool_call *u = sandbox_mcp_get_call(s);
	struct buf text = u->observation;

	if (status == 200) {
		sandbox_mcp_answer_action(u);
		return;
	}
	/* The answer frees the memory of the call, which includes u. */
	sandbox_mcp_answer_text(u->call,
		status > 0 ? buf_view(&text)
			: status == ERR_CLOSED
			? STR("The sandbox is stopping, and this action has not "
			      "ended.")
			: STR("The answer is no longer stored."),
		true);
	buf_free(&text);
}

static bool sandbox_mcp_is_action_closed(const struct action_sink *s)
{
	return request_is_half_closed(sandbox_mcp_get_call(s)->call->rq);
}

/* The arguments with the further members of the tool. Absent: out of memory. */
static struct json_val sandbox_mcp_add_args(struct mcp_tool_call *u, struct json_val args)
{
	static const struct json_caps caps = {JSON_DEPTH_MAX, 64, 64};
	struct arena *arena = u->call->arena;
	struct json *doc = arena_alloc(arena, sizeof(*doc));
	struct buf text = BUF_INIT(HTTP_BODY_MAX);
	struct str raw = json_raw(args);
	struct json_val none = {.at = -1};
	struct json_error e;
	char *copy;
	int r;

	buf_str(&text, raw.n ? str_make(raw.p, raw.n - 1) : STR("{"));
	buf_puts(&text, json_count(args) ? "," : "");
	buf_puts(&text, u->tool->with);
	buf_putc(&text, '}');
	copy = text.err ? NULL : arena_cstr(arena, buf_view(&text));
	r = doc && copy ? json_parse(doc, str_make(copy, text.n), &caps, arena, &e)
			: -ENOMEM;
	buf_free(&text);
	return r ? none : json_root(doc);
}

/* Writes the object that is the body of PUT /v1/actions/ID. */
static void sandbox_mcp_put_action(
	struct buf *out, const struct mcp_tool_call *u, struct json_val args)
{
	struct json_val timeout = json_get(args, "timeout");
	struct jw w;

	jw_init(&w, out);
	jw_object(&w);
	jw_key(&w, "action");
	jw_cstr(&w, u->tool->action);
	jw_key(&w, "args");
	jw_raw(&w, json_type(args) == JSON_OBJECT ? json_raw(args) : STR("{}"));
	if (json_type(timeout) == JSON_NUMBER) {
		jw_key(&w, "timeout");
		jw_raw(&w, json_raw(timeout));
	}
	jw_end(&w);
}

/* The action does not begin. This ends the call. */
static void sandbox_mcp_refuse_action(
	struct mcp_tool_call *u, bool has_id, const struct action_refusal *why)
{
	buf_free(&u->observation);
	if (!has_id && why->status == 503)
		mcp_error(u->call, JSONRPC_INTERNAL,
			STR("The sandbox is out of memory for this call."));
	else
		sandbox_mcp_answer_text(u->call, str_c(why->message), true);
}

static void sandbox_mcp_submit_action(
	struct api *api, struct mcp_tool_call *u, struct action_spec *spec)
{
	static const struct action_sink_ops ops = {
		.done = sandbox_mcp_on_action_done,
		.is_closed = sandbox_mcp_is_action_closed,
	};
	bool has_id = spec->id_kind != ACTION_NO_ID;
	struct action_refusal why = {.status = 503, .message = "Out of memory."};
	struct buf body = BUF_INIT(HTTP_BODY_MAX);

	buf_init(&u->observation, OBSERVATION_MAX);
	u->sink = (struct action_sink){.ops = &ops, .out = &u->observation};
	if (u->tool->with)
		spec->call.args = sandbox_mcp_add_args(u, spec->call.args);
	if (has_id)
		sandbox_mcp_put_action(&body, u, spec->call.args);
	spec->body = buf_view(&body);
	if (body.err || (u->tool->with && spec->call.args.at < 0) ||
		action_submit(api, spec, &u->sink, &why))
		sandbox_mcp_refuse_action(u, has_id, &why);
	buf_free(&body);
}

/* Calls a tool that is an action. With an id, it is executed at most once. */
static void sandbox_mcp_call_action(
	struct api *api, struct mcp_tool_call *u, struct json_val args)
{
	struct json_val timeout = json_get(args, "timeout");
	struct json_val id =
		json_get(json_get(u->call->message.params, "_meta"), MCP_ACTION_ID);
	struct action_spec spec = {
		.id_kind = json_type(id) == JSON_STRING ? ACTION_CALLER_ID : ACTION_NO_ID,
		.id = json_raw_content(id),
		.arena = u->call->arena,
		.call = {.name = str_c(u->tool->action), .args = args},
	};

	if (spec.id_kind == ACTION_NO_ID && json_type(timeout) != JSON_ABSENT &&
		json_type(timeout) != JSON_NULL &&
		(json_double(timeout, &spec.call.timeout) < 0 ||
			!isfinite(spec.call.timeout)))
		sandbox_mcp_answer_text(
			u->call, STR("\"timeout\" must be a number of seconds."), true);
	else
		sandbox_mcp_submit_action(api, u, &spec);
}

/* --- Searches ------------------------------------------------------------------ */

static void sandbox_mcp_on_search_done(void *arg, unsigned status, struct str text)
{
	struct mcp_tool_call *u = arg;

	u->search = NULL;
	sandbox_mcp_answer_text(u->call, text, status != 200);
}

static bool sandbox_mcp_is_search_closed(void *arg)
{
	const struct mcp_tool_call *u = arg;

	return request_is_half_closed(u->call->rq);
}

static void sandbox_mcp_start_search(
	struct api *api, struct mcp_tool_call *u, struct json_val args)
{
	static const struct search_ops ops = {.done = sandbox_mcp_on_search_done,
		.is_peer_closed = sandbox_mcp_is_search_closed};
	struct params p = {.arena = u->call->arena};

	if (json_type(args) == JSON_OBJECT)
		p.body = args;
	if (search_start(api, u->tool->search, &p, &ops, u, &u->search))
		sandbox_mcp_answer_text(u->call, str_c(p.error), true);
}

/* --- Methods ------------------------------------------------------------------- */

static void sandbox_mcp_list_tools(struct api *api, struct mcp_call *c)
{
	struct jw w;

	mcp_result_begin(c, &w);
	jw_object(&w);
	jw_key(&w, "tools");
	mcp_tool_write_all(api->box, &w);
	jw_end(&w);
	mcp_result_end(c, &w);
}

/* False: the tool does not have an argument of the call, which is answered. */
static bool sandbox_mcp_check_args(const struct api *api, struct mcp_call *c,
	const struct tool *t, struct json_val args)
{
	struct buf words = BUF_INIT(512);
	struct json_val key, v;
	struct str name;
	int it = 0;

	while (json_next(args, &it, &key, &v)) {
		if (json_str(key, c->arena, &name) == 0 &&
			mcp_tool_has_arg(api->box, t, name))
			continue;
		if (name.n > 100)
			name.n = 100;
		buf_fmt(&words, "The tool %s has no argument ", t->name);
		buf_str(&words, name);
		sandbox_mcp_answer_text(c, buf_view(&words), true);
		buf_free(&words);
		return false;
	}
	return true;
}

static void sandbox_mcp_call_tool(struct api *api, struct mcp_call *c)
{
	struct json_val args = json_get(c->message.params, "arguments");
	const struct tool *tool;
	struct mcp_tool_call *u;
	struct str name;

	if (json_str(json_get(c->message.params, "name"), c->arena, &name) < 0 ||
		!(tool = mcp_tool_find(name))) {
		mcp_error(c, JSONRPC_PARAMS,
			STR("No tool has this name. tools/list lists the tools."));
		return;
	}
	if (json_type(args) != JSON_OBJECT && json_type(args) != JSON_ABSENT) {
		mcp_error(c, JSONRPC_PARAMS, STR("\"arguments\" must be an object."));
		return;
	}
	if (!sandbox_mcp_check_args(api, c, tool, args))
		return;
	u = arena_alloc(c->arena, sizeof(*u));
	if (!u) {
		mcp_error(c, JSONRPC_INTERNAL, STR("Out of memory."));
		return;
	}
	*u = (struct mcp_tool_call){.call = c, .tool = tool};
	c->data = u;
	if (tool->search)
		sandbox_mcp_start_search(api, u, args);
	else
		sandbox_mcp_call_action(api, u, args);
}

static void sandbox_mcp_on_call(struct mcp_call *c)
{
	struct api *api = c->session->server->arg;

	if (str_eq(c->message.method, STR("tools/list")))
		sandbox_mcp_list_tools(api, c);
	else if (str_eq(c->message.method, STR("tools/call")))
		sandbox_mcp_call_tool(api, c);
	else
		mcp_error(c, JSONRPC_NO_METHOD,
			STR("This server does not support the method."));
}

static void sandbox_mcp_end_call(struct mcp_call *c, void (*end)(struct action_sink *s))
{
	struct mcp_tool_call *u = c->data;

	if (!u)
		return;
	if (u->search)
		search_end(u->search);
	else
		end(&u->sink);
	buf_free(&u->observation);
}

/* A command continues without its client, as with other interfaces. */
static void sandbox_mcp_on_close(struct mcp_call *c)
{
	sandbox_mcp_end_call(c, action_sink_leave);
}

static void sandbox_mcp_on_cancel(struct mcp_call *c)
{
	sandbox_mcp_end_call(c, action_sink_cancel);
}

/* --- The endpoint -------------------------------------------------------------- */

static void sandbox_mcp_on_describe(struct mcp_server *s, struct jw *w)
{
	(void)s;
	jw_key(w, "capabilities");
	jw_raw(w, STR("{\"tools\":{}}"));
	jw_key(w, "serverInfo");
	jw_object(w);
	jw_key(w, "name");
	jw_cstr(w, "od-runtime");
	jw_key(w, "version");
	jw_cstr(w, OD_VERSION);
	jw_end(w);
	jw_key(w, "instructions");
	jw_cstr(w,
		"A sandbox of its own: shells, files and Python in a container. All "
		"tools "
		"share its files.");
}

void sandbox_mcp_init(struct api *api)
{
	static const struct mcp_ops ops = {
		.describe = sandbox_mcp_on_describe,
		.call = sandbox_mcp_on_call,
		.cancel = sandbox_mcp_on_cancel,
		.drop = sandbox_mcp_on_close,
	};

	api->mcp = (struct mcp_server){.ops = &ops, .loop = api->box->loop, .arg = api};
}

void sandbox_mcp_post(struct api *api, struct request *rq, struct str name)
{
	(void)name;
	mcp_server_post(&api->mcp, rq);
}

void sandbox_mcp_delete(struct api *api, struct request *rq, struct str name)
{
	(void)name;
	mcp_server_delete(&api->mcp, rq);
}
