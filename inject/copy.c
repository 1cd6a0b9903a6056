#include "inject/copy.h"

#include "inject/out.h"
#include "limits.h"

#include <stdio.h>

static struct str trim_path(struct str path)
{
	if (copy_wants_content(path))
		path.n -= 2;
	while (path.n && path.p[path.n - 1] == '/')
		path.n--;
	return path;
}

bool copy_wants_content(struct str path)
{
	return str_ends(path, STR("/.")) || str_eq(path, STR("."));
}

struct str copy_base(struct str path)
{
	struct str all = trim_path(path);
	size_t at = all.n;

	while (at && all.p[at - 1] != '/')
		at--;
	return str_skip(all, at);
}

struct str copy_parent(struct str path)
{
	struct str all = trim_path(path);
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

int copy_begin(
	const struct copy *c, const char *method, struct str path, struct call *call)
{
	struct buf target = BUF_INIT(ENGINE_TARGET_MAX);
	bool puts = strcmp(method, "PUT") == 0;
	struct call_request q = {
		.method = method,
		.type = puts ? "application/x-tar" : NULL,
		.chunked = puts,
	};
	int r;

	if (c->sandbox->running)
		buf_puts(&target, "/v1/files/tar?any_link=1&path=");
	else
		buf_fmt(&target, "/containers/%s/archive?path=", c->sandbox->state.id);
	buf_percent(&target, path, "");
	q.target = buf_cstr(&target);
	call_begin(call, -1, 0, false);
	if (!q.target)
		r = out_fail(NULL, "the path is too long");
	else if (c->sandbox->running)
		r = sandbox_start(c->sandbox, call, &q, INJECT_STREAM_MS);
	else
		r = engine_start(c->engine, call, &q, INJECT_STREAM_MS);
	buf_free(&target);
	return r;
}

int copy_refused(const struct copy *c, struct call *call)
{
	struct reply reply;
	int r;

	reply_init(&reply);
	reply.status = call->head.status;
	r = call_collect(call, &reply.body);
	if (r)
		r = copy_fail(c, r);
	else if (c->sandbox->running)
		r = sandbox_refused(c->sandbox, &reply);
	else
		r = engine_refused(&reply, NULL, "copying %s", c->remote);
	reply_free(&reply);
	return r;
}

/* Asks the server or the engine about path, for the head of its answer alone. */
static int ask_head(const struct copy *c, const char *method, const char *before,
	struct str path, const char *behind, unsigned *status)
{
	struct buf target = BUF_INIT(ENGINE_TARGET_MAX);
	struct call_request q = {.method = method};
	struct call call;
	int r;

	buf_puts(&target, before);
	buf_percent(&target, path, "");
	buf_puts(&target, behind);
	q.target = buf_cstr(&target);
	call_begin(&call, -1, 0, false);
	if (!q.target)
		r = out_fail(NULL, "the path is too long");
	else if (c->sandbox->running)
		r = sandbox_start(c->sandbox, &call, &q, INJECT_ENGINE_MS);
	else
		r = engine_start(c->engine, &call, &q, INJECT_ENGINE_MS);
	if (!r) {
		r = call_finish(&call);
		r = r ? copy_fail(c, r) : 0;
	}
	if (!r)
		*status = call.head.status;
	call_close(&call);
	buf_free(&target);
	return r;
}

/* The engine finds nothing below what is no folder. */
static int look_stopped(const struct copy *c, struct str path, enum copy_kind *kind)
{
	char before[256];
	unsigned status = 0;
	int r;

	snprintf(before, sizeof(before),
		"/containers/%s/archive?path=", c->sandbox->state.id);
	r = ask_head(c, "HEAD", before, path, "%2F.", &status);
	if (!r && status == 200) {
		*kind = COPY_FOLDER;
		return 0;
	}
	if (!r)
		r = ask_head(c, "HEAD", before, path, "", &status);
	if (!r)
		*kind = status == 200 ? COPY_FILE : COPY_ABSENT;
	return r;
}

/* The server does not look through a link, but it tells what it cannot read. */
static int look_running(const struct copy *c, struct str path, enum copy_kind *kind)
{
	unsigned status = 0;
	int r = ask_head(c, "GET", "/v1/files?path=", path, "", &status);

	if (!r)
		*kind = status == 409   ? COPY_FOLDER
			: status == 404 ? COPY_ABSENT
					: COPY_FILE;
	return r;
}

int copy_look(const struct copy *c, struct str path, enum copy_kind *kind)
{
	struct str bare = trim_path(path);

	if (!bare.n) {
		*kind = COPY_FOLDER;
		return 0;
	}
	return c->sandbox->running ? look_running(c, bare, kind)
				   : look_stopped(c, bare, kind);
}
