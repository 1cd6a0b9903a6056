#include "fs/edit.h"

#include "base/utf8.h"
#include "fs/textfile.h"
#include "limits.h"

#include <errno.h>

static const char cut_notice[] =
	"<response clipped><NOTE>Due to the max output limit, only part of this file has "
	"been shown to you. You should retry this tool after you have searched inside "
	"the file with `grep -n` in order to find the line numbers of what you are "
	"looking for.</NOTE>";

/* The first line end decides; files with several kinds are rare. */
static const char *edit_detect_line_end(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '\n')
			return "\n";
		if (s.p[i] == '\r')
			return i + 1 < s.n && s.p[i + 1] == '\n' ? "\r\n" : "\r";
	}
	return "\n";
}

int edit_open(struct edit_text *t, struct str raw)
{
	struct str text;

	*t = (struct edit_text){.raw = raw, .lines = BUF_INIT(raw.n + 1)};
	if (str_starts(raw, STR("\xef\xbb\xbf")))
		t->mark = 3;
	text = str_skip(raw, t->mark);
	t->latin1 = !utf8_is_valid(text);
	t->end = edit_detect_line_end(text);
	buf_str(&t->lines, text);
	if (t->lines.err)
		return t->lines.err;
	if (t->lines.n)
		t->lines.n = text_convert_newlines(t->lines.p, t->lines.n);
	return 0;
}

void edit_free(struct edit_text *t)
{
	buf_free(&t->lines);
}

/* The offset of line n (from 1); the end of the text if there is no such line. */
static size_t edit_find_line(struct str s, size_t n)
{
	size_t at = 0;

	for (size_t i = 1; i < n && at < s.n; i++)
		at += str_find_byte(str_skip(s, at), '\n') + 1;
	return at < s.n ? at : s.n;
}

size_t edit_count_lines(const struct edit_text *t)
{
	struct str rest = buf_view(&t->lines);
	size_t n = 0;

	for (; rest.n; n++)
		(void)str_cut(&rest, '\n');
	return n;
}

struct str edit_get_lines(const struct edit_text *t, size_t first, size_t last)
{
	struct str all = buf_view(&t->lines);
	struct str from = str_skip(all, edit_find_line(all, first));

	from.n = last < first ? 0 : edit_find_line(from, last - first + 2);
	return from;
}

void edit_show(const struct edit_text *t, struct str part, struct buf *out)
{
	if (!t->latin1) {
		buf_str(out, part);
		return;
	}
	for (size_t i = 0; i < part.n; i++) {
		char c[4];

		buf_put(out, c, utf8_encode((unsigned char)part.p[i], c));
	}
}

/* Converts UTF-8 to the encoding of the file. */
static int edit_encode_text(const struct edit_text *t, struct str text, struct buf *out)
{
	if (!t->latin1) {
		buf_str(out, text);
		return out->err;
	}
	while (text.n) {
		uint32_t c = utf8_next(&text);

		if (c > 0xff)
			return ERR_RANGE;
		buf_putc(out, (char)c);
	}
	return out->err;
}

/* --- Finding ------------------------------------------------------------------ */

struct finder {
	struct edit_found *f;
	size_t line;        /* at the current position */
	size_t listed_line; /* the last line in the list */
	size_t list;        /* entries in the list */
};

static void edit_add_match(struct finder *d, size_t at)
{
	struct edit_found *f = d->f;

	if (f->n++ == 0) {
		f->at = at;
		f->line = d->line;
	}
	if (d->listed_line == d->line || d->list > EDIT_LINES_MAX)
		return;
	if (d->list++ == EDIT_LINES_MAX)
		buf_puts(&f->lines, ", ...");
	else
		buf_fmt(&f->lines, "%s%zu", d->listed_line ? ", " : "", d->line);
	d->listed_line = d->line;
}

/* An empty text occurs before each byte and after the last one. */
static void edit_find_empty(struct finder *d, struct str all)
{
	for (size_t i = 0; i <= all.n; i++) {
		edit_add_match(d, i);
		d->line += i < all.n && all.p[i] == '\n';
	}
}

