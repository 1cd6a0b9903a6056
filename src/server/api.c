#include "server/api.h"

#include "action/session.h"
#include "limits.h"
#include "net/session_key.h"
#include "plugin/plugin.h"
#include "server/files/files.h"
#include "server/files/search.h"
#include "server/files/transfer.h"
#include "server/idempotency/idem.h"
#include "server/info.h"
#include "server/origin.h"
#include "server/process/process_attach.h"
#include "server/process/processes.h"
#include "server/sandbox_mcp.h"
#include "server/session_routes.h"
#include "server/status.h"
#include "server/stream/stream.h"

#include <inttypes.h>
#include <stdio.h>

static void api_get_alive(struct api *api, struct request *rq, struct str name)
{
	(void)api;
	(void)name;
	buf_puts(request_out(rq), "{\"status\":\"ok\"}");
	request_reply(rq, 200, API_JSON);
}

static void api_get_server_info(struct api *api, struct request *rq, struct str name)
{
	(void)name;
	info_write(request_out(rq), api);
	request_reply(rq, 200, API_JSON);
}

void api_write_detail(struct buf *out, struct str detail)
{
	struct jw w;

	jw_init(&w, out);
	jw_object(&w);
	jw_key(&w, "detail");
	jw_str(&w, detail);
	jw_end(&w);
}

void api_write_errors(struct buf *out, const char *errors)
{
	struct jw w;

	jw_init(&w, out);
	jw_object(&w);
	jw_key(&w, "detail");
	jw_cstr(&w, "Invalid request parameters");
	jw_key(&w, "errors");
	jw_cstr(&w, errors);
	jw_end(&w);
}

void api_refuse(struct request *rq, unsigned status, const char *errors)
{
	if (status == 503) {
		api_reply_nomem(rq);
		return;
	}
	buf_reset(request_out(rq));
	api_write_errors(request_out(rq), errors);
	request_reply(rq, status, API_JSON);
}

void api_reply_invalid(struct request *rq, const char *errors)
{
	api_refuse(rq, 422, errors);
}

