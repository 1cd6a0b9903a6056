#include "inject/engine/engine.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/hash.h"
#include "inject/console/out.h"
#include "inject/console/stop.h"
#include "inject/names/owner.h"
#include "inject/names/state.h"
#include "limits.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* The first version with filters on images, and the newest supported version. */
enum { MINOR_OLDEST = 24, MINOR_NEWEST = 47 };
/* How long a container may appear after a creation request without an answer. */
enum { LATE_ROUNDS = 20, LATE_MS = 100 };
enum { TIDY_SILENT_MS = 1000, TIDY_TOTAL_MS = 10000, TIDY_INTERRUPTED_MS = 10000 };
enum { ENGINE_OWN_MAX = 40 + OWNER_MAX };

#define NEXT_HOST "start Docker or Podman, or give its address: --host unix:///path"

void reply_init(struct reply *r)
{
	*r = (struct reply){.body = BUF_INIT(INJECT_REPLY_MAX)};
}

void reply_free(struct reply *r)
{
	buf_free(&r->body);
}

void reply_read_id(const struct reply *r, char *id, size_t room)
{
	struct str got;
	struct json_doc d;

	*id = '\0';
	if (json_doc_parse(&d, buf_view(&r->body)))
		return;
	got = json_doc_str(&d, json_get(json_doc_root(&d), "Id"));
	if (state_is_name(got) && got.n < room)
		snprintf(id, room, "%.*s", STR_ARG(got));
	json_doc_free(&d);
}

int engine_choose_version(struct str text, unsigned *minor)
{
	uint64_t v;

	if (!str_starts(text, STR("1.")) || str_u64(str_skip(text, 2), 9999, &v))
		return ERR_SYNTAX;
	if (v < MINOR_OLDEST)
		return ERR_VERSION;
	*minor = v < MINOR_NEWEST ? (unsigned)v : MINOR_NEWEST;
	return 0;
}

/*
 * Clean-up consists of many requests, and a bad engine fails each of them late. After the
 * engine was silent once, each answer of clean-up has TIDY_SILENT_MS. Failed requests of
 * clean-up take TIDY_TOTAL_MS together; then the others are not sent.
 */
static bool engine_was_silent;
static uint64_t engine_tidy_lost_ms; /* spent in failed requests of clean-up */

static void engine_note_silence(int r)
{
	engine_was_silent = engine_was_silent || r == -ETIMEDOUT || r == -ETIME;
}

int engine_fail(const struct engine *e, int r)
{
	engine_note_silence(r);
	if (e->silent)
		return r;
	switch (r) {
	case -EINTR:
	case -ENOMEM:
		return r;
	case -ENOENT:
		return out_fail(NEXT_HOST, "no container engine at %s", e->path);
	case -EACCES:
	case -EPERM:
		return out_fail("run od-runtime as root or as a user of the group docker",
			"no permission to use the engine's socket %s", e->path);
	case -EINVAL:
		return out_fail("give the name or id of the container or image as the "
				"engine shows it",
			"a name is empty, a path or contains control bytes, so it cannot "
			"be sent to the engine at %s",
			e->path);
	case -ECONNREFUSED:
		return out_fail(NEXT_HOST,
			"the connection to the engine at %s was refused", e->path);
	case -ETIMEDOUT:
		return out_fail(ENGINE_NEXT_LOG,
			"the engine at %s did not answer in time", e->path);
	case HTTP_CLIENT_LOST:
		return out_fail("check the network between this machine and the engine",
			"the network connection to the engine at %s was lost: no data "
			"was acknowledged for %d s",
			e->path, HTTP_CLIENT_LOST_MS / 1000);
	case -ETIME:
		return out_fail(ENGINE_NEXT_LOG,
			"the engine at %s answers too slowly: fewer than %d bytes per "
			"second",
			e->path, INJECT_RATE);
	case ERR_SYNTAX:
		return out_fail(NEXT_HOST,
			"the program that answers at %s is not a container engine",
			e->path);
	default:
		if (r <= FAIL_BASE)
			return r;
		return out_fail(ENGINE_NEXT_LOG,
			"the request to the engine at %s failed: %s", e->path,
			err_text(r));
	}
}

/* The caller closes c in any case. */
static int engine_connect(const struct engine *e, struct http_client *c, uint32_t idle_ms)
{
	int r = e->remote ? remote_engine_begin(e->remote, c, idle_ms, e->ignores_signals)
			  : http_client_connect_unix(
				    e->path, INJECT_CONNECT_MS, e->ignores_signals);

	if (!e->remote || r)
		http_client_begin(c, r < 0 ? -1 : r, idle_ms, e->ignores_signals);
	return r < 0 ? r : 0;
}

