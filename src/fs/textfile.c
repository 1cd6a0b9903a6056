#include "fs/textfile.h"

#include "base/utf8.h"

bool text_has_wide_bom(struct str s)
{
	/* UTF-32LE starts with the same two bytes as UTF-16LE. */
	return str_starts(s, STR("\xff\xfe")) || str_starts(s, STR("\xfe\xff")) ||
		str_starts(s, str_make("\0\0\xfe\xff", 4));
}

static bool text_is_printable(unsigned char c)
{
	return (c >= 32 && c < 127) || (c && strchr("\n\r\t\f\b", c));
}

bool text_is_binary(struct str head)
{
	size_t odd = 0, low = 0;

	if (head.n == 0 || text_has_wide_bom(head))
		return false;
	if (str_find_byte(head, '\0') < head.n)
		return true;
	if (utf8_is_valid(str_make(head.p, head.n - utf8_unfinished_length(head))))
		return false;
	if (str_find_byte(head, '\xff') < head.n)
		return true;
	for (size_t i = 0; i < head.n; i++) {
		unsigned char c = (unsigned char)head.p[i];

		odd += !text_is_printable(c);
		low += c < 127;
	}
	return (odd * 10 > head.n * 3 && low * 20 < head.n) ||
		(odd * 10 > head.n * 8 && low * 10 > head.n * 8);
}

static uint64_t text_clamp_index(int64_t v)
{
	return v < 0 ? 0 : (uint64_t)v;
}

static uint64_t text_min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

void text_scan_init(struct text_scan *s, struct line_range range)
{
	*s = (struct text_scan){.state = TEXT_FRESH, .range = range};
}

/* The line after a bounded range that lies inside the text. */
static uint64_t text_scan_stop_line(const struct text_scan *s)
{
	uint64_t start = text_clamp_index(s->range.start);
	uint64_t end = text_clamp_index(s->range.end);

	return end > start ? end : start + 1;
}

static void text_scan_begin_line(struct text_scan *s)
{
	if (s->lines == text_clamp_index(s->range.start))
		s->from = s->at;
	if (s->lines == text_scan_stop_line(s))
		s->to = s->at;
	s->last[1] = s->last[0];
	s->last[0] = s->at;
	s->lines++;
	s->state = TEXT_MID;
}

/* The length up to and including the first line end, or of all. */
static size_t text_get_line_length(struct str s)
{
	size_t n = 0;

	while (n < s.n && s.p[n] != '\n' && s.p[n] != '\r')
		n++;
	return n + (n < s.n);
}

bool text_scan_feed(struct text_scan *s, struct str piece)
{
	while (piece.n) {
		size_t n;

		if (s->state == TEXT_CR && piece.p[0] == '\n') {
			s->state = TEXT_FRESH;
			n = 1;
		} else {
			if (s->state != TEXT_MID)
				text_scan_begin_line(s);
			n = text_get_line_length(piece);
			if (piece.p[n - 1] == '\n')
				s->state = TEXT_FRESH;
			else if (piece.p[n - 1] == '\r')
				s->state = TEXT_CR;
		}
		s->at += n;
		piece = str_skip(piece, n);
	}
	/* If the line after the range has begun, start is at most count - 2. */
	return s->range.end != -1 && s->lines > text_scan_stop_line(s);
}

struct text_slice text_scan_slice(const struct text_scan *s)
{
	uint64_t start = text_clamp_index(s->range.start);
	uint64_t end = text_clamp_index(s->range.end);
	struct text_slice all = {0, s->at};

	if (s->range.end == -1)
		return (struct text_slice){start < s->lines ? s->from : s->at, s->at};
	if (s->lines < 2)
		return all;
	if (start <= s->lines - 2)
		return (struct text_slice){
			s->from, text_scan_stop_line(s) < s->lines ? s->to : s->at};
	return (struct text_slice){s->last[1], end < s->lines ? s->last[0] : s->at};
}

uint64_t text_scan_min_length(const struct text_scan *s)
{
	if (s->lines <= text_clamp_index(s->range.start))
		return 0;
	return s->at - s->from;
}

/*
 * The offset of line number line of text; the end of the text if there is no such line.
 */
static size_t text_find_line(struct str text, uint64_t line)
{
	struct text_scan s;

	text_scan_init(&s, (struct line_range){(int64_t)line, -1});
	text_scan_feed(&s, text);
	return (size_t)text_scan_slice(&s).from;
}

/* Converts a Python index into a list of count lines. */
static uint64_t text_resolve_index(int64_t i, uint64_t count)
{
	uint64_t back = 0 - (uint64_t)i;

	if (i >= 0)
		return text_min_u64((uint64_t)i, count);
	return back < count ? count - back : 0;
}

struct text_slice text_find_splice(struct str text, struct line_range range)
{
	struct text_slice cut = {0, text.n};
	struct text_scan s;

	text_scan_init(&s, (struct line_range){0, -1});
	text_scan_feed(&s, text);
	cut.from = text_find_line(text, text_resolve_index(range.start, s.lines));
	if (range.end != -1)
		cut.to = text_find_line(text, text_resolve_index(range.end, s.lines));
	return cut;
}

size_t text_convert_newlines(char *p, size_t n)
{
	size_t out = 0;

	for (size_t i = 0; i < n; i++) {
		if (p[i] != '\r')
			p[out++] = p[i];
		else if (i + 1 == n || p[i + 1] != '\n')
			p[out++] = '\n';
	}
	return out;
}