void api_reply_nomem(struct request *rq)
{
	request_fail(rq, 503, STR(API_NO_MEMORY));
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

enum access { ACCESS_OPEN, ACCESS_KEY };

static const struct route {
	const char *method;
	const char *path; /* '*' is a name: not empty, without '/' */
	enum access access;
	size_t body_max; /* more than HTTP_BODY_MAX: streamed, and handle gets the head */
	void (*handle)(struct api *api, struct request *rq, struct str name);
} routes[] = {
	{"GET", "/alive", ACCESS_OPEN, 0, api_get_alive},
	{"GET", "/server_info", ACCESS_OPEN, 0, api_get_server_info},
	{"POST", "/execute_action", ACCESS_KEY, HTTP_BODY_MAX, idem_execute},
	{"POST", "/upload_file", ACCESS_KEY, TRANSFER_BODY_MAX, files_upload},
	{"GET", "/download_files", ACCESS_KEY, 0, files_download},
	{"POST", "/list_files", ACCESS_KEY, TRANSFER_LIST_MAX, files_list},
	{"GET", "/v1/files", ACCESS_KEY, 0, files_get},
	{"PUT", "/v1/files", ACCESS_KEY, TRANSFER_BODY_MAX, files_put},
	{"DELETE", "/v1/files", ACCESS_KEY, 0, files_remove},
	{"GET", "/v1/files/tar", ACCESS_KEY, 0, files_get_tar},
	{"PUT", "/v1/files/tar", ACCESS_KEY, TRANSFER_BODY_MAX, files_put_tar},
	{"GET", "/v1/files/stat", ACCESS_KEY, 0, files_stat},
	{"POST", "/v1/files/mkdir", ACCESS_KEY, 0, files_mkdir},
	{"POST", "/v1/files/mv", ACCESS_KEY, 0, files_move},
	{"GET", "/v1/actions/*", ACCESS_KEY, 0, idem_get},
	{"PUT", "/v1/actions/*", ACCESS_KEY, HTTP_BODY_MAX, idem_put},
	{"DELETE", "/v1/actions/*", ACCESS_KEY, 0, idem_ack},
	{"GET", "/v1/actions/*/out", ACCESS_KEY, 0, idem_get_output},
	{"POST", "/v1/actions/*/cancel", ACCESS_KEY, IDEM_CANCEL_MAX, idem_cancel},
	{"GET", "/v1/events", ACCESS_KEY, 0, idem_events},
	{"GET", "/v1/processes", ACCESS_KEY, 0, processes_list},
	{"POST", "/v1/processes", ACCESS_KEY, HTTP_BODY_MAX, processes_start},
	{"GET", "/v1/processes/*", ACCESS_KEY, 0, processes_get},
	{"DELETE", "/v1/processes/*", ACCESS_KEY, 0, processes_delete},
	{"GET", "/v1/processes/*/stdout", ACCESS_KEY, 0, processes_read},
	{"GET", "/v1/processes/*/stderr", ACCESS_KEY, 0, processes_read},
	{"GET", "/v1/processes/*/pty", ACCESS_KEY, 0, processes_read},
	{"PUT", "/v1/processes/*/stdin", ACCESS_KEY, TRANSFER_BODY_MAX, processes_stdin},
	{"GET", "/v1/processes/*/attach", ACCESS_KEY, 0, process_attach},
	{"POST", "/v1/processes/*/signal", ACCESS_KEY, PROCESS_REQUEST_MAX,
		processes_signal},
	{"POST", "/v1/processes/*/resize", ACCESS_KEY, PROCESS_REQUEST_MAX,
		processes_resize},
	{"GET", "/v1/status", ACCESS_KEY, 0, status_get},
	{"GET", "/v1/sessions", ACCESS_KEY, 0, sessions_list},
	{"DELETE", "/v1/sessions/*", ACCESS_KEY, 0, sessions_end},
	{"GET", "/v1/sessions/*/output", ACCESS_KEY, 0, sessions_output},
	{"GET", "/v1/glob", ACCESS_KEY, 0, search_handle_glob},
	{"GET", "/v1/grep", ACCESS_KEY, 0, search_handle_grep},
	{"GET", "/v1/stream", ACCESS_KEY, 0, streams_open},
	{"GET", "/v1/watch", ACCESS_KEY, 0, files_watch},
	{"POST", "/v1/grep", ACCESS_KEY, SEARCH_REQUEST_MAX, search_handle_grep},
	{"POST", "/mcp/sandbox", ACCESS_KEY, HTTP_BODY_MAX, sandbox_mcp_post},
	{"DELETE", "/mcp/sandbox", ACCESS_KEY, 0, sandbox_mcp_delete},
};

static bool api_match_route(const struct route *route, struct str path, struct str *name)
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

/* The route of a path and a method; an empty method matches any. NULL: there is none. */
static const struct route *api_find_route(
	struct str method, struct str path, struct str *name)
{
	for (size_t i = 0; i < ARRAY_LEN(routes); i++)
		if (api_match_route(&routes[i], path, name) &&
			(!method.n || str_eq(method, str_c(routes[i].method))))
			return &routes[i];
	return NULL;
}

/* Compares digests in constant time, which hides how much of the key is right. */
bool api_check_key(const struct api *api, struct str key)
{
	const struct config *c = api->box->config;
	uint8_t digest[SHA256_LEN];

	sha256_compute(key, digest);
	return !c->has_key || hash_equal(digest, c->key, sizeof(digest));
}

static bool api_has_valid_key(const struct api *api, const struct request *rq)
{
	struct str key;

	return !api->box->config->has_key || request_is_authorized(rq) ||
		(session_key_find(rq, &key) == 0 && api_check_key(api, key));
}

static bool api_is_known_path(const struct api *api, struct str path)
{
	struct plugin_instance *plugin;
	struct str name;

	return api_find_route(STR(""), path, &name) ||
		plugin_find_route(api->box->plugs, STR(""), path, &plugin);
}

/* Adds Allow with all methods of the path. */
static void api_add_allow(const struct api *api, struct request *rq)
{
	struct buf methods = BUF_INIT(128);
	struct str name;

	for (size_t i = 0; i < ARRAY_LEN(routes); i++)
		if (api_match_route(&routes[i], rq->path, &name))
			buf_fmt(&methods, "%s%s", methods.n ? ", " : "",
				routes[i].method);
	plugin_put_methods(api->box->plugs, rq->path, &methods);
	request_add_field(rq, STR("allow"), buf_view(&methods));
	buf_free(&methods);
}

static void api_reply_no_route(const struct api *api, struct request *rq)
{
	bool other = api_is_known_path(api, rq->path);
	struct str trimmed = rq->path;

	if (other) {
		api_add_allow(api, rq);
		request_fail(rq, 405, STR("Method Not Allowed"));
		return;
	}
	while (trimmed.n > 1 && trimmed.p[trimmed.n - 1] == '/')
		trimmed.n--;
	if (trimmed.n < rq->path.n && api_is_known_path(api, trimmed)) {
		request_add_field(rq, STR("location"), trimmed);
		request_reply(rq, 307, NULL);
		return;
	}
	request_fail(rq, 404, STR("Not Found"));
}

/* Fencing: a request with a lower lease than the highest seen is refused. */
static bool api_check_lease(struct api *api, struct request *rq)
{
	struct str lease;
	bool holds;

	if (request_header(rq, STR("x-lease"), &lease) != 0)
		return true;
	holds = idem_check_lease(api->idem, rq, lease);
	if (holds)
		streams_fence(api);
	return holds;
}

/*
 * Without a session key, requests from web pages of other origins are refused. False: the
 * request is answered.
 */
static bool api_check_origin(const struct api *api, struct request *rq)
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

/* The request is that of a row of the table. */
static void api_on_route_ready(struct request *rq)
{
	const struct route *route = rq->route;
	struct api *api = rq->user;

	rq->user = NULL;
	route->handle(api, rq, rq->param);
}

/* The request is that of a plugin. */
static void api_on_plugin_ready(struct request *rq)
{
	const struct plugin_endpoint *route = rq->route;
	struct plugin_instance *plugin = rq->user;

	rq->user = NULL;
	route->handle(plugin, rq);
}

/* False: there is no route, and the request is answered. */
static bool api_find_handler(struct api *api, struct request *rq)
{
	static const struct request_ops of_table = {.on_ready = api_on_route_ready};
	static const struct request_ops of_plugin = {.on_ready = api_on_plugin_ready};
	const struct route *route = api_find_route(rq->method, rq->path, &rq->param);
	struct plugin_instance *plugin;

	if (route) {
		rq->ops = &of_table;
		rq->user = api;
		rq->route = route;
		rq->body_max = route->body_max;
		return true;
	}
	rq->route = plugin_find_route(api->box->plugs, rq->method, rq->path, &plugin);
	if (!rq->route) {
		api_reply_no_route(api, rq);
		return false;
	}
	rq->ops = &of_plugin;
	rq->user = plugin;
	rq->body_max = HTTP_BODY_MAX;
	return true;
}

/* The key is checked first: without it, no reply reveals which paths exist. */
static void api_on_head(void *arg, struct request *rq)
{
	struct api *api = arg;
	struct str name;
	const struct route *known = api_find_route(STR(""), rq->path, &name);

	if (!api_check_origin(api, rq))
		return;
	if (!known || known->access == ACCESS_KEY) {
		if (!api_has_valid_key(api, rq)) {
			request_deny(rq, &api->penalty, 403, STR("Invalid API Key"));
			return;
		}
		request_trust(rq);
		if (!api_check_lease(api, rq))
			return;
	}
	/* A body that is streamed goes to the handler, which therefore begins now. */
	if (api_find_handler(api, rq) && rq->body_max > HTTP_BODY_MAX)
		rq->ops->on_ready(rq);
}

/* Any body is accepted if the memory of the sandbox is unknown or unlimited. */
static bool api_has_memory(void *arg, uint64_t n)
{
	const struct api *api = arg;
	uint64_t available;

	return cgroup_memory_available(api->box->shell_setup->cgroup, &available) < 0 ||
		n + HTTP_BODY_RESERVE <= available;
}

static void api_on_drained(void *arg)
{
	struct api *api = arg;

	loop_stop(api->box->loop);
}

const struct server_ops api_ops = {
	.head = api_on_head,
	.has_memory = api_has_memory,
	.drained = api_on_drained,
};