static void edit_find_text(struct finder *d, struct str all, struct str text)
{
	struct str rest = all;

	for (;;) {
		size_t at = str_find(rest, text);

		if (at == rest.n)
			return;
		d->line += str_count(str_make(rest.p, at), '\n');
		edit_add_match(d, (size_t)(rest.p - all.p) + at);
		d->line += str_count(text, '\n');
		rest = str_skip(rest, at + text.n);
	}
}

int edit_find(const struct edit_text *t, struct str text, struct edit_found *f)
{
	struct buf want = BUF_INIT(text.n + 1);
	struct finder d = {.f = f, .line = 1};
	int r;

	*f = (struct edit_found){.lines = BUF_INIT(EDIT_LINES_MAX * 24)};
	r = edit_encode_text(t, text, &want);
	if (!r && want.n)
		want.n = text_convert_newlines(want.p, want.n);
	f->length = want.n;
	if (!r && want.n)
		edit_find_text(&d, buf_view(&t->lines), buf_view(&want));
	else if (!r)
		edit_find_empty(&d, buf_view(&t->lines));
	buf_free(&want);
	/* A text that the encoding cannot represent is not in the file. */
	return r == ERR_RANGE ? 0 : r ? r : f->lines.err;
}

/* --- Changing ----------------------------------------------------------------- */

/* Converts an offset in t->lines to an offset in the file. */
static size_t edit_get_raw_offset(const struct edit_text *t, size_t at)
{
	size_t i = t->mark;

	if (t->raw.n - t->mark == t->lines.n)
		return i + at;
	for (; at && i < t->raw.n; at--)
		i += str_starts(str_skip(t->raw, i), STR("\r\n")) ? 2 : 1;
	return i;
}

/* Appends text with a line end of the file for each bare LF. */
static void edit_put_lines(const struct edit_text *t, struct str text, struct buf *out)
{
	char last = '\0';

	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] == '\n' && last != '\r')
			buf_puts(out, t->end);
		else
			buf_putc(out, text.p[i]);
		last = text.p[i];
	}
}

int edit_replace(const struct edit_text *t, size_t at, size_t length, struct str text,
	struct buf *out)
{
	struct buf bytes = BUF_INIT(text.n + 1);
	size_t from = edit_get_raw_offset(t, at);
	size_t to = edit_get_raw_offset(t, at + length);
	int r = edit_encode_text(t, text, &bytes);

	if (!r) {
		buf_str(out, str_make(t->raw.p, from));
		edit_put_lines(t, buf_view(&bytes), out);
		buf_str(out, str_skip(t->raw, to));
		r = out->err;
	}
	buf_free(&bytes);
	return r;
}

int edit_insert(const struct edit_text *t, size_t line, struct str text, struct buf *out)
{
	struct str all = buf_view(&t->lines);
	size_t at = edit_find_line(all, line + 1);
	struct buf block = BUF_INIT(text.n + 3);
	int r;

	if (at == all.n && at && all.p[at - 1] != '\n')
		buf_putc(&block, '\n');
	buf_str(&block, text);
	buf_putc(&block, '\n');
	r = block.err ? block.err : edit_replace(t, at, 0, buf_view(&block), out);
	buf_free(&block);
	return r;
}

/* --- Showing ------------------------------------------------------------------ */

static void edit_put_numbered(
	struct buf *out, struct str text, bool last, size_t *number, bool *fresh)
{
	for (;;) {
		size_t n = str_find_byte(text, '\n');

		if (*fresh)
			buf_fmt(out, "%6zu\t", (*number)++);
		buf_put(out, text.p, n);
		*fresh = n < text.n;
		if (n == text.n)
			break;
		buf_putc(out, '\n');
		text = str_skip(text, n + 1);
	}
	if (last)
		buf_putc(out, '\n');
}

void edit_put_cat(struct buf *out, struct str what, struct str text, size_t first)
{
	size_t shown = utf8_offset(text, EDIT_SHOWN_CHARS);
	bool cut = shown < text.n;
	bool fresh = true;

	buf_fmt(out, "Here's the result of running `cat -n` on %.*s:\n", STR_ARG(what));
	edit_put_numbered(out, str_make(text.p, shown), !cut, &first, &fresh);
	if (cut)
		edit_put_numbered(out, STR(cut_notice), true, &first, &fresh);
}
