#include "server/api.h"

#include "action/session.h"
#include "base/clock.h"
#include "limits.h"
#include "net/session_key.h"
#include "plugin/plug.h"
#include "server/files/files.h"
#include "server/files/search.h"
#include "server/files/transfer.h"
#include "server/idempotency/once.h"
#include "server/info.h"
#include "server/origin.h"
#include "server/params.h"
#include "server/process/process_attach.h"
#include "server/process/processes.h"
#include "server/sandbox_mcp.h"
#include "server/session_routes.h"
#include "server/status.h"
#include "server/stream/stream.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

enum { API_WORDS_MAX = 512 };

static void alive(struct api *api, struct request *rq, struct str name)
{
	(void)api;
	(void)name;
	buf_puts(request_out(rq), "{\"status\":\"ok\"}");
	request_reply(rq, 200, API_JSON);
}

static void server_info(struct api *api, struct request *rq, struct str name)
{
	(void)name;
	info_write(request_out(rq), api);
	request_reply(rq, 200, API_JSON);
}

void api_refuse(struct request *rq, unsigned status, const char *errors)
{
	struct buf *out = request_out(rq);
	struct jw w;

	if (status == 503) {
		api_no_memory(rq);
		return;
	}
	buf_reset(out);
	jw_init(&w, out);
	jw_object(&w);
	jw_key(&w, "detail");
	jw_cstr(&w, "Invalid request parameters");
	jw_key(&w, "errors");
	jw_cstr(&w, errors);
	jw_end(&w);
	request_reply(rq, status, API_JSON);
}

void api_invalid(struct request *rq, const char *errors)
{
	api_refuse(rq, 422, errors);
}

void api_no_memory(struct request *rq)
{
	request_fail(rq, 503, STR("The sandbox is out of memory for this request."));
}

/* A missing content type counts as JSON. Parameters such as a charset are ignored. */
static bool is_json_type(struct request *rq)
{
	struct str type;

	if (request_header(rq, STR("content-type"), &type) != 0)
		return true;
	type = str_trim(str_cut(&type, ';'), " \t");
	return str_eq_nocase(type, STR(API_JSON)) ||
		(type.n > 5 && str_eq_nocase(str_skip(type, type.n - 5), STR("+json")));
}

/* An action that is not recorded: its answer cannot be requested again. */
struct passing {
	struct asked asked;
	struct act act;
};

static void passing_gone(struct request *rq)
{
	struct passing *p = rq->user;

	act_abandon(&p->act);
}

static void action_done(struct act *a)
{
	struct request *rq = a->user;

	rq->user = NULL;
	request_reply(rq, 200, API_JSON);
}

void api_add_part(struct request *rq, uint64_t asked, uint64_t from, uint64_t next)
{
	char text[48];

	snprintf(text, sizeof(text), "%" PRIu64, from);
	request_add_field(rq, STR("x-offset"), str_c(text));
	snprintf(text, sizeof(text), "%" PRIu64, next);
	request_add_field(rq, STR("x-next-offset"), str_c(text));
	if (from == asked)
		return;
	snprintf(text, sizeof(text), "%" PRIu64 "-%" PRIu64, asked, from);
	request_add_field(rq, STR("x-gap"), str_c(text));
}

static bool asker_left(const struct act *a)
{
	return request_half_closed(a->user);
}

static void fail_action(struct request *rq, const char *why)
{
	char words[API_WORDS_MAX];

	snprintf(words, sizeof(words), "Internal server error: %s", why);
	request_fail(rq, 500, str_c(words));
}

static void start_action(struct api *api, struct request *rq, struct json_val event)
{
	struct passing *p = arena_alloc(&rq->arena, sizeof(*p));
	const char *why = "";
	int r = -ENOMEM;

	if (p) {
		p->asked.gone = passing_gone;
		p->act = (struct act){
			.box = api->box,
			.arena = &rq->arena,
			.out = request_out(rq),
			.event = event,
			.done = action_done,
			.left = asker_left,
			.user = rq,
		};
		rq->user = p;
		api->last_action = clock_ms();
		r = act_start(&p->act, &why);
	}
	/* With ACT_WAIT the reply follows later, or was sent already. */
	if (r == ACT_WAIT)
		return;
	rq->user = NULL;
	if (r == ACT_DONE)
		request_reply(rq, 200, API_JSON);
	else if (r == ACT_FAIL)
		fail_action(rq, p->act.why);
	else if (r == ERR_TYPE)
		api_invalid(rq, why);
	else
		api_no_memory(rq);
}

