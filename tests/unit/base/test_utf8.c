#include "base/utf8.h"

#include "tests/tap.h"

#include <stdlib.h>

#define BAD "\xef\xbf\xbd"

/* Texts and what they are once repaired; code points count in the repaired text. */
static const struct {
	const char *name;
	struct str text;
	const char *repaired;
	size_t count;
	size_t tail;
} rows[] = {
	{"nothing", STR(""), "", 0, 0},
	{"ASCII", STR("plain text, long enough for words"),
		"plain text, long enough for words", 33, 0},
	{"ASCII of whole words", STR("01234567"), "01234567", 8, 0},
	{"first of two bytes", STR("\xc2\x80"), "\xc2\x80", 1, 0},
	{"last of two bytes", STR("\xdf\xbf"), "\xdf\xbf", 1, 0},
	{"first of three bytes", STR("\xe0\xa0\x80"), "\xe0\xa0\x80", 1, 0},
	{"before the surrogates", STR("\xed\x9f\xbf"), "\xed\x9f\xbf", 1, 0},
	{"behind the surrogates", STR("\xee\x80\x80"), "\xee\x80\x80", 1, 0},
	{"last of three bytes", STR("\xef\xbf\xbf"), "\xef\xbf\xbf", 1, 0},
	{"first of four bytes", STR("\xf0\x90\x80\x80"), "\xf0\x90\x80\x80", 1, 0},
	{"last of all", STR("\xf4\x8f\xbf\xbf"), "\xf4\x8f\xbf\xbf", 1, 0},
	{"beyond the last", STR("\xf4\x90\x80\x80"), BAD BAD BAD BAD, 4, 0},
	{"five bytes", STR("\xf8\x88\x80\x80\x80"), BAD BAD BAD BAD BAD, 5, 0},
	{"bytes that are in no character", STR("\xfe\xff\xc0\xc1\xf5"),
		BAD BAD BAD BAD BAD, 5, 0},
	{"overlong in two", STR("\xc0\xaf"), BAD BAD, 2, 0},
	{"overlong in three", STR("\xe0\x80\xaf"), BAD BAD BAD, 3, 0},
	{"overlong in three, last", STR("\xe0\x9f\xbf"), BAD BAD BAD, 3, 0},
	{"overlong in four", STR("\xf0\x8f\xbf\xbf"), BAD BAD BAD BAD, 4, 0},
	{"first surrogate", STR("\xed\xa0\x80"), BAD BAD BAD, 3, 0},
	{"last surrogate", STR("\xed\xbf\xbf"), BAD BAD BAD, 3, 0},
	{"lone continuation", STR("a\x80z"), "a" BAD "z", 3, 0},
	{"Unicode 3.9, table 3-8", STR("\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41"),
		BAD BAD BAD BAD BAD BAD BAD BAD "A", 9, 0},
	{"Unicode 3.9, table 3-10", STR("\xf4\x91\x92\x93\xff\x41\x80\xbf\x42"),
		BAD BAD BAD BAD BAD "A" BAD BAD "B", 9, 0},
	{"Unicode 3.9, table 3-11", STR("\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41"),
		BAD BAD BAD BAD "A", 5, 0},
	{"one of two at the end", STR("a\xc3"), "a" BAD, 2, 1},
	{"one of three at the end", STR("a\xe2"), "a" BAD, 2, 1},
	{"two of three at the end", STR("a\xe2\x82"), "a" BAD, 2, 2},
	{"three of four at the end", STR("\xf0\x9f\x98"), BAD, 1, 3},
	{"a bad second byte at the end", STR("\xe0\x80"), BAD BAD, 2, 0},
	{"continuations only", STR("\x80\x80\x80\x80"), BAD BAD BAD BAD, 4, 0},
	{"a whole character at the end", STR("\xe2\x82\xac"), "\xe2\x82\xac", 1, 0},
	{"NUL", STR("a\0\xc3\xa9"), NULL, 3, 0},
};

/* A copy that ends where its memory ends. */
static struct str exact(struct str s)
{
	char *p = malloc(s.n ? s.n : 1);

	memcpy(p, s.p, s.n);
	return str_make(p, s.n);
}