static int engine_exchange(const struct engine *e, struct http_client *c,
	const struct http_client_request *q, uint32_t idle_ms)
{
	int r = engine_connect(e, c, idle_ms);

	return r ? r : http_client_send(c, q);
}

int engine_begin(const struct engine *e, struct http_client *c,
	const struct http_client_request *q, uint32_t idle_ms)
{
	struct http_client_request with = *q;
	int r = engine_connect(e, c, idle_ms);

	with.prefix = str_c(e->prefix);
	return r ? r : http_client_start(c, &with);
}

int engine_start(const struct engine *e, struct http_client *c,
	const struct http_client_request *q, uint32_t idle_ms)
{
	int r = engine_begin(e, c, q, idle_ms);

	return r ? engine_fail(e, r) : 0;
}

int engine_try_stream(const struct engine *e, struct http_client *c,
	const struct http_client_request *q, uint32_t idle_ms)
{
	int r = engine_begin(e, c, q, idle_ms);

	return r ? r : http_client_finish(c);
}

int engine_stream(const struct engine *e, struct http_client *c,
	const struct http_client_request *q, uint32_t idle_ms)
{
	int r = engine_try_stream(e, c, q, idle_ms);

	return r ? engine_fail(e, r) : 0;
}

static uint32_t engine_idle_ms(const struct engine *e)
{
	uint32_t ms = e->idle_ms ? e->idle_ms : INJECT_ENGINE_MS;

	if (e->is_cleanup && engine_was_silent && ms > TIDY_SILENT_MS)
		ms = TIDY_SILENT_MS;
	/* After an interrupt the user waits for the prompt. */
	if (e->is_cleanup && stop_get_signal() && ms > TIDY_INTERRUPTED_MS)
		ms = TIDY_INTERRUPTED_MS;
	return ms;
}

/* Sends a request and reads the whole answer. Prints nothing. */
static int engine_send_request(const struct engine *e, struct reply *reply,
	const char *method, const struct target *target, struct str body)
{
	struct http_client_request q = {
		.method = method,
		.prefix = str_c(e->prefix),
		.target = target,
		.type = body.n ? "application/json" : NULL,
		.parts = &body,
		.parts_n = body.n ? 1 : 0,
	};
	uint64_t began = clock_ms();
	struct http_client c;
	int r;

	reply_init(reply);
	if (e->is_cleanup && engine_tidy_lost_ms >= TIDY_TOTAL_MS)
		return -ETIME;
	r = engine_exchange(e, &c, &q, engine_idle_ms(e));
	if (!r)
		r = http_client_read_all(&c, &reply->body);
	engine_note_silence(r);
	if (!r)
		reply->status = c.head.status;
	else if (e->is_cleanup)
		engine_tidy_lost_ms += clock_ms() - began;
	http_client_close(&c);
	return r;
}

static int engine_send_fmt(const struct engine *e, struct reply *reply,
	const char *method, struct str body, const char *fmt, va_list ap)
	__attribute__((format(printf, 5, 0)));

static int engine_send_fmt(const struct engine *e, struct reply *reply,
	const char *method, struct str body, const char *fmt, va_list ap)
{
	struct target target;
	int r;

	target_init(&target, ENGINE_TARGET_MAX);
	target_add_list(&target, fmt, ap);
	r = engine_send_request(e, reply, method, &target, body);
	target_free(&target);
	return r;
}

int engine_request_at(const struct engine *e, struct reply *reply, const char *method,
	struct str body, const struct target *t)
{
	int r = engine_send_request(e, reply, method, t, body);

	return r ? engine_fail(e, r) : 0;
}

int engine_request(const struct engine *e, struct reply *reply, const char *method,
	struct str body, const char *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = engine_send_fmt(e, reply, method, body, fmt, ap);
	va_end(ap);
	return r ? engine_fail(e, r) : 0;
}

struct engine engine_copy_nosignal(const struct engine *e)
{
	struct engine calm = *e;

	calm.ignores_signals = true;
	return calm;
}

struct engine engine_copy_silent(const struct engine *e)
{
	struct engine quiet = *e;

	quiet.silent = true;
	return quiet;
}

void engine_undo_create(const struct engine *e, const char *name, const char *mark)
{
	int r, round = 0;

	do {
		char id[STATE_ID_MAX + 1] = "";
		struct reply reply = {0};
		bool there = false;

		r = engine_cleanup(e, &reply, "GET", "/containers/%s/json", name);
		if (!r && reply.status == 200) {
			struct str text = buf_view(&reply.body);

			there = true;
			if (str_find(text, str_c(mark)) < text.n)
				reply_read_id(&reply, id, sizeof(id));
		}
		reply_free(&reply);
		if (*id)
			engine_cleanup(
				e, NULL, "DELETE", "/containers/%s?force=1&v=1", id);
		if (!r && !there)
			r = stop_wait(-1, 0, clock_ms() + LATE_MS, true);
		else
			r = 1;
	} while (!r && ++round < LATE_ROUNDS);
}

