#include "inject/sandbox/copy/copy.h"

#include "inject/console/out.h"
#include "limits.h"

#include <errno.h>
#include <stdio.h>

enum { COPY_ROUNDS = INJECT_STREAM_MS / INJECT_ENGINE_MS };

static struct str copy_trim_path(struct str path)
{
	if (copy_is_content_path(path))
		path.n -= 2;
	while (path.n && path.p[path.n - 1] == '/')
		path.n--;
	return path;
}

bool copy_is_content_path(struct str path)
{
	return str_ends(path, STR("/.")) || str_eq(path, STR("."));
}

struct str copy_base(struct str path)
{
	struct str all = copy_trim_path(path);
	size_t at = all.n;

	while (at && all.p[at - 1] != '/')
		at--;
	return str_skip(all, at);
}

struct str copy_parent(struct str path)
{
	struct str all = copy_trim_path(path);
	struct str base = copy_base(path);

	all.n -= base.n;
	if (!all.n)
		return STR(".");
	while (all.n > 1 && all.p[all.n - 1] == '/')
		all.n--;
	return all;
}

int copy_fail(const struct copy *c, int r)
{
	return c->sandbox->running ? sandbox_fail(c->sandbox, r)
				   : engine_fail(c->engine, r);
}

static bool copy_peer_answers(const struct copy *c)
{
	struct engine quiet;
	struct reply reply;
	bool answers;

	if (c->sandbox->running)
		return sandbox_check_alive(c->sandbox, INJECT_ALIVE_MS) == 0;
	quiet = engine_copy_silent(c->engine);
	quiet.idle_ms = INJECT_ALIVE_MS;
	answers = engine_request(&quiet, &reply, "GET", STR(""), "/_ping") == 0 &&
		reply.status == 200;
	reply_free(&reply);
	return answers;
}

/* Whether to wait again after the error r. */
static bool copy_waits(
	const struct copy *c, struct http_client *call, int r, unsigned *rounds)
{
	if ((r != -ETIMEDOUT && r != -ETIME) || ++*rounds >= COPY_ROUNDS ||
		!copy_peer_answers(c))
		return false;
	http_client_set_limits(call, INJECT_ENGINE_MS, INJECT_ENGINE_MS);
	return true;
}

int copy_read(const struct copy *c, struct http_client *call, unsigned *rounds,
	struct str *piece)
{
	int r;

	do
		r = http_client_read(call, piece);
	while (r < 0 && copy_waits(c, call, r, rounds));
	return r;
}

int copy_finish(const struct copy *c, struct http_client *call)
{
	unsigned rounds = 0;
	int r;

	http_client_set_limits(call, INJECT_ENGINE_MS, INJECT_ENGINE_MS);
	do
		r = http_client_finish(call);
	while (r < 0 && copy_waits(c, call, r, &rounds));
	return r;
}

int copy_begin(const struct copy *c, const char *method, struct str path,
	struct http_client *call)
{
	struct target target;
	bool puts = strcmp(method, "PUT") == 0;
	const struct http_client_request q = {
		.method = method,
		.target = &target,
		.type = puts ? "application/x-tar" : NULL,
		.chunked = puts,
	};
	int r;

	target_init(&target, ENGINE_TARGET_MAX);
	if (c->sandbox->running)
		target_add(&target, "/v1/files/tar?any_link=1&path=%.*s", STR_ARG(path));
	else
		target_add(&target, "/containers/%s/archive?path=%.*s",
			c->sandbox->state.id, STR_ARG(path));
	http_client_begin(call, -1, 0, false);
	if (target_error(&target))
		r = out_fail("a path has at most 4,095 bytes", "the path is too long");
	else if (c->sandbox->running)
		r = sandbox_start(c->sandbox, call, &q, INJECT_STREAM_MS);
	else
		r = engine_start(c->engine, call, &q, INJECT_STREAM_MS);
	target_free(&target);
	return r;
}

int copy_fail_status(const struct copy *c, struct http_client *call)
{
	struct reply reply;
	int r;

	reply_init(&reply);
	reply.status = call->head.status;
	r = http_client_read_all(call, &reply.body);
	if (r)
		r = copy_fail(c, r);
	else if (c->sandbox->running)
		r = sandbox_fail_reply(c->sandbox, &reply);
	else
		r = engine_fail_reply(&reply, NULL, "copying %s", c->remote);
	reply_free(&reply);
	return r;
}

/*
 * Requests the target, which it takes over, from the server or the engine. Reads only
 * the head of the answer.
 */
static int copy_ask_head_take(
	const struct copy *c, const char *method, struct target *target, unsigned *status)
{
	const struct http_client_request q = {.method = method, .target = target};
	struct http_client call;
	int r;

	http_client_begin(&call, -1, 0, false);
	if (target_error(target))
		r = out_fail("a path has at most 4,095 bytes", "the path is too long");
	else if (c->sandbox->running)
		r = sandbox_start(c->sandbox, &call, &q, INJECT_ENGINE_MS);
	else
		r = engine_start(c->engine, &call, &q, INJECT_ENGINE_MS);
	if (!r) {
		r = http_client_finish(&call);
		r = r ? copy_fail(c, r) : 0;
	}
	if (!r)
		*status = call.head.status;
	http_client_close(&call);
	target_free(target);
	return r;
}

static int copy_ask_engine(
	const struct copy *c, struct str path, bool folder, unsigned *status)
{
	struct target t;

	target_init(&t, ENGINE_TARGET_MAX);
	target_add(&t, "/containers/%s/archive?path=%.*s", c->sandbox->state.id,
		STR_ARG(path));
	target_add(&t, folder ? "%%2F." : "");
	return copy_ask_head_take(c, "HEAD", &t, status);
}

/* Finds the kind by the engine, which finds nothing below a path that is no folder. */
static int copy_find_stopped_kind(
	const struct copy *c, struct str path, enum copy_kind *kind)
{
	unsigned status = 0;
	int r = copy_ask_engine(c, path, true, &status);

	if (!r && status == 200) {
		*kind = COPY_FOLDER;
		return 0;
	}
	if (!r)
		r = copy_ask_engine(c, path, false, &status);
	if (!r)
		*kind = status == 200 ? COPY_FILE : COPY_ABSENT;
	return r;
}

/*
 * Finds the kind by GET /v1/files, which follows a link. Other errors, such as that of a
 * file without the right to read it, count as a file.
 */
static int copy_find_running_kind(
	const struct copy *c, struct str path, enum copy_kind *kind)
{
	struct target t;
	unsigned status = 0;
	int r;

	target_init(&t, ENGINE_TARGET_MAX);
	target_add(&t, "/v1/files?path=%.*s", STR_ARG(path));
	r = copy_ask_head_take(c, "GET", &t, &status);
	if (!r)
		*kind = status == 409   ? COPY_FOLDER
			: status == 404 ? COPY_ABSENT
					: COPY_FILE;
	return r;
}

int copy_find_kind(const struct copy *c, struct str path, enum copy_kind *kind)
{
	struct str bare = copy_trim_path(path);

	if (!bare.n) {
		*kind = COPY_FOLDER;
		return 0;
	}
	return c->sandbox->running ? copy_find_running_kind(c, bare, kind)
				   : copy_find_stopped_kind(c, bare, kind);
}