static void test_rows(void)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct str s = exact(rows[i].text);
		struct buf out = BUF_INIT(1000);
		const char *want = rows[i].repaired;
		size_t want_n = want ? strlen(want) : s.n;
		bool valid = !want || str_eq(s, str_c(want));

		utf8_repair(&out, s);
		is_mem(out.n ? out.p : "", out.n, want ? want : s.p, want_n, "repair: %s",
			rows[i].name);
		is_int(utf8_is_valid(s), valid, "valid: %s", rows[i].name);
		is_int(utf8_count(s), rows[i].count, "count: %s", rows[i].name);
		is_int(utf8_unfinished_length(s), rows[i].tail, "tail: %s", rows[i].name);
		buf_free(&out);
		free((char *)s.p);
	}
}

/* The plain definition, for comparison: encode every code point. */
static void test_all_code_points(void)
{
	bool good = true;
	char text[4];

	for (uint32_t cp = 0; cp <= 0x10ffff; cp++) {
		struct str s = str_make(text, utf8_encode(cp, text));
		bool surrogate = cp >= 0xd800 && cp <= 0xdfff;

		good = good && utf8_is_valid(s) == !surrogate;
		if (!surrogate)
			good = good && utf8_next(&s) == cp && s.n == 0;
	}
	ok(good, "every code point and no surrogate is decoded as encoded");
}

/* All sequences of up to three bytes: the valid ones are the encoded ones. */
static void test_all_short_sequences(void)
{
	size_t valid[4] = {0};

	for (uint32_t v = 0; v < 1 << 24; v++) {
		char text[3] = {(char)(v >> 16), (char)(v >> 8), (char)v};

		if (v < 0x100)
			valid[1] += utf8_is_valid(str_make(text + 2, 1));
		if (v < 0x10000)
			valid[2] += utf8_is_valid(str_make(text + 1, 2));
		valid[3] += utf8_is_valid(str_make(text, 3));
	}
	is_int(valid[1], 128, "128 bytes are characters");
	is_int(valid[2], 128 * 128 + 1920, "so many pairs of bytes are valid");
	is_int(valid[3], 128 * 128 * 128 + 2 * 128 * 1920 + 63488 - 2048,
		"so many triples of bytes are valid");
}

static void test_next(void)
{
	struct str s = STR("a\xc3\xa9\xff\xf0\x9f\x98\x80\xe2\x82");

	is_int(utf8_next(&s), 'a', "next: one byte");
	is_int(utf8_next(&s), 0xe9, "next: two bytes");
	is_int(utf8_next(&s), UTF8_REPLACEMENT, "next: a bad byte");
	is_int(utf8_next(&s), 0x1f600, "next: four bytes");
	is_int(s.n, 2, "next: two bytes are left");
	is_int(utf8_next(&s), UTF8_REPLACEMENT, "next: an unfinished character");
	is_int(s.n, 0, "next: taken as a whole");
}

static void test_offset(void)
{
	struct str s = STR("0123456789\xc3\xa9\xff"
			   "0123456789");

	is_int(utf8_offset(s, 0), 0, "offset: nothing");
	is_int(utf8_offset(s, 3), 3, "offset: less than a word");
	is_int(utf8_offset(s, 10), 10, "offset: before the two bytes");
	is_int(utf8_offset(s, 11), 12, "offset: behind the two bytes");
	is_int(utf8_offset(s, 12), 13, "offset: behind the bad byte");
	is_int(utf8_offset(s, 22), 23, "offset: the end");
	is_int(utf8_offset(s, SIZE_MAX), 23, "offset: beyond the end");
	is_int(utf8_prefix(s), 12, "prefix: up to the bad byte");
	is_int(utf8_offset(STR(""), 5), 0, "offset: in nothing");
}

static void test_repair_limit(void)
{
	struct buf out = BUF_INIT(4);

	utf8_repair(&out, STR("a\xff\xff"));
	is_int(out.err, ERR_LIMIT, "repair: the buf keeps its maximum");
	buf_free(&out);
}

int main(void)
{
	test_rows();
	test_all_code_points();
	test_all_short_sequences();
	test_next();
	test_offset();
	test_repair_limit();
	return done_testing();
}