/*
 * Makes the name of a temporary container. The owner is in the name and not in a label,
 * because an image would inherit the label.
 */
static int engine_make_temp_name(char name[ENGINE_OWN_MAX])
{
	uint8_t random[8];
	char hex[2 * sizeof(random) + 1];
	int r = random_bytes(random, sizeof(random));

	if (!r) {
		hex_encode(random, sizeof(random), hex);
		snprintf(name, ENGINE_OWN_MAX, ENGINE_OWN "%s.%s", hex, owner_text());
	}
	return r;
}

int engine_create(const struct engine *e, const struct buf *body, const char *name,
	const char *doing, struct buf *id)
{
	const struct engine calm = engine_copy_nosignal(e);
	char made[STATE_ID_MAX + 1] = "", own[ENGINE_OWN_MAX];
	struct reply reply;
	int r = body->err;

	if (!r && !name)
		r = engine_make_temp_name(own);
	if (r)
		return r;
	r = engine_request(&calm, &reply, "POST", buf_view(body),
		"/containers/create?name=%s", name ? name : own);
	if (r) {
		/*
		 * A container with a given name stays: the next process that needs the
		 * name removes it.
		 */
		if (!name)
			engine_undo_create(e, own, own);
	} else if (name && reply.status == 409) {
		r = 1;
	} else if (reply.status != 201) {
		r = e->silent ? ERR_TYPE : engine_fail_reply(&reply, NULL, "%s", doing);
	} else {
		reply_read_id(&reply, made, sizeof(made));
		buf_puts(id, made);
		if (!id->n || !buf_cstr(id))
			r = out_fail(ENGINE_NEXT,
				"the engine created a container, but did not return its "
				"id");
	}
	reply_free(&reply);
	return r;
}

static struct engine engine_tidying(const struct engine *e)
{
	struct engine tidying = engine_copy_nosignal(e);

	tidying.is_cleanup = true;
	return tidying;
}

/* A missing object counts as removed. */
static int engine_check_tidied(int r, const struct reply *reply)
{
	return !r && reply->status >= 400 && reply->status != 404 ? ERR_TYPE : r;
}

int engine_cleanup(const struct engine *e, struct reply *reply, const char *method,
	const char *fmt, ...)
{
	const struct engine calm = engine_tidying(e);
	struct reply own = {0};
	struct reply *to = reply ? reply : &own;
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = engine_check_tidied(
		engine_send_fmt(&calm, to, method, (struct str){0}, fmt, ap), to);
	va_end(ap);
	if (!reply)
		reply_free(&own);
	return r;
}

int engine_cleanup_at(const struct engine *e, struct reply *reply, const char *method,
	const struct target *t)
{
	const struct engine calm = engine_tidying(e);
	struct reply own = {0};
	struct reply *to = reply ? reply : &own;
	int r = engine_check_tidied(
		engine_send_request(&calm, to, method, t, (struct str){0}), to);

	if (!reply)
		reply_free(&own);
	return r;
}

void engine_read_message(const struct reply *r, struct buf *out)
{
	struct json_doc d;
	struct str text = buf_view(&r->body);
	struct str words = {0};

	if (json_doc_parse(&d, text) == 0) {
		words = json_doc_str(&d, json_get(json_doc_root(&d), "message"));
		out_clean(out, words, false);
		json_doc_free(&d);
	}
	if (!words.n) {
		text = str_trim(text, " \r\n");
		text.n = text.n < 1024 ? text.n : 1024;
		out_clean(out, text, false);
	}
	if (!out->n)
		buf_fmt(out, "status %u", r->status);
}

