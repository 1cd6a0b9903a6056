#include "inject/sandbox/sandbox_usage.h"

#include "limits.h"

#include <errno.h>

enum {
	USAGE_AT_ONCE = 32, /* connections */
	USAGE_SERVER_MS = 1000,
	USAGE_ENGINE_MS = 3000, /* some engines collect figures once a second */
	USAGE_NS = 1000,        /* nanoseconds in a microsecond */
};

/* A request that was sent. */
struct usage_call {
	struct http_client call;
	struct sandbox_info *info;
};

/* A source of the figures: the server or the engine. */
struct usage_source {
	bool (*has)(const struct engine *e, const struct sandbox_info *info);
	/* Sends the request; the caller closes u->call in any case. */
	int (*begin)(const struct engine *e, struct usage_call *u);
	void (*read)(struct json_val root, struct sandbox_info *info);
};

/* --- The server of the sandbox ------------------------------------------------------ */

static bool sandbox_usage_has_server(
	const struct engine *e, const struct sandbox_info *info)
{
	return info->port && !info->paused && !e->remote && (!info->tls || info->pinned);
}

static int sandbox_usage_begin_server(const struct engine *e, struct usage_call *u)
{
	const struct http_client_request q = {
		.method = "GET", .target = TARGET("/server_info")};
	int fd = http_client_connect_tcp(u->info->port, USAGE_SERVER_MS), r = 0;

	(void)e;
	if (fd >= 0 && u->info->tls)
		r = http_client_begin_pinned(&u->call, fd, USAGE_SERVER_MS, u->info->pin);
	else
		http_client_begin(&u->call, fd < 0 ? -1 : fd, USAGE_SERVER_MS, false);
	if (r)
		http_client_begin(&u->call, -1, 0, false);
	r = fd < 0 ? fd : r;
	return r ? r : http_client_start(&u->call, &q);
}

static void sandbox_usage_read_server(struct json_val root, struct sandbox_info *info)
{
	struct json_val used = json_get(json_get(root, "resources"), "sandbox");
	struct json_val cpu = json_get(used, "cpu_usec");

	info->measured = json_type(cpu) == JSON_NUMBER &&
		json_type(json_get(used, "memory")) == JSON_NUMBER;
	info->cpu_ns = json_doc_uint(cpu, INT64_MAX / USAGE_NS) * USAGE_NS;
	info->memory = json_doc_uint(json_get(used, "memory"), INT64_MAX);
}

/* --- The engine --------------------------------------------------------------------- */

static bool sandbox_usage_has_engine(
	const struct engine *e, const struct sandbox_info *info)
{
	(void)e;
	return !info->measured;
}

static int sandbox_usage_begin_engine(const struct engine *e, struct usage_call *u)
{
	struct target target;
	const struct http_client_request q = {.method = "GET", .target = &target};
	int r;

	target_init(&target, ENGINE_TARGET_MAX);
	target_add(&target, "/containers/%.*s/stats?stream=0&one-shot=1",
		STR_ARG(u->info->id));
	r = engine_begin(e, &u->call, &q, USAGE_ENGINE_MS);
	target_free(&target);
	return r;
}

/* Pages of files that the kernel can drop at once do not count, as in docker stats. */
static void sandbox_usage_read_engine(struct json_val root, struct sandbox_info *info)
{
	struct json_val memory = json_get(root, "memory_stats");
	struct json_val stats = json_get(memory, "stats");
	struct json_val cpu = json_get(json_get(root, "cpu_stats"), "cpu_usage");
	uint64_t used = json_doc_uint(json_get(memory, "usage"), INT64_MAX);
	uint64_t old = json_doc_uint(json_get(stats, "total_inactive_file"), INT64_MAX);

	if (!old)
		old = json_doc_uint(json_get(stats, "inactive_file"), INT64_MAX);
	info->measured = json_type(json_get(cpu, "total_usage")) == JSON_NUMBER;
	info->cpu_ns = json_doc_uint(json_get(cpu, "total_usage"), INT64_MAX);
	info->memory = old < used ? used - old : used;
}

/* --- Measurement -------------------------------------------------------------------- */

static const struct usage_source usage_servers = {
	sandbox_usage_has_server, sandbox_usage_begin_server, sandbox_usage_read_server};
static const struct usage_source usage_engine = {
	sandbox_usage_has_engine, sandbox_usage_begin_engine, sandbox_usage_read_engine};

/* r: the result of begin. */
static int sandbox_usage_end(const struct usage_source *from, struct usage_call *u, int r)
{
	struct buf text = BUF_INIT(INJECT_FILE_MAX);
	struct json_doc d;

	if (!r)
		r = http_client_finish(&u->call);
	if (!r && u->call.head.status == 200)
		r = http_client_read_all(&u->call, &text);
	if (!r && text.n && json_doc_parse(&d, buf_view(&text)) == 0) {
		from->read(json_doc_root(&d), u->info);
		json_doc_free(&d);
	}
	http_client_close(&u->call);
	buf_free(&text);
	return r;
}

/* Measures the next running sandboxes from *at on. */
static int sandbox_usage_measure_batch(const struct usage_source *from,
	const struct engine *e, struct sandbox_info *infos, size_t n, size_t *at)
{
	struct usage_call some[USAGE_AT_ONCE];
	int begun[USAGE_AT_ONCE], r = 0;
	size_t some_n = 0;

	for (; *at < n && some_n < USAGE_AT_ONCE; ++*at) {
		if (!infos[*at].running || !from->has(e, &infos[*at]))
			continue;
		some[some_n].info = &infos[*at];
		begun[some_n] = from->begin(e, &some[some_n]);
		some_n++;
	}
	for (size_t i = 0; i < some_n; i++)
		if (sandbox_usage_end(from, &some[i], begun[i]) == -EINTR)
			r = -EINTR;
	return r;
}

int sandbox_usage_measure(
	const struct engine *e, struct sandbox_info *infos, size_t n, bool thorough)
{
	int r = 0;

	for (size_t at = 0; !r && at < n;)
		r = sandbox_usage_measure_batch(&usage_servers, e, infos, n, &at);
	for (size_t at = 0; !r && thorough && at < n;)
		r = sandbox_usage_measure_batch(&usage_engine, e, infos, n, &at);
	return r;
}
