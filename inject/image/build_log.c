#include "inject/image/build_log.h"

#include "base/b64.h"
#include "inject/console/out.h"
#include "inject/image/build_trace.h"
#include "limits.h"

#include <unistd.h>

/*
 * The number of lines that explain a failure, and their bytes, as a line may have any
 * length.
 */
enum { BUILD_LOG_LINES = 20, BUILD_LOG_KEEP = 16 << 10, BUILD_LOG_LINE_MAX = 4096 };

void build_log_init(struct build_log *l)
{
	l->shown = isatty(STDERR_FILENO);
	buf_init(&l->part, BUILD_LOG_LINE_MAX);
	buf_init(&l->lines, BUILD_LOG_KEEP + BUILD_LOG_LINE_MAX + 1);
}

void build_log_free(struct build_log *l)
{
	buf_free(&l->part);
	buf_free(&l->lines);
}

/* Programs redraw a progress bar after each CR: returns the text after the last CR. */
static struct str build_log_last_draft(struct str line)
{
	line = str_trim(line, "\r");
	for (size_t i = line.n; i > 0; i--)
		if (line.p[i - 1] == '\r')
			return str_skip(line, i);
	return line;
}

/* Appends s without control sequences (ECMA-48), with which builders colour errors. */
static void build_log_put_plain(struct buf *out, struct str s)
{
	while (s.n) {
		size_t n = str_find(s, STR("\x1b["));

		buf_str(out, str_make(s.p, n));
		s = str_skip(s, n + 2);
		while (s.n && (unsigned char)*s.p < '@')
			s = str_skip(s, 1);
		s = str_skip(s, 1);
	}
}

static void build_log_take_line(struct build_log *l, struct str line)
{
	size_t from = l->lines.n;

	build_log_put_plain(&l->lines, build_log_last_draft(line));
	if (l->lines.n == from)
		return;
	if (l->shown) {
		out_note("  | %.*s", STR_ARG(str_skip(buf_view(&l->lines), from)));
		buf_reset(&l->lines);
		return;
	}
	buf_putc(&l->lines, '\n');
	if (l->lines.n > BUILD_LOG_KEEP)
		buf_consume(&l->lines, l->lines.n - BUILD_LOG_KEEP);
}

static void build_log_end_line(struct build_log *l)
{
	build_log_take_line(l, buf_view(&l->part));
	buf_reset(&l->part);
}

/* A line that is too long is handled in parts. */
void build_log_append(struct build_log *l, struct str text)
{
	while (text.n) {
		size_t n = str_find_byte(text, '\n'),
		       space = BUILD_LOG_LINE_MAX - l->part.n;
		bool ends = n < text.n && n <= space;

		n = n < space ? n : space;
		buf_str(&l->part, str_make(text.p, n));
		text = str_skip(text, n + ends);
		if (ends || n == space)
			build_log_end_line(l);
	}
}

void build_log_append_trace(struct build_log *l, struct str trace)
{
	struct buf message = BUF_INIT(INJECT_LINE_MAX);
	struct str rest, text;

	if (b64_decode(&message, trace) == 0) {
		rest = buf_view(&message);
		while (build_trace_next(&rest, &text) == 0)
			build_log_append(l, text);
	}
	buf_free(&message);
}

void build_log_print_end(struct build_log *l)
{
	struct str rest;
	size_t lines = 0, at;

	build_log_end_line(l);
	rest = buf_view(&l->lines);
	for (at = rest.n; at > 0; at--)
		if (rest.p[at - 1] == '\n' && lines++ == BUILD_LOG_LINES)
			break;
	rest = str_skip(rest, at);
	while (rest.n) {
		struct str line = str_cut(&rest, '\n');

		out_note("  | %.*s", STR_ARG(line));
	}
}