int engine_fail_reply(const struct reply *r, const char *next, const char *fmt, ...)
{
	struct buf words = BUF_INIT(INJECT_TEXT_MAX);
	char doing[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(doing, sizeof(doing), fmt, ap);
	va_end(ap);
	engine_read_message(r, &words);
	out_fail(next ? next : ENGINE_NEXT, "%s: %.*s", doing, STR_ARG(buf_view(&words)));
	buf_free(&words);
	return FAIL_ENVIRONMENT;
}

static int engine_read_ping(struct engine *e, const struct http_client *c)
{
	const struct http_head *h = &c->head.head;
	struct str version = {0}, builder = {0}, other;
	unsigned minor;
	int r;

	if (c->head.status != 200 ||
		http_field_find(h, c->in.p, STR("Api-Version"), &version))
		return ERR_SYNTAX;
	r = engine_choose_version(version, &minor);
	if (r == ERR_VERSION)
		return out_fail("update the engine",
			"the engine at %s is too old: it has API %.*s, and API 1.%d is "
			"required",
			e->path, STR_ARG(version), MINOR_OLDEST);
	if (r)
		return r;
	snprintf(e->prefix, sizeof(e->prefix), "/v1.%u", minor);
	e->minor = minor;
	e->podman = http_field_find(h, c->in.p, STR("Libpod-Api-Version"), &other) == 0;
	if (http_field_find(h, c->in.p, STR("Builder-Version"), &builder) == 0)
		e->buildkit = str_eq(builder, STR("2"));
	return 0;
}

static int engine_ping(struct engine *e)
{
	const struct http_client_request q = {
		.method = "GET", .target = TARGET("/_ping")};
	struct http_client c;
	int r = engine_exchange(e, &c, &q, INJECT_ENGINE_MS);

	if (!r)
		r = engine_read_ping(e, &c);
	else if (r == ERR_TLS)
		r = out_fail("check ca.pem, cert.pem and key.pem in the folder that "
			     "DOCKER_CERT_PATH names",
			"the TLS connection to the engine at %s failed: %s", e->path,
			http_client_tls_error(&c));
	http_client_close(&c);
	return r;
}

/* Podman names itself in the list of its components; the list may be null. */
static int engine_detect_podman(struct engine *e)
{
	struct reply reply;
	struct json_doc d;
	int r = engine_request(e, &reply, "GET", (struct str){0}, "/version");

	if (!r && reply.status == 200 && json_doc_parse(&d, buf_view(&reply.body)) == 0) {
		struct json_val parts = json_get(json_doc_root(&d), "Components"), part;
		int it = 0;

		if (json_next(parts, &it, NULL, &part) &&
			str_starts(
				json_doc_str(&d, json_get(part, "Name")), STR("Podman")))
			e->podman = true;
		json_doc_free(&d);
	}
	reply_free(&reply);
	if (e->podman)
		e->buildkit = false;
	return r;
}

static int engine_set_path(struct engine *e, const char *path)
{
	size_t n = strlen(path);

	if (n == 0 || n > ENGINE_PATH_MAX)
		return out_fail_usage("the path of a socket has at most 107 bytes",
			"'%s' is neither the path of a socket nor an address", path);
	memcpy(e->path, path, n + 1);
	return 0;
}

static int engine_set_host(struct engine *e, const char *host, const char *from)
{
	int r;

	if (strncmp(host, "unix://", 7) == 0)
		return engine_set_path(e, host + 7);
	if (strncmp(host, "tcp://", 6) != 0)
		return out_fail_usage("give unix:///path/of/the.sock, or tcp://HOST:PORT",
			"%s is '%s', but od-runtime connects to engines only through "
			"unix sockets and TLS",
			from, host);
	r = engine_set_path(e, host);
	return r ? r : remote_engine_open(host, &e->remote);
}

/* Selects the first usual socket that exists; Docker's if none does. */
static int engine_search_sockets(struct engine *e)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	char user[ENGINE_PATH_MAX + 1] = "";
	const char *const usual[] = {
		"/var/run/docker.sock", user, "/run/podman/podman.sock"};

	if (runtime && *runtime == '/' && strlen(runtime) < sizeof(user) - 20)
		snprintf(user, sizeof(user), "%s/podman/podman.sock", runtime);
	for (size_t i = 0; i < ARRAY_LEN(usual); i++) {
		int fd = *usual[i] ? fd_connect_unix(usual[i]) : -ENOENT;

		/* A socket that refuses us exists, and an error has to name it. */
		if (fd == -ENOENT || fd == -ECONNREFUSED)
			continue;
		if (fd >= 0)
			fd_close(&fd);
		return engine_set_path(e, usual[i]);
	}
	return engine_set_path(e, usual[0]);
}

int engine_locate(struct engine *e, const char *host)
{
	const char *env = getenv("DOCKER_HOST");

	*e = (struct engine){0};
	if (host)
		return engine_set_host(e, host, "--host");
	if (env && *env)
		return engine_set_host(e, env, "DOCKER_HOST");
	return engine_search_sockets(e);
}

int engine_negotiate(struct engine *e)
{
	int r = engine_ping(e);

	return r ? engine_fail(e, r) : engine_detect_podman(e);
}

int engine_open(struct engine *e, const char *host)
{
	int r = engine_locate(e, host);

	return r ? r : engine_negotiate(e);
}
