#include "base/utf8.h"
#include "fs/textfile.h"
#include "tests/tap.h"

#include <stdlib.h>

/* The contract's arithmetic, in its own words, over the lines of a text. */
enum { LINES = 8 };

static size_t cut_lines(struct str text, size_t begin[LINES + 1])
{
	size_t n = 0, at = 0;

	begin[0] = 0;
	while (at < text.n) {
		if (text.p[at] == '\r' && at + 1 < text.n && text.p[at + 1] == '\n')
			at++;
		at++;
		if (at == text.n || text.p[at - 1] == '\n' || text.p[at - 1] == '\r')
			begin[++n] = at;
	}
	return n;
}

static int64_t clamp(int64_t v, int64_t low, int64_t high)
{
	return v < low ? low : v > high ? high : v;
}

static struct text_slice model_read(struct str text, struct line_range r)
{
	size_t begin[LINES + 1];
	int64_t n = (int64_t)cut_lines(text, begin);
	int64_t start = clamp(r.start, 0, n);
	int64_t first, end;

	if (r.end == -1)
		return (struct text_slice){begin[start], text.n};
	end = clamp(r.end, 0, n);
	first = clamp(n - 2 < start ? n - 2 : start, 0, n);
	end = clamp(first + 1 > end ? first + 1 : end, 0, n);
	return (struct text_slice){begin[first], begin[end]};
}

static size_t python(int64_t i, int64_t n)
{
	return (size_t)clamp(i < 0 ? i + n : i, 0, n);
}

static struct text_slice model_write(struct str text, struct line_range r)
{
	size_t begin[LINES + 1];
	int64_t n = (int64_t)cut_lines(text, begin);
	struct text_slice s = {begin[python(r.start, n)], text.n};

	if (r.end != -1)
		s.to = begin[python(r.end, n)];
	return s;
}

static bool same(struct text_slice a, struct text_slice b)
{
	return a.from == b.from && a.to == b.to;
}

static bool check_split(
	struct str text, struct line_range r, struct text_slice want, size_t at)
{
	struct text_scan s;

	text_scan_init(&s, r);
	if (!text_scan_feed(&s, str_make(text.p, at)))
		text_scan_feed(&s, str_skip(text, at));
	return same(text_scan_slice(&s), want);
}

/* Stops at the first byte that decides, as a reader of a long file does. */
static bool check_bytes(struct str text, struct line_range r, struct text_slice want)
{
	struct text_scan s;

	text_scan_init(&s, r);
	for (size_t i = 0; i < text.n; i++) {
		if (text_scan_feed(&s, str_make(text.p + i, 1)))
			break;
		if (text_scan_min_length(&s) > want.to - want.from)
			return false;
	}
	return same(text_scan_slice(&s), want);
}

static void check_ranges(struct str text, int number)
{
	bool whole = true, split = true, bytes = true, write = true;

	for (int64_t start = -4; start < 7; start++)
		for (int64_t end = -5; end < 7; end++) {
			struct line_range r = {start, end};
			struct text_slice want = model_read(text, r);

			whole &= check_split(text, r, want, text.n);
			bytes &= check_bytes(text, r, want);
			for (size_t at = 0; at < text.n; at++)
				split &= check_split(text, r, want, at);
			write &= same(text_find_splice(text, r), model_write(text, r));
		}
	ok(whole, "read ranges of text %d", number);
	ok(split, "the same split in two");
	ok(bytes, "the same byte by byte");
	ok(write, "write ranges of text %d", number);
}