static void execute_action(struct api *api, struct request *rq, struct str name)
{
	struct params p = {.arena = &rq->arena};
	struct json_val event;
	struct str key;
	int r;

	(void)name;
	if (!is_json_type(rq)) {
		api_invalid(rq, "the content type must be application/json");
		return;
	}
	r = request_header(rq, STR("idempotency-key"), &key);
	if (r == ERR_DUPLICATE) {
		api_invalid(rq, "Idempotency-Key stands twice");
		return;
	}
	if (r == 0) {
		once_execute(api, rq, key);
		return;
	}
	r = params_body(&p, rq->body);
	if (r) {
		api_refuse(rq, (unsigned)r, p.wrong);
		return;
	}
	event = json_get(p.body, "action");
	if (json_type(event) != JSON_OBJECT)
		api_invalid(rq, "body: an object under \"action\" is required");
	else if (!once_execute_event(api, rq, event))
		start_action(api, rq, event);
}

/* The connection of an action's request is closed. */
static void action_gone(struct request *rq)
{
	const struct asked *q = rq->user;

	q->gone(rq);
}

/* The socket is writable again. Replies that are not streamed need no callback. */
static void action_room(struct request *rq)
{
	const struct asked *q = rq->user;

	if (q->room)
		q->room(rq);
}

enum access { OPEN, KEY };

static const struct route {
	const char *method;
	const char *path; /* '*' is a name: not empty, without '/' */
	enum access access;
	size_t body_max; /* more than HTTP_BODY_MAX: streamed, and handle gets the head */
	void (*handle)(struct api *api, struct request *rq, struct str name);
	void (*gone)(struct request *rq); /* called if rq->user is set */
} routes[] = {
	{"GET", "/alive", OPEN, 0, alive, NULL},
	{"GET", "/server_info", OPEN, 0, server_info, NULL},
	{"POST", "/execute_action", KEY, HTTP_BODY_MAX, execute_action, action_gone},
	{"POST", "/upload_file", KEY, TRANSFER_BODY_MAX, files_upload, transfer_gone},
	{"GET", "/download_files", KEY, 0, files_download, transfer_gone},
	{"POST", "/list_files", KEY, TRANSFER_LIST_MAX, files_list, transfer_gone},
	{"GET", "/v1/files", KEY, 0, files_get, transfer_gone},
	{"PUT", "/v1/files", KEY, TRANSFER_BODY_MAX, files_put, transfer_gone},
	{"DELETE", "/v1/files", KEY, 0, files_remove, transfer_gone},
	{"GET", "/v1/files/tar", KEY, 0, files_get_tar, transfer_gone},
	{"PUT", "/v1/files/tar", KEY, TRANSFER_BODY_MAX, files_put_tar, transfer_gone},
	{"GET", "/v1/files/stat", KEY, 0, files_stat, transfer_gone},
	{"POST", "/v1/files/mkdir", KEY, 0, files_mkdir, transfer_gone},
	{"POST", "/v1/files/mv", KEY, 0, files_move, transfer_gone},
	{"GET", "/v1/actions/*", KEY, 0, once_get, action_gone},
	{"PUT", "/v1/actions/*", KEY, HTTP_BODY_MAX, once_put, action_gone},
	{"DELETE", "/v1/actions/*", KEY, 0, once_ack, NULL},
	{"GET", "/v1/actions/*/out", KEY, 0, once_out, action_gone},
	{"POST", "/v1/actions/*/cancel", KEY, ONCE_CANCEL_MAX, once_cancel, action_gone},
	{"GET", "/v1/events", KEY, 0, once_events, action_gone},
	{"GET", "/v1/processes", KEY, 0, processes_list, NULL},
	{"POST", "/v1/processes", KEY, HTTP_BODY_MAX, processes_start, action_gone},
	{"GET", "/v1/processes/*", KEY, 0, processes_get, action_gone},
	{"DELETE", "/v1/processes/*", KEY, 0, processes_delete, action_gone},
	{"GET", "/v1/processes/*/stdout", KEY, 0, processes_read, action_gone},
	{"GET", "/v1/processes/*/stderr", KEY, 0, processes_read, action_gone},
	{"GET", "/v1/processes/*/pty", KEY, 0, processes_read, action_gone},
	{"PUT", "/v1/processes/*/stdin", KEY, TRANSFER_BODY_MAX, processes_stdin,
		action_gone},
	{"GET", "/v1/processes/*/attach", KEY, 0, process_attach, NULL},
	{"POST", "/v1/processes/*/signal", KEY, PROCESS_REQUEST_MAX, processes_signal,
		NULL},
	{"POST", "/v1/processes/*/resize", KEY, PROCESS_REQUEST_MAX, processes_resize,
		NULL},
	{"GET", "/v1/status", KEY, 0, status_get, NULL},
	{"GET", "/v1/sessions", KEY, 0, sessions_list, NULL},
	{"DELETE", "/v1/sessions/*", KEY, 0, sessions_end, sessions_end_gone},
	{"GET", "/v1/sessions/*/output", KEY, 0, sessions_output, NULL},
	{"GET", "/v1/glob", KEY, 0, search_glob, search_gone},
	{"GET", "/v1/grep", KEY, 0, search_grep, search_gone},
	{"GET", "/v1/stream", KEY, 0, streams_open, NULL},
	{"GET", "/v1/watch", KEY, 0, files_watch, transfer_gone},
	{"POST", "/v1/grep", KEY, SEARCH_REQUEST_MAX, search_grep, search_gone},
	{"POST", "/mcp/sandbox", KEY, HTTP_BODY_MAX, sandbox_mcp_post, mcp_server_gone},
	{"DELETE", "/mcp/sandbox", KEY, 0, sandbox_mcp_delete, NULL},
};

