#include "inject/sandbox/sandbox.h"

#include "base/fd.h"
#include "inject/console/out.h"
#include "inject/names/sandbox_label.h"
#include "inject/options/options.h"
#include "inject/sandbox/overlay.h"
#include "inject/sandbox/sandbox_origin.h"
#include "inject/sandbox/tls_pin.h"
#include "inject/sandbox/tunnel.h"
#include "limits.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

/* Copies s with a NUL; false: it does not fit or contains a NUL. */
static bool sandbox_copy_text(char *out, size_t room, struct str s)
{
	if (s.n >= room || (s.n && memchr(s.p, '\0', s.n)))
		return false;
	if (s.n)
		memcpy(out, s.p, s.n);
	out[s.n] = '\0';
	return true;
}

uint16_t sandbox_host_port(struct json_doc *d, struct json_val labels, struct str mode)
{
	uint64_t port;

	if (!str_eq(mode, STR("host")) ||
		!sandbox_label_is_set(d, labels, SANDBOX_LABEL_MARK) ||
		str_u64(sandbox_label_read(d, labels, SANDBOX_LABEL_PORT), UINT16_MAX,
			&port))
		return 0;
	return (uint16_t)port;
}

uint16_t sandbox_published_port(struct json_doc *d, uint16_t inside)
{
	struct json_val root = json_doc_root(d);
	struct json_val ports = json_get(json_get(root, "NetworkSettings"), "Ports");
	struct json_val list, binding;
	char name[16];
	uint64_t port;
	int it = 0;

	snprintf(name, sizeof(name), "%u/tcp", inside);
	list = json_get(ports, name);
	while (json_next(list, &it, NULL, &binding))
		if (str_u64(json_doc_str(d, json_get(binding, "HostPort")), 65535,
			    &port) == 0)
			return (uint16_t)port;
	return sandbox_host_port(d, json_get(json_get(root, "Config"), "Labels"),
		json_doc_str(d, json_get(json_get(root, "HostConfig"), "NetworkMode")));
}

/* Accepts only a sandbox, or a container that the client was injected into. */
static int sandbox_check_origin(const struct engine *e, struct json_doc *d,
	const struct sandbox_identity *c, const char *asked, struct sandbox *s)
{
	struct sandbox_origins origins;
	enum sandbox_origin origin;
	int r;

	sandbox_origins_init(&origins, e);
	r = sandbox_origin_find(&origins, d, c, &origin, &s->inside);
	sandbox_origins_free(&origins);
	s->injected = origin == SANDBOX_INJECTED;
	if (!r && origin == SANDBOX_FOREIGN)
		r = out_fail("od-runtime ps lists the sandboxes; for other containers "
			     "use the engine's own commands, such as docker rm",
			"the container %s is not a sandbox of od-runtime", asked);
	return r;
}

static int sandbox_read_stop_seconds(struct json_val config)
{
	int64_t n = json_doc_int(json_get(config, "StopTimeout"), STOP_SECONDS);

	return n < -1 || n > INT32_MAX ? STOP_SECONDS : (int)n;
}

static int sandbox_read_container(
	const struct engine *e, struct json_doc *d, const char *asked, struct sandbox *s)
{
	struct json_val root = json_doc_root(d), state = json_get(root, "State");
	struct json_val labels = json_get(json_get(root, "Config"), "Labels");
	struct str name = json_doc_str(d, json_get(root, "Name"));
	struct str id = json_doc_str(d, json_get(root, "Id"));

	struct sandbox_identity identity;
	int r;

	if (str_starts(name, STR("/")))
		name = str_skip(name, 1);
	identity = (struct sandbox_identity){
		.name = name,
		.id = id,
		.image = json_doc_str(d, json_get(root, "Image")),
		.labels = labels,
	};
	r = sandbox_check_origin(e, d, &identity, asked, s);
	if (r)
		return r;
	if (!state_is_name(name) || !state_is_name(id) ||
		!sandbox_copy_text(s->state.overlay, sizeof(s->state.overlay),
			sandbox_label_read(d, labels, SANDBOX_LABEL_OVERLAY)) ||
		!sandbox_copy_text(s->state.name, sizeof(s->state.name), name) ||
		!sandbox_copy_text(s->state.id, sizeof(s->state.id), id))
		return out_fail(ENGINE_NEXT,
			"the engine's description of the container %s cannot be read",
			asked);
	s->running = json_doc_is_true(json_get(state, "Running"));
	s->paused = json_doc_is_true(json_get(state, "Paused"));
	s->exit_code = (int)json_doc_int(json_get(state, "ExitCode"), -1);
	s->stop_seconds = sandbox_read_stop_seconds(json_get(root, "Config"));
	s->auto_remove =
		json_doc_is_true(json_get(json_get(root, "HostConfig"), "AutoRemove"));
	s->port = s->running ? sandbox_published_port(d, s->inside) : 0;
	/* A text that is too long is no time: ended stays empty. */
	(void)!sandbox_copy_text(s->state.ended, sizeof(s->state.ended),
		json_doc_str(d, json_get(state, "FinishedAt")));
	return 0;
}

