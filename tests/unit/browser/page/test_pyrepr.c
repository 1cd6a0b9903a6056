/* Strings and numbers as Python's repr() prints them. */
#include "browser/page/pyrepr.h"

#include "base/utf8.h"
#include "tests/tap.h"

static struct buf out = BUF_INIT(65536);

static struct str repr(struct str s)
{
	buf_reset(&out);
	pyrepr_put_str(&out, s);
	return buf_view(&out);
}

static void test_strings(void)
{
	is_view(repr(STR("")), "''", "nothing");
	is_view(repr(STR("a b")), "'a b'", "plain");
	is_view(repr(STR("it's")), "\"it's\"", "an apostrophe");
	is_view(repr(STR("\"")), "'\"'", "a double quote");
	is_view(repr(STR("'\"")), "'\\'\"'", "both");
	is_view(repr(STR("\\ \n\r\t\0\x1b\x7f")), "'\\\\ \\n\\r\\t\\x00\\x1b\\x7f'",
		"control characters");
	is_view(repr(STR("\u00e9\u20ac\u4e2d\U0001f600")),
		"'\u00e9\u20ac\u4e2d\U0001f600'", "letters and signs");
	is_view(repr(STR("\u00a0\u00ad\u200b\u2028\ue001\ufeff")),
		"'\\xa0\\xad\\u200b\\u2028\\ue001\\ufeff'", "what is not printable");
	is_view(repr(STR("\U000e0001\U0010ffff\xf4\x90\x80\x80")),
		"'\\U000e0001\\U0010ffff\ufffd\ufffd\ufffd\ufffd'", "far up");
	is_view(repr(STR("a\xff'")), "\"a\ufffd'\"", "invalid UTF-8");
}

static void test_printable(void)
{
	static const struct {
		uint32_t first, last;
		bool printable;
	} cases[] = {
		{0x00, 0x1f, false},
		{0x20, 0x7e, true},
		{0x7f, 0xa0, false},
		{0xa1, 0xac, true},
		{0x378, 0x379, false},
		{0x4e00, 0x9fff, true},
		{0xd800, 0xf8ff, false},
		{0xfffd, 0xfffd, true},
		{0xfffe, 0xffff, false},
		{0x10000, 0x1000b, true},
		{0x1000c, 0x1000c, false},
		{0x1f600, 0x1f64f, true},
		{0x1fffe, 0x1ffff, false},
		{0x20000, 0x2a6df, true},
		{0x2a6e0, 0x2a6ff, false},
		{0x31350, 0x323af, true},
		{0x323b0, 0xe00ff, false},
		{0xe0100, 0xe01ef, true},
		{0xe01f0, 0x10ffff, false},
	};
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		bool good = true;

		for (uint32_t cp = cases[i].first; cp <= cases[i].last; cp++)
			good &= pyrepr_is_printable(cp) == cases[i].printable;
		ok(good, "U+%04X to U+%04X", (unsigned)cases[i].first,
			(unsigned)cases[i].last);
	}
	for (uint32_t cp = 0; cp <= 0x10ffff; cp++)
		n += pyrepr_is_printable(cp);
	is_int(n, 148998, "as many as Python 3.12 has");
}

static void test_strip(void)
{
	is_view(pyrepr_strip(STR("")), "", "nothing");
	is_view(pyrepr_strip(STR(" \t\n\v\f\r\x1c\x1f")), "", "blanks alone");
	is_view(pyrepr_strip(STR("\u00a0\u3000a b\u2003\u205f\x85 ")),
		"a b\u2003\u205f\x85", "a byte that is none ends it");
	is_view(pyrepr_strip(STR("\u00a0\u3000a \u00e9\u2003\u205f ")), "a \u00e9",
		"blanks of all kinds");
	is_view(pyrepr_strip(STR("\u200ba\u200b")), "\u200ba\u200b",
		"no width is no blank");
	is_view(pyrepr_strip(STR("a\x80")), "a\x80", "half a character");
	is_view(pyrepr_strip(STR("\x80\x80\x80\x80\x80")), "\x80\x80\x80\x80\x80",
		"halves alone");
}

static struct str value(const char *json)
{
	static const struct json_caps caps = {8, 100, 10};
	static struct arena arena;
	struct json_error e;
	struct json_val v;
	struct json doc;
	int it = 0;

	arena_init(&arena, 65536);
	buf_reset(&out);
	if (json_parse(&doc, str_c(json), &caps, &arena, &e) ||
		!json_next(json_root(&doc), &it, NULL, &v) ||
		pyrepr_put_value(&out, v, &arena))
		buf_puts(&out, "FAILED");
	arena_reset(&arena);
	return buf_view(&out);
}

static void test_values(void)
{
	struct json_val absent = {.at = -1};

	is_view(value("[null]"), "None", "null");
	is_view(value("[true]"), "True", "true");
	is_view(value("[false]"), "False", "false");
	is_view(value("[\"a\\n\\u00e9'\"]"), "\"a\\n\u00e9'\"", "a string");
	is_view(value("[12]"), "12", "a whole number");
	is_view(value("[-0]"), "0", "minus nothing");
	is_view(value("[123456789012345678901234567890]"),
		"123456789012345678901234567890", "a long one");
	is_view(value("[0.5]"), "0.5", "a fraction");
	is_view(value("[5.0]"), "5.0", "a whole one that is written as a fraction");
	is_view(value("[1e21]"), "1e+21", "an exponent");
	is_view(value("[1E2]"), "100.0", "another");
	is_view(value("[1e999]"), "inf", "too large");
	is_view(value("[-1e999]"), "-inf", "too small");
	is_view(value("[[1, \"x\"]]"), "[1, \"x\"]", "a list, as it is");
	is_int(pyrepr_put_value(&out, absent, NULL), ERR_TYPE, "no value");
}

int main(void)
{
	test_strings();
	test_printable();
	test_strip();
	test_values();
	buf_free(&out);
	return done_testing();
}