static bool matches(const struct route *route, struct str path, struct str *name)
{
	struct str rest = str_c(route->path);
	struct str front = str_cut(&rest, '*');

	*name = str_skip(path, front.n);
	if (!str_starts(path, front) || name->n < rest.n || !str_ends(*name, rest))
		return false;
	name->n -= rest.n;
	return strchr(route->path, '*') ? name->n && str_find_byte(*name, '/') == name->n
					: name->n == 0;
}

static const struct route *route_of_path(struct str path)
{
	struct str name;

	for (size_t i = 0; i < ARRAY_LEN(routes); i++)
		if (matches(&routes[i], path, &name))
			return &routes[i];
	return NULL;
}

static const struct route *route_of(const struct request *rq, struct str *name)
{
	for (size_t i = 0; i < ARRAY_LEN(routes); i++)
		if (matches(&routes[i], rq->path, name) &&
			str_eq(rq->method, str_c(routes[i].method)))
			return &routes[i];
	return NULL;
}

/* Compares digests in constant time, which hides how much of the key is right. */
bool api_knows_key(const struct api *api, struct str key)
{
	const struct config *c = api->box->config;
	uint8_t digest[SHA256_LEN];

	sha256_of(key, digest);
	return !c->has_key || hash_equal(digest, c->key, sizeof(digest));
}

static bool shows_key(const struct api *api, const struct request *rq)
{
	struct str key;

	return !api->box->config->has_key || request_is_authorized(rq) ||
		(session_key_find(rq, &key) == 0 && api_knows_key(api, key));
}

static bool is_path(const struct api *api, struct str path)
{
	return route_of_path(path) || plugs_route(api->box->plugs, STR(""), path);
}

/* Adds Allow with all methods of the path. */
static void add_allow(const struct api *api, struct request *rq)
{
	struct buf methods = BUF_INIT(128);
	struct str name;

	for (size_t i = 0; i < ARRAY_LEN(routes); i++)
		if (matches(&routes[i], rq->path, &name))
			buf_fmt(&methods, "%s%s", methods.n ? ", " : "",
				routes[i].method);
	plugs_methods(api->box->plugs, rq->path, &methods);
	request_add_field(rq, STR("allow"), buf_view(&methods));
	buf_free(&methods);
}

static void no_route(const struct api *api, struct request *rq)
{
	bool other = is_path(api, rq->path);
	struct str trimmed = rq->path;

	if (other) {
		add_allow(api, rq);
		request_fail(rq, 405, STR("Method Not Allowed"));
		return;
	}
	while (trimmed.n > 1 && trimmed.p[trimmed.n - 1] == '/')
		trimmed.n--;
	if (trimmed.n < rq->path.n && is_path(api, trimmed)) {
		request_add_field(rq, STR("location"), trimmed);
		request_reply(rq, 307, NULL);
		return;
	}
	request_fail(rq, 404, STR("Not Found"));
}

/* Fencing: a request with a lower lease than the highest seen is refused. */
static bool lease_holds(struct api *api, struct request *rq)
{
	struct str lease;
	bool holds;

	if (request_header(rq, STR("x-lease"), &lease) != 0)
		return true;
	holds = once_show_lease(api->once, rq, lease);
	if (holds)
		streams_fence(api);
	return holds;
}

/*
 * Without a session key, requests from web pages of other origins are refused. False: the
 * request is answered.
 */