/* Reads the engine's description of a container, which came with status 200. */
static int sandbox_read(const struct engine *e, const struct reply *reply,
	const char *name, struct sandbox *s)
{
	struct sandbox got = {0};
	struct json_doc d;
	int r = json_doc_parse(&d, buf_view(&reply->body));

	r = r ? out_fail(ENGINE_NEXT,
			"the engine's description of the container %s is not JSON", name)
	      : sandbox_read_container(e, &d, name, &got);
	json_doc_free(&d);
	if (r)
		return r;
	sandbox_copy_text(got.state.engine, sizeof(got.state.engine), str_c(e->path));
	got.engine = e;
	got.may_be_remote = true;
	*s = got;
	return 0;
}

int sandbox_find(const struct engine *e, const char *name, struct sandbox *s)
{
	struct reply reply;
	int r = engine_request(
		e, &reply, "GET", (struct str){0}, "/containers/%s/json", name);

	if (!r && reply.status == 404)
		r = 1;
	else if (!r && reply.status != 200)
		r = engine_fail_reply(&reply, NULL, "inspecting the sandbox %s", name);
	if (!r)
		r = sandbox_read(e, &reply, name, s);
	reply_free(&reply);
	return r;
}

bool sandbox_is_stopped(const struct sandbox *s, uint32_t idle_ms)
{
	struct engine engine = *s->engine;
	struct reply reply = {0};
	struct sandbox now = {0};
	struct json_doc d;
	bool gone;
	int r;

	engine.idle_ms = idle_ms;
	r = engine_cleanup(&engine, &reply, "GET", "/containers/%s/json", s->state.name);
	gone = !r && reply.status == 404;
	if (!r && !gone && json_doc_parse(&d, buf_view(&reply.body)) == 0) {
		gone = sandbox_read_container(&engine, &d, s->state.name, &now) ||
			!now.running || now.port != s->port;
		json_doc_free(&d);
	}
	reply_free(&reply);
	return gone;
}

/* Removes the state of a sandbox that the engine has removed. */
static void sandbox_remove_stale_state(const struct engine *e, const char *name)
{
	struct state old;

	if (state_load(name, &old))
		return;
	if (strcmp(old.engine, e->path) == 0)
		state_remove(name);
	state_wipe_key(&old);
}

int sandbox_load_key(struct sandbox *s)
{
	struct state saved;
	int r = state_load(s->state.name, &saved);

	if (r == -ENOENT || (r == 0 && strcmp(saved.id, s->state.id) != 0))
		return 1;
	if (r)
		return r;
	memcpy(s->state.key, saved.key, sizeof(saved.key));
	s->state.tls = saved.tls;
	/* Each run of the container has a new TLS key. */
	s->state.pinned = saved.pinned && strcmp(saved.ended, s->state.ended) == 0;
	memcpy(s->state.pin, saved.pin, sizeof(saved.pin));
	state_wipe_key(&saved);
	return 0;
}

static int sandbox_require_key(struct sandbox *s)
{
	int r = sandbox_load_key(s);

	if (r == 1)
		r = out_fail("use the sandbox as the user who created it, or remove it "
			     "with od-runtime rm -f",
			"this user does not have the key of the sandbox %s",
			s->state.name);
	return r;
}

int sandbox_require(const struct engine *e, const char *name, struct sandbox *s)
{
	int r = sandbox_find(e, name, s);

	if (r != 1)
		return r;
	sandbox_remove_stale_state(e, name);
	return out_fail(
		"od-runtime ps lists the sandboxes", "no sandbox is named %s", name);
}

/* Learns the pin of a server that was started again, by another program or the engine. */
static int sandbox_update_pin(const struct engine *e, struct sandbox *s)
{
	int r = tls_pin_learn(e, s);

	if (r == 1)
		return out_fail("od-runtime logs prints its log",
			"the server of the sandbox %s has not logged its TLS key yet",
			s->state.name);
	return r ? r : state_save(&s->state);
}

