#include "inject/image/pull.h"

#include "base/lines.h"
#include "inject/console/out.h"
#include "inject/engine/bar.h"
#include "inject/names/ref.h"
#include "inject/registry/login.h"
#include "limits.h"

#include <errno.h>
#include <stdio.h>

enum { INJECT_PULL_MS = 86400000 }; /* a whole build or pull; 20 GB at 250 KB/s */

enum { DOING_MAX = 512 };

#define NEXT_PULL \
	"check the name, the network of the engine's machine, and, for a private " \
	"image, docker login; without a network bring the image with docker load (a " \
	"file of docker save, or of od-runtime build --output archive:FILE), and leave " \
	"the registry alone with --pull never"

struct reading {
	struct bar bar;
	struct build_log *log; /* may be NULL */
	const char *next;      /* the next step for an error */
	struct lines lines;
	struct arena arena;
	bool failed;
};

static int pull_on_line(struct reading *rd, struct str line)
{
	struct progress p;
	int r;

	arena_reset(&rd->arena);
	r = progress_read(line, &rd->arena, &p);
	if (r)
		return r;
	if (p.kind == PROGRESS_ERROR) {
		struct str words = str_trim(p.text, " \r\n");

		rd->failed = true;
		if (rd->log)
			build_log_print_end(rd->log);
		out_fail(rd->next, "%s: %.*s", rd->bar.doing,
			STR_ARG(words.n ? words : STR("an error without a message")));
		return 0;
	}
	if (rd->log && p.kind == PROGRESS_TEXT)
		build_log_append(rd->log, p.text);
	if (rd->log && p.kind == PROGRESS_TRACE)
		build_log_append_trace(rd->log, p.text);
	/* Shown lines replace the bar. */
	if (p.kind == PROGRESS_TEXT && !(rd->log && rd->log->shown))
		bar_update(&rd->bar, &p);
	return 0;
}

static int pull_read_stream(struct reading *rd, struct http_client *c)
{
	struct str piece, line;
	int r, s = 1;

	while ((r = http_client_read(c, &piece)) == 1) {
		while ((s = lines_next(&rd->lines, &piece, &line)) == 0) {
			s = pull_on_line(rd, line);
			if (s)
				return s;
		}
		if (s < 0)
			return s;
	}
	if (r)
		return r;
	lines_rest(&rd->lines, &line);
	return line.n ? pull_on_line(rd, line) : 0;
}

static int pull_fail_status(struct http_client *c, const char *doing, const char *next)
{
	struct reply reply;
	int r;

	reply_init(&reply);
	reply.status = c->head.status;
	r = http_client_read_all(c, &reply.body);
	/* An incomplete message of the engine is better than none. */
	if (r != -EINTR)
		r = engine_fail_reply(&reply, next, "%s", doing);
	reply_free(&reply);
	return r;
}

int pull_read_lines(const struct engine *e, const struct http_client_request *q,
	const char *doing, const char *next, struct build_log *log)
{
	struct reading rd = {.bar = {.doing = doing}, .next = next, .log = log};
	struct http_client c;
	int r;

	lines_init(&rd.lines, INJECT_LINE_MAX);
	arena_init(&rd.arena, INJECT_ARENA_MAX);
	r = engine_stream(e, &c, q, INJECT_STREAM_MS);
	http_client_set_limits(&c, INJECT_STREAM_MS, INJECT_PULL_MS);
	if (!r && c.head.status != 200)
		r = pull_fail_status(&c, doing, next);
	else if (!r)
		r = pull_read_stream(&rd, &c);
	http_client_close(&c);
	lines_free(&rd.lines);
	arena_reset(&rd.arena);
	out_step_end();
	/* The engine's message explains more than the error of the stream. */
	if (rd.failed && r != -EINTR)
		return FAIL_ENVIRONMENT;
	return r ? engine_fail(e, r) : 0;
}

/* The engine stores no login: each pull sends it. */
static int pull_write_login(struct str registry, struct buf *headers)
{
	struct login l = {0};
	struct arena a;
	int r;

	arena_init(&a, REGISTRY_MEMORY_MAX);
	r = login_find(registry, &a, &l);
	if (!r && (l.secret.n || l.identity.n)) {
		buf_puts(headers, "X-Registry-Auth: ");
		login_write_engine_header(&l, registry, headers);
		buf_puts(headers, "\r\n");
	}
	arena_wipe(&a);
	return r;
}

int pull_image(const struct engine *e, const char *name, const char *platform)
{
	struct buf headers = BUF_SECRET(HTTP_HEAD_MAX);
	struct target target;
	struct http_client_request q = {.method = "POST", .target = &target};
	char doing[DOING_MAX];
	const char *why;
	struct str tag;
	struct ref ref;
	int r = ref_parse(&ref, str_c(name), &why);

	if (!r && ref.is_id)
		r = out_fail("name an image of a registry, such as debian:12",
			"an image id cannot be pulled: %s", name);
	if (r)
		return r;
	/* Without a tag the engine would fetch all tags. */
	tag = ref.digest.n ? ref.digest : ref.tag.n ? ref.tag : STR("latest");
	target_init(&target, ENGINE_TARGET_MAX);
	if (ref.domain.n)
		target_add(&target, "/images/create?fromImage=%.*s%%2F%.*s&tag=%.*s",
			STR_ARG(ref.domain), STR_ARG(ref.path), STR_ARG(tag));
	else
		target_add(&target, "/images/create?fromImage=%.*s&tag=%.*s",
			STR_ARG(ref.path), STR_ARG(tag));
	if (platform)
		target_add(&target, "&platform=%s", platform);
	r = pull_write_login(ref.domain.n ? ref.domain : STR("docker.io"), &headers);
	if (!r && headers.n)
		q.headers = buf_cstr(&headers);
	if (!r)
		r = headers.err;
	snprintf(doing, sizeof(doing), "pulling %s", name);
	if (!r)
		r = pull_read_lines(e, &q, doing, NEXT_PULL, NULL);
	buf_free(&headers);
	target_free(&target);
	return r;
}