static void check_examples(void)
{
	struct str ten = STR("0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n");
	struct text_scan s;

	text_scan_init(&s, (struct line_range){9, 10});
	text_scan_feed(&s, ten);
	ok(same(text_scan_slice(&s), (struct text_slice){16, 20}),
		"(9, 10) of ten lines is the last two");
	text_scan_init(&s, (struct line_range){INT64_MAX, INT64_MAX});
	text_scan_feed(&s, ten);
	ok(same(text_scan_slice(&s), (struct text_slice){16, 20}), "the largest numbers");
	text_scan_init(&s, (struct line_range){INT64_MIN, INT64_MIN});
	text_scan_feed(&s, ten);
	ok(same(text_scan_slice(&s), (struct text_slice){0, 2}), "the smallest numbers");
	ok(same(text_find_splice(ten, (struct line_range){INT64_MIN, INT64_MIN}),
		   (struct text_slice){0, 0}),
		"the smallest numbers for writing");
	ok(same(text_find_splice(ten, (struct line_range){INT64_MAX, INT64_MAX}),
		   (struct text_slice){20, 20}),
		"the largest numbers for writing");
	ok(same(text_find_splice(ten, (struct line_range){5, 2}),
		   (struct text_slice){10, 4}),
		"a range turned round keeps lines twice");
}

struct binary_row {
	const char *name;
	struct str head;
	bool binary;
};

#define ROW(name, lit, binary) \
	{ \
		name, {lit, sizeof(lit) - 1}, binary \
	}
#define FIVE(x) x x x x x

static const struct binary_row binary_rows[] = {
	ROW("nothing", "", false),
	ROW("ASCII", "hello\n\t\f\b\r", false),
	ROW("UTF-8", "gr\xc3\xbc\xc3\x9f", false),
	ROW("pure CJK", FIVE("\xe6\x97\xa5\xe6\x9c\xac"), false),
	ROW("CJK cut after one byte", FIVE("\xe6\x97\xa5") "\xe6", false),
	ROW("CJK cut after two bytes", FIVE("\xe6\x97\xa5") "\xe6\x9c", false),
	ROW("NUL", "abc\0def", true),
	ROW("NUL in UTF-8", "gr\xc3\xbc\0", true),
	ROW("0xff", "abc\xff", true),
	ROW("UTF-16 LE",
		"\xff\xfe"
		"a\0",
		false),
	ROW("UTF-16 BE", "\xfe\xff\0a", false),
	ROW("UTF-32 BE", "\0\0\xfe\xff\0\0\0a", false),
	ROW("UTF-32 LE", "\xff\xfe\0\0a\0\0\0", false),
	ROW("UTF-8 mark",
		"\xef\xbb\xbf"
		"a",
		false),
	ROW("a little Latin-1",
		"stra\xdf"
		"e und mehr",
		false),
	ROW("only high bytes", FIVE("\xe4\xe4\xe4\xe4"), true),
	ROW("half high bytes",
		FIVE("a\xe4"
		     "a\xe4"),
		false),
	ROW("control bytes and one high", "\xe4" FIVE("\1\2\3\4"), true),
	ROW("control bytes alone", FIVE("\1\2\3\4"), false),
	ROW("JPEG", "\xff\xd8\xff\xe0\0\x10JFIF", true),
	ROW("ELF",
		"\x7f"
		"ELF\2\1\1\0",
		true),
};

static void check_binary(void)
{
	for (size_t i = 0; i < ARRAY_LEN(binary_rows); i++)
		is_int(text_is_binary(binary_rows[i].head), binary_rows[i].binary, "%s",
			binary_rows[i].name);
}

static void check_unix(void)
{
	char text[] = "a\r\nb\rc\n\r\r\n\r";
	size_t n = text_convert_newlines(text, sizeof(text) - 1);

	is_mem(text, n, "a\nb\nc\n\n\n\n", 9, "line ends become LF");
	is_int(text_convert_newlines(text, 0), 0, "nothing stays nothing");
}

int main(void)
{
	static const struct str texts[] = {
		{"", 0},
		{"a", 1},
		{"\n", 1},
		{"\r", 1},
		{"\r\n", 2},
		{"a\nb", 3},
		{"a\nb\n", 4},
		{"a\r\nbb\r\ncc", 10},
		{"a\rb\rc\r", 6},
		{"a\n\r\n\r\rb", 7},
		{"1\n2\n3\n4\n5\n", 10},
		{"\n\n\n\n", 4},
		{"\0\n\0\r\0", 5},
	};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		check_ranges(texts[i], (int)i);
	check_examples();
	check_binary();
	check_unix();
	return done_testing();
}