/* Whether requests can be sent to a sandbox that was found. */
static int sandbox_ready(const struct engine *e, const char *name, struct sandbox *s)
{
	int r;

	if (!s->running)
		return out_fail("od-runtime start SANDBOX starts it; od-runtime logs "
				"prints its log",
			"the sandbox %s is not running", name);
	if (s->paused)
		return out_fail("od-runtime resume SANDBOX continues it",
			"the sandbox %s is paused", name);
	r = sandbox_require_key(s);
	return r || !s->state.tls || s->state.pinned ? r : sandbox_update_pin(e, s);
}

int sandbox_open(const struct engine *e, const char *name, struct sandbox *s)
{
	int r = sandbox_require(e, name, s);

	return r ? r : sandbox_ready(e, name, s);
}

int sandbox_open_quick(
	struct engine *e, const char *host, const char *name, struct sandbox *s)
{
	struct reply reply;
	int r = engine_locate(e, host);

	reply_init(&reply);
	if (!r)
		r = engine_request(
			e, &reply, "GET", (struct str){0}, "/containers/%s/json", name);
	/* Other answers are explained by a request with the version of the engine. */
	if (!r && reply.status == 200)
		r = sandbox_read(e, &reply, name, s);
	else if (!r)
		r = engine_negotiate(e);
	if (!r && reply.status != 200)
		r = sandbox_require(e, name, s);
	reply_free(&reply);
	return r ? r : sandbox_ready(e, name, s);
}

bool sandbox_is_in_container(void)
{
	return access("/.dockerenv", F_OK) == 0 ||
		access("/run/.containerenv", F_OK) == 0;
}

/*
 * Connects to the published port. The engine e carries the bytes if there is no port, if
 * the port is on another machine (over TLS, or through a forwarded socket), or if we are
 * in a container, whose loopback has no such port. NULL: there is no engine.
 */
static int sandbox_connect(const struct sandbox *s, const struct engine *e,
	uint32_t idle_ms, struct http_client *c)
{
	bool remote = e && e->remote;
	int fd = s->port && !remote ? http_client_connect_tcp(s->port, INJECT_CONNECT_MS)
				    : -ECONNREFUSED;

	if (s->state.tls && fd >= 0) {
		int r = http_client_begin_pinned(c, fd, idle_ms, s->state.pin);

		if (r)
			http_client_begin(c, -1, 0, false);
		return r;
	}
	if (fd == -ECONNREFUSED && e && !s->state.tls &&
		(!s->port || remote || s->may_be_remote || sandbox_is_in_container()))
		return tunnel_open(e, s->state.id, s->inside, idle_ms, c);
	http_client_begin(c, fd < 0 ? -1 : fd, idle_ms, false);
	return fd < 0 ? fd : 0;
}

int sandbox_check_alive(const struct sandbox *s, uint32_t idle_ms)
{
	const struct http_client_request q = {
		.method = "GET", .target = TARGET("/alive")};
	/* The caller polls: an engine that fails would print the error each time. */
	const struct engine quiet =
		s->engine ? engine_copy_silent(s->engine) : (struct engine){0};
	struct reply reply;
	struct http_client c;
	struct json_doc d;
	int r = sandbox_connect(s, s->engine ? &quiet : NULL, idle_ms, &c);

	reply_init(&reply);
	if (!r)
		r = http_client_send(&c, &q);
	if (!r)
		r = http_client_read_all(&c, &reply.body);
	if (!r)
		reply.status = c.head.status;
	http_client_close(&c);
	/* The server does not run yet, or a proxy in between cannot reach it. */
	if (r && r != -EINTR && r != -ENOMEM)
		r = 1;
	if (!r && (reply.status != 200 || json_doc_parse(&d, buf_view(&reply.body)))) {
		r = 1;
	} else if (!r) {
		struct str status =
			json_doc_str(&d, json_get(json_doc_root(&d), "status"));

		r = str_eq(status, STR("ok")) ? 0 : 1;
		json_doc_free(&d);
	}
	reply_free(&reply);
	return r;
}

