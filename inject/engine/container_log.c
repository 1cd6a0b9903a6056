#include "inject/engine/container_log.h"

#include "base/clock.h"
#include "inject/console/out.h"
#include "inject/http/stream.h"
#include "limits.h"

enum { INJECT_LOG_KEEP = 8192 }; /* last log bytes of a sandbox that died */

/* The time for which a container that writes without a pause is read. */
enum { SHOWN_LINES = 12, GATHER_MS = 3000 };

int container_log_open(const struct engine *e, const char *id, struct http_client *c,
	const char *fmt, ...)
{
	struct target target;
	const struct http_client_request q = {.method = "GET", .target = &target};
	va_list ap;
	int r;

	target_init(&target, ENGINE_TARGET_MAX);
	target_add(&target, "/containers/%s/logs?stderr=1", id);
	va_start(ap, fmt);
	target_add_list(&target, fmt, ap);
	va_end(ap);
	http_client_begin(c, -1, 0, true);
	r = engine_try_stream(e, c, &q, INJECT_ENGINE_MS);
	target_free(&target);
	return r;
}

int container_log_copy(struct http_client *c)
{
	struct frames f;
	struct str in, piece;
	int fd, r, s;

	frames_init(&f);
	while ((r = http_client_read(c, &in)) == 1) {
		while ((s = frames_next(&f, &in, &fd, &piece)) == 0) {
			s = out_write_text(fd, piece);
			if (s)
				return s;
		}
		if (s < 0)
			return s;
	}
	return r ? r : frames_close(&f);
}

/* Keeps the end of the output; an error ends the reading and is not reported. */
static void container_log_read_tail(struct http_client *c, struct buf *kept)
{
	uint64_t until = clock_ms() + GATHER_MS;
	struct frames f;
	struct str in, piece;
	int fd;

	frames_init(&f);
	while (clock_ms() < until && http_client_read(c, &in) == 1) {
		while (frames_next(&f, &in, &fd, &piece) == 0) {
			if (piece.n > INJECT_LOG_KEEP)
				piece = str_skip(piece, piece.n - INJECT_LOG_KEEP);
			buf_str(kept, piece);
			if (kept->n > INJECT_LOG_KEEP)
				buf_consume(kept, kept->n - INJECT_LOG_KEEP);
		}
	}
}

bool container_log_find(
	struct http_client *c, uint32_t idle_ms, struct str mark, char *out, size_t n)
{
	struct buf text = BUF_INIT(INJECT_PIECE);
	const size_t kept = mark.n + n - 1;
	struct frames f;
	struct str in, piece;
	int fd;
	bool found = false;

	http_client_set_limits(c, idle_ms, idle_ms);
	frames_init(&f);
	while (!found && !text.err && http_client_read(c, &in) == 1) {
		while (frames_next(&f, &in, &fd, &piece) == 0) {
			struct str all, rest;

			buf_str(&text, piece);
			all = buf_view(&text);
			rest = str_skip(all, str_find(all, mark));
			found = rest.n >= mark.n + n;
			if (found) {
				memcpy(out, rest.p + mark.n, n);
				break;
			}
			/* An incomplete mark begins there. */
			if (text.n > kept)
				buf_consume(&text, text.n - kept);
		}
	}
	buf_free(&text);
	return found;
}

static struct str container_log_last_lines(struct str text, unsigned lines)
{
	size_t at = text.n;

	while (at > 0 && lines) {
		at--;
		if (text.p[at] == '\n' && --lines == 0)
			return str_skip(text, at + 1);
	}
	return text;
}

bool container_log_show(struct http_client *c, uint32_t idle_ms)
{
	struct buf kept = BUF_INIT(2 * INJECT_LOG_KEEP);
	struct str rest;
	bool format;

	http_client_set_limits(c, idle_ms, GATHER_MS);
	container_log_read_tail(c, &kept);
	rest = container_log_last_lines(str_trim(buf_view(&kept), "\r\n"), SHOWN_LINES);
	format = str_find(rest, STR("exec format error")) < rest.n;
	while (rest.n) {
		struct str line = str_trim(str_cut(&rest, '\n'), "\r");

		out_note("  | %.*s", STR_ARG(line));
	}
	buf_free(&kept);
	return format;
}