static bool is_welcome(const struct api *api, struct request *rq)
{
	bool mcp = str_starts(rq->path, STR("/mcp")) || str_eq(rq->path, STR("/sse"));
	const struct origin_names names = {
		.own = str_c(api->box->host_name),
		.drop_in = api->box->config->drop_in,
		.pod = api->box->config->is_pod,
	};
	unsigned status = 0;

	if (!api->box->config->has_key)
		status = origin_check(rq, &names, mcp);
	if (status == 421)
		request_fail(rq, status,
			STR("Without a session key, Host must be an IP address, "
			    "localhost "
			    "or the sandbox's host name. Use one of these, or set a "
			    "key."));
	else if (status)
		request_fail(rq, status,
			STR("Without a session key, cross-origin requests are refused."));
	return !status;
}

/* The key is checked first: without it, no reply reveals which paths exist. */
static void on_head(void *arg, struct request *rq)
{
	struct api *api = arg;
	const struct route *known = route_of_path(rq->path);
	const struct route *route;
	struct str name;

	if (!is_welcome(api, rq))
		return;
	if (!known || known->access == KEY) {
		if (!shows_key(api, rq)) {
			request_deny(rq, &api->penalty, 403, STR("Invalid API Key"));
			return;
		}
		request_trust(rq);
		if (!lease_holds(api, rq))
			return;
	}
	route = route_of(rq, &name);
	if (!route) {
		if (plugs_route(api->box->plugs, rq->method, rq->path))
			rq->body_max = HTTP_BODY_MAX;
		else
			no_route(api, rq);
		return;
	}
	rq->body_max = route->body_max;
	if (rq->body_max > HTTP_BODY_MAX)
		route->handle(api, rq, name);
}

/* Any body is accepted if the memory of the sandbox is unknown or unlimited. */
static bool on_has_memory(void *arg, uint64_t n)
{
	const struct api *api = arg;
	uint64_t available;

	return cgroup_memory_available(api->box->shell_setup->cgroup, &available) < 0 ||
		n + HTTP_BODY_RESERVE <= available;
}

/* For requests whose body is streamed. NULL: it belongs to a transfer. */
static const struct asked *asked_of(const struct request *rq)
{
	struct str name;
	const struct route *route = route_of(rq, &name);

	return route && route->gone == action_gone ? rq->user : NULL;
}

static size_t on_body(void *arg, struct request *rq, struct str piece)
{
	const struct asked *q = asked_of(rq);

	(void)arg;
	return q ? q->body(rq, piece) : transfer_body(rq, piece);
}

static ssize_t on_move(void *arg, struct request *rq, int fd, size_t n)
{
	const struct asked *q = asked_of(rq);

	(void)arg;
	return q ? q->move(rq, fd, n) : transfer_move(rq, fd, n);
}

static ssize_t on_hand(void *arg, struct request *rq, int fd, size_t n)
{
	(void)arg;
	return transfer_hand(rq, fd, n);
}

static void on_ready(void *arg, struct request *rq)
{
	const struct route *route;
	struct api *api = arg;
	struct str name;

	if (rq->body_streams) {
		const struct asked *q = asked_of(rq);

		if (q)
			q->ready(rq);
		else
			transfer_ready(rq);
		return;
	}
	route = route_of(rq, &name);
	if (route)
		route->handle(api, rq, name);
	else
		plugs_handle(api->box->plugs, rq);
}

static void on_room(void *arg, struct request *rq)
{
	const struct plug_route *more;
	const struct route *route;
	struct api *api = arg;
	struct str name;

	route = route_of(rq, &name);
	if (route && route->gone == transfer_gone)
		transfer_room(rq);
	else if (route && route->gone == action_gone && rq->user)
		action_room(rq);
	if (route)
		return;
	more = plugs_route(api->box->plugs, rq->method, rq->path);
	if (more->room)
		more->room(rq);
}

static void on_gone(void *arg, struct request *rq)
{
	const struct route *route;
	struct api *api = arg;
	struct str name;

	if (!rq->user)
		return;
	route = route_of(rq, &name);
	if (route)
		route->gone(rq);
	else
		plugs_route(api->box->plugs, rq->method, rq->path)->gone(rq);
}

static void on_drained(void *arg)
{
	struct api *api = arg;

	loop_stop(api->box->loop);
}

const struct server_ops api_ops = {
	.head = on_head,
	.has_memory = on_has_memory,
	.body = on_body,
	.move = on_move,
	.hand = on_hand,
	.ready = on_ready,
	.room = on_room,
	.gone = on_gone,
	.drained = on_drained,
};