int sandbox_fail_reply(const struct sandbox *s, const struct reply *reply)
{
	struct buf words = BUF_INIT(INJECT_TEXT_MAX);
	bool key = reply->status == 401;
	struct json_doc d;

	if (json_doc_parse(&d, buf_view(&reply->body)) == 0) {
		struct str detail =
			json_doc_str(&d, json_get(json_doc_root(&d), "detail"));

		/* Files have a 403 of their own. */
		key = key ||
			(reply->status == 403 &&
				str_find(detail, STR("API Key")) < detail.n);
		out_clean(&words, detail, false);
		json_doc_free(&d);
	}
	if (key)
		out_fail("remove the sandbox with od-runtime rm -f, then run it again",
			"the sandbox %s does not accept the key that od-runtime stored "
			"for it",
			s->state.name);
	else if (words.n &&
		(reply->status == 404 || reply->status == 409 || reply->status == 422))
		out_fail("check the paths and names of the command",
			"the sandbox %s refused the request: %.*s", s->state.name,
			STR_ARG(buf_view(&words)));
	else
		out_fail("od-runtime logs shows the log of its server",
			"the sandbox %s answered with HTTP status %u%s%.*s",
			s->state.name, reply->status, words.n ? ": " : "",
			STR_ARG(buf_view(&words)));
	buf_free(&words);
	return FAIL_ENVIRONMENT;
}

int sandbox_fail(const struct sandbox *s, int r)
{
	if (r == -EINTR || r == -ENOMEM || r <= FAIL_BASE)
		return r;
	if (r == -ETIME)
		return out_fail("od-runtime logs prints its log",
			"the sandbox %s answers too slowly: fewer than %d bytes per "
			"second",
			s->state.name, INJECT_RATE);
	if (r == HTTP_CLIENT_LOST)
		return out_fail("check the network between this machine and the sandbox; "
				"od-runtime ps shows whether the sandbox runs",
			"the network connection to the sandbox %s was lost: no data was "
			"acknowledged for %d s",
			s->state.name, HTTP_CLIENT_LOST_MS / 1000);
	return out_fail("od-runtime logs prints its log",
		"the sandbox %s did not answer: %s", s->state.name, err_text(r));
}

/* Sends q with the key of the sandbox. */
static int sandbox_send(const struct sandbox *s, struct http_client *c,
	const struct http_client_request *q)
{
	struct http_client_request with = *q;
	char header[512];
	int r;

	snprintf(header, sizeof(header), "X-Session-API-Key: %s\r\n%s", s->state.key,
		q->headers ? q->headers : "");
	with.headers = header;
	r = http_client_start(c, &with);
	explicit_bzero(header, sizeof(header));
	return r;
}

int sandbox_try_start(const struct sandbox *s, struct http_client *c,
	const struct http_client_request *q, uint32_t idle_ms)
{
	int r = sandbox_connect(s, s->engine, idle_ms, c);

	return r ? r : sandbox_send(s, c, q);
}

int sandbox_send_next(const struct sandbox *s, struct http_client *c,
	const struct http_client_request *q)
{
	return http_client_reuse(c) ? sandbox_send(s, c, q) : ERR_CLOSED;
}

int sandbox_start(const struct sandbox *s, struct http_client *c,
	const struct http_client_request *q, uint32_t idle_ms)
{
	int r = sandbox_try_start(s, c, q, idle_ms);

	if (r == ERR_TLS)
		return out_fail(
			"remove the sandbox with od-runtime rm -f, then run it again",
			"the TLS connection to the sandbox %s failed: %s", s->state.name,
			http_client_tls_error(c));
	return r ? sandbox_fail(s, r) : 0;
}

int sandbox_request(const struct sandbox *s, const char *method,
	const struct target *target, struct str body, uint32_t idle_ms,
	struct reply *reply)
{
	const struct http_client_request q = {
		.method = method,
		.target = target,
		.type = body.n ? "application/json" : NULL,
		.parts = &body,
		.parts_n = body.n ? 1 : 0,
	};
	struct http_client c;
	int r;

	reply_init(reply);
	r = sandbox_start(s, &c, &q, idle_ms);
	if (!r) {
		r = http_client_finish(&c);
		if (!r)
			r = http_client_read_all(&c, &reply->body);
		r = r ? sandbox_fail(s, r) : 0;
	}
	if (!r)
		reply->status = c.head.status;
	http_client_close(&c);
	return r;
}

int sandbox_send_action(
	const struct sandbox *s, struct str action, uint32_t idle_ms, struct reply *reply)
{
	int r = sandbox_request(
		s, "POST", TARGET("/execute_action"), action, idle_ms, reply);

	return r || reply->status == 200 ? r : sandbox_fail_reply(s, reply);
}

void sandbox_remove_state(const struct engine *e, const struct state *s)
{
	overlay_remove(e, s->overlay, s->name);
	state_remove(s->name);
}

void sandbox_remove(const struct engine *e, const struct state *s)
{
	engine_cleanup(e, NULL, "DELETE", "/containers/%s?force=1&v=1", s->id);
	sandbox_remove_state(e, s);
}
