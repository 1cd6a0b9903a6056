/* The checker: the grammar, the caps, duplicate keys, JSONTestSuite. */
#include "base/buf.h"
#include "base/json.h"
#include "base/json_text.h"
#include "limits.h"

#include "tests/tap.h"

#include <dirent.h>
#include <stdlib.h>

static const struct json_caps caps = {JSON_DEPTH_MAX, JSON_TOKENS_MAX, JSON_KEYS_MAX};

/* A copy that ends where its memory ends. */
static struct str exact(struct str s)
{
	char *p = malloc(s.n ? s.n : 1);

	if (s.n)
		memcpy(p, s.p, s.n);
	return str_make(p, s.n);
}

static void release(struct str s)
{
	free((char *)s.p);
}

static int check(struct str s, size_t *tokens, struct json_error *e)
{
	struct str copy = exact(s);
	int r = json_check(copy, &caps, tokens, e);

	release(copy);
	return r;
}

static const struct {
	struct str text;
	size_t tokens;
} accepted[] = {
	{STR("0"), 1},
	{STR(" \t\r\n-0 \t\r\n"), 1},
	{STR("-12.50e+10"), 1},
	{STR("1E-9"), 1},
	{STR("true"), 1},
	{STR("null"), 1},
	{STR("\"\""), 1},
	{STR("[]"), 1},
	{STR("{}"), 1},
	{STR("[[],{},[[]]]"), 5},
	{STR(" [ 1 , 2 ] "), 3},
	{STR("{ \"a\" : false , \"b\" : [ ] }"), 5},
	{STR("{\"a\":{\"a\":{\"a\":0}},\"b\":{\"a\":0}}"), 11},
	{STR("[{\"a\":0},{\"a\":0}]"), 7},
	{STR("[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0000\\uABCD\\uabcd\"]"), 2},
	{STR("[\"\\ud83d\\ude00\\udbff\\udfff\"]"), 2},
	{STR("[\"\x7f\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80\"]"), 2},
	{STR("{\"\":0,\"\\u0000\":1,\"a\":2,\"A\":3}"), 9},
};

static const struct {
	struct str text;
	int err;
	size_t at;
} refused[] = {
	{STR(""), ERR_SYNTAX, 0},
	{STR(" \n"), ERR_SYNTAX, 2},
	{STR("["), ERR_SYNTAX, 1},
	{STR("]"), ERR_SYNTAX, 0},
	{STR("}"), ERR_SYNTAX, 0},
	{STR("[}"), ERR_SYNTAX, 1},
	{STR("{]"), ERR_SYNTAX, 1},
	{STR("[1}"), ERR_SYNTAX, 2},
	{STR("{\"a\":1]"), ERR_SYNTAX, 6},
	{STR("[]]"), ERR_SYNTAX, 2},
	{STR("[],"), ERR_SYNTAX, 2},
	{STR("1 2"), ERR_SYNTAX, 2},
	{STR("[1]\0x"), ERR_SYNTAX, 3},
	{STR("[1\0]"), ERR_SYNTAX, 2},
	{STR("\0"), ERR_SYNTAX, 0},
	{STR("\xef\xbb\xbf[]"), ERR_SYNTAX, 0},
	{STR("[]\xef\xbb\xbf"), ERR_SYNTAX, 2},
	{STR("[\xc2\xa0]"), ERR_SYNTAX, 1},
	{STR("[1,]"), ERR_SYNTAX, 3},
	{STR("[,1]"), ERR_SYNTAX, 1},
	{STR("[1,,2]"), ERR_SYNTAX, 3},
	{STR("[1 2]"), ERR_SYNTAX, 3},
	{STR("[1:2]"), ERR_SYNTAX, 2},
	{STR("[01]"), ERR_SYNTAX, 2},
	{STR("[1-2]"), ERR_SYNTAX, 2},
	{STR("[-]"), ERR_SYNTAX, 2},
	{STR("-"), ERR_SYNTAX, 1},
	{STR("[+1]"), ERR_SYNTAX, 1},
	{STR("[1.]"), ERR_SYNTAX, 3},
	{STR("[.1]"), ERR_SYNTAX, 1},
	{STR("[1e]"), ERR_SYNTAX, 3},
	{STR("[1e+]"), ERR_SYNTAX, 4},
	{STR("1e-"), ERR_SYNTAX, 3},
	{STR("1."), ERR_SYNTAX, 2},
	{STR("[0x1]"), ERR_SYNTAX, 2},
	{STR("[tru]"), ERR_SYNTAX, 1},
	{STR("tru"), ERR_SYNTAX, 0},
	{STR("[truefalse]"), ERR_SYNTAX, 5},
	{STR("[fals"), ERR_SYNTAX, 1},
	{STR("[nul1]"), ERR_SYNTAX, 1},
	{STR("[True]"), ERR_SYNTAX, 1},
	{STR("[NaN]"), ERR_SYNTAX, 1},
	{STR("['a']"), ERR_SYNTAX, 1},
	{STR("[\"a"), ERR_SYNTAX, 3},
	{STR("[\"a\n\"]"), ERR_SYNTAX, 3},
	{STR("[\"a\0\"]"), ERR_SYNTAX, 3},
	{STR("[\"01234567\x1f\"]"), ERR_SYNTAX, 10},
	{STR("[\"\\x41\"]"), ERR_SYNTAX, 2},
	{STR("[\"\\\0\"]"), ERR_SYNTAX, 2},
	{STR("[\"\\"), ERR_SYNTAX, 2},
	{STR("[\"\\\""), ERR_SYNTAX, 4},
	{STR("[\"\\u004"), ERR_SYNTAX, 2},
	{STR("[\"\\u004g\"]"), ERR_SYNTAX, 2},
	{STR("[\"\\u004@\"]"), ERR_SYNTAX, 2},
	{STR("[\"\\u00/0\"]"), ERR_SYNTAX, 2},
	{STR("[\"\\u00:0\"]"), ERR_SYNTAX, 2},
	{STR("[\"\\U0041\"]"), ERR_SYNTAX, 2},
	{STR("[\"\\ud800\"]"), ERR_UTF8, 2},
	{STR("[\"\\ud800\\n\"]"), ERR_UTF8, 2},
	{STR("[\"\\ud800\\u"), ERR_UTF8, 2},
	{STR("[\"\\ud800abcdefgh\"]"), ERR_UTF8, 2},
	{STR("[\"\\ud800\\tabcdefgh\"]"), ERR_UTF8, 2},
	{STR("[\"\\ud800\\ud800\\udc00\"]"), ERR_UTF8, 2},
	{STR("[\"\\ud800\\u004g\"]"), ERR_UTF8, 2},
	{STR("[\"a\\udc00\"]"), ERR_UTF8, 3},
	{STR("[\"\\udc00\\ud800\"]"), ERR_UTF8, 2},
	{STR("[\"a\xff\"]"), ERR_UTF8, 3},
	{STR("[\"\xed\xa0\x80\"]"), ERR_UTF8, 2},
	{STR("[\"\xc0\xaf\"]"), ERR_UTF8, 2},
	{STR("[\"abc\xe2\x82\"]"), ERR_UTF8, 5},
	{STR("{\"\xff\":0}"), ERR_UTF8, 2},
	{STR("{"), ERR_SYNTAX, 1},
	{STR("{1:2}"), ERR_SYNTAX, 1},
	{STR("{a:2}"), ERR_SYNTAX, 1},
	{STR("{\"a\""), ERR_SYNTAX, 4},
	{STR("{\"a\" 1}"), ERR_SYNTAX, 5},
	{STR("{\"a\",1}"), ERR_SYNTAX, 4},
	{STR("{\"a\":}"), ERR_SYNTAX, 5},
	{STR("{\"a\":"), ERR_SYNTAX, 5},
	{STR("{\"a\"::1}"), ERR_SYNTAX, 5},
	{STR("{\"a\":1,}"), ERR_SYNTAX, 7},
	{STR("{,}"), ERR_SYNTAX, 1},
	{STR("{\"a\":1 \"b\":2}"), ERR_SYNTAX, 7},
	{STR("{\"a\":1:2}"), ERR_SYNTAX, 6},
	{STR("// a\n[]"), ERR_SYNTAX, 0},
	{STR("{\"a\":1,\"a\":2}"), ERR_DUPLICATE, 8},
	{STR("{\"a\":1,\"\\u0061\":2}"), ERR_DUPLICATE, 8},
	{STR("{\"\\u0061\":1,\"a\":2}"), ERR_DUPLICATE, 13},
	{STR("{\"\\n\":1,\"\\u000a\":2}"), ERR_DUPLICATE, 9},
	{STR("{\"\":1,\"\":2}"), ERR_DUPLICATE, 7},
	{STR("{\"\\ud83d\\ude00\":1,\"\xf0\x9f\x98\x80\":2}"), ERR_DUPLICATE, 19},
	{STR("[{\"a\":{\"a\":1,\"b\":2},\"b\":[{\"a\":3}],\"a\":4}]"), ERR_DUPLICATE, 35},
	{STR("{\"x\":{\"a\":1,\"b\":2,\"c\":3,\"b\":4}}"), ERR_DUPLICATE, 25},
};

static void test_accepted(void)
{
	for (size_t i = 0; i < ARRAY_LEN(accepted); i++) {
		struct json_error e = {0};
		size_t tokens = 0;

		if (!is_int(check(accepted[i].text, &tokens, &e), 0, "accepted: row %zu",
			    i))
			printf("#   %.*s: %s\n", STR_ARG(accepted[i].text), e.why);
		is_int(tokens, accepted[i].tokens, "tokens: row %zu", i);
	}
}

static void test_refused(void)
{
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		struct json_error e = {0};
		size_t tokens = 4711;
		bool good;

		good = is_int(check(refused[i].text, &tokens, &e), refused[i].err,
			"refused: row %zu", i);
		good = is_int(e.at, refused[i].at, "offset: row %zu", i) && good;
		good = ok(e.why && tokens == 4711, "why, and nothing else: row %zu", i) &&
			good;
		if (!good)
			printf("#   %.*s: %s\n", STR_ARG(refused[i].text),
				e.why ? e.why : "no reason");
	}
}

/* Nothing that ends too early is a text, except where digits could go on. */
static void test_prefixes(void)
{
	struct str s = STR(" {\"a\\n\\ud83d\\ude00\":[1.5e-3,true,null,{}],\"\xc3\xa9\":"
			   "\"x\"}");
	struct json_error e;
	size_t tokens;
	bool good = true;

	for (size_t n = 0; n < s.n; n++)
		good = good && check(str_make(s.p, n), &tokens, &e) < 0 && e.at <= n;
	ok(good, "every prefix of a text is refused");
	is_int(check(s, &tokens, &e), 0, "the text is accepted");
}

static void test_tiny(void)
{
	size_t one = 0, two = 0, tokens;
	struct json_error e;

	for (int v = 0; v < 0x10000; v++) {
		char text[2] = {(char)(v >> 8), (char)v};

		if (v < 0x100)
			one += !json_check(str_make(text + 1, 1), &caps, &tokens, &e);
		two += !json_check(str_make(text, 2), &caps, &tokens, &e);
	}
	is_int(one, 10, "ten texts of one byte");
	/* [] {} "", 10 to 99, -0 to -9, a digit and a blank. */
	is_int(two, 3 + 90 + 10 + 2 * 4 * 10, "183 texts of two bytes");
}

static int with_caps(const char *text, size_t depth, size_t tokens, size_t keys)
{
	struct json_caps c = {depth, tokens, keys};
	struct json_error e;
	size_t n;

	return json_check(str_c(text), &c, &n, &e);
}

static void test_caps(void)
{
	struct json_error e = {0};
	size_t tokens;

	is_int(with_caps("[[{}]]", 3, 9, 9), 0, "the full depth");
	is_int(with_caps("[[{}]]", 2, 9, 9), ERR_DEPTH, "an object too deep");
	is_int(with_caps("[[[]]]", 2, 9, 9), ERR_DEPTH, "an array too deep");
	is_int(with_caps("[[],[],[]]", 2, 9, 9), 0, "closed levels do not count");
	is_int(with_caps("1", 0, 9, 9), 0, "a scalar has no depth");
	is_int(with_caps("[1,\"a\",{\"b\":null}]", 9, 6, 9), 0, "all tokens");
	is_int(with_caps("[1,\"a\",{\"b\":null}]", 9, 5, 9), ERR_LIMIT,
		"a value too many");
	is_int(with_caps("[1,\"a\",{\"b\":null}]", 9, 4, 9), ERR_LIMIT, "a key too many");
	is_int(with_caps("1", 9, 0, 9), ERR_LIMIT, "no tokens at all");
	is_int(with_caps("{\"a\":1,\"b\":2}", 9, 9, 2), 0, "all keys");
	is_int(with_caps("{\"a\":1,\"b\":2}", 9, 9, 1), ERR_LIMIT, "too many keys");
	is_int(with_caps("{\"a\":{\"b\":2},\"c\":{\"d\":4}}", 9, 9, 2), 0,
		"keys are counted per object");
	is_int(with_caps("{}", 9, 9, 0), 0, "no keys");
	is_int(json_check(str_make("[", (size_t)INT32_MAX + 1), &caps, &tokens, &e),
		ERR_LIMIT, "a text of 2 GiB is not looked at");
	is_str(e.why, "the text is too long", "and refused with words");
}

/* n keys in an order that is none; the one at twice stands again at the end. */
static void keys(struct buf *b, unsigned n, int twice)
{
	buf_reset(b);
	buf_putc(b, '{');
	for (unsigned i = 0; i < n; i++)
		buf_fmt(b, "%s\"key%u\":{\"key%u\":[]}", i ? "," : "", i * 7919 % 10007,
			i);
	if (twice >= 0)
		buf_fmt(b, ",\"k\\u0065y%u\":0", (unsigned)twice * 7919 % 10007);
	buf_putc(b, '}');
}

static void test_many_keys(void)
{
	struct buf b = BUF_INIT(1 << 20);
	struct json_error e;
	size_t tokens;
	bool good = true;

	keys(&b, JSON_KEYS_MAX, -1);
	is_int(check(buf_view(&b), &tokens, &e), 0, "as many keys as may be");
	is_int(tokens, 1 + 4 * JSON_KEYS_MAX, "are counted");
	keys(&b, JSON_KEYS_MAX + 1, -1);
	is_int(check(buf_view(&b), &tokens, &e), ERR_LIMIT, "one key too many");
	for (int n = 1; n < JSON_KEYS_MAX; n++) {
		for (int twice = 0; twice < n; twice += 1 + n / 9) {
			keys(&b, (unsigned)n, twice);
			good = good &&
				check(buf_view(&b), &tokens, &e) == ERR_DUPLICATE &&
				str_starts(
					str_skip(buf_view(&b), e.at), STR("k\\u0065y"));
		}
	}
	ok(good, "every key that stands twice is found");
	buf_free(&b);
}

static void test_compare(void)
{
	static const struct {
		const char *a, *b;
		int order;
	} pairs[] = {
		{"", "", 0},
		{"a", "", 1},
		{"a", "b", -1},
		{"ab", "a", 1},
		{"a\\u0062c", "\\u0061bc", 0},
		{"a\\u0062c", "\\u0061bd", -1},
		{"\\n", "\n", 0},
		{"\\ud83d\\ude00x", "\xf0\x9f\x98\x80x", 0},
		{"\\u00e9", "\xc3\xa9y", -1},
	};

	for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
		int there = json_compare(str_c(pairs[i].a), str_c(pairs[i].b));
		int back = json_compare(str_c(pairs[i].b), str_c(pairs[i].a));

		is_int((there > 0) - (there < 0), pairs[i].order, "compare: row %zu", i);
		is_int((back > 0) - (back < 0), -pairs[i].order, "and back: row %zu", i);
	}
}

/* ---- JSONTestSuite ---- */

/* The verdicts that the suite leaves open; names without prefix and suffix. */
static const struct {
	const char *name;
	int verdict;
} open_verdicts[] = {
	{"number_double_huge_neg_exp", 0},
	{"number_huge_exp", 0},
	{"number_neg_int_huge_exp", 0},
	{"number_pos_double_huge_exp", 0},
	{"number_real_neg_overflow", 0},
	{"number_real_pos_overflow", 0},
	{"number_real_underflow", 0},
	{"number_too_big_neg_int", 0},
	{"number_too_big_pos_int", 0},
	{"number_very_big_negative_int", 0},
	{"object_key_lone_2nd_surrogate", ERR_UTF8},
	{"string_1st_surrogate_but_2nd_missing", ERR_UTF8},
	{"string_1st_valid_surrogate_2nd_invalid", ERR_UTF8},
	{"string_UTF-16LE_with_BOM", ERR_SYNTAX},
	{"string_UTF-8_invalid_sequence", ERR_UTF8},
	{"string_UTF8_surrogate_U+D800", ERR_UTF8},
	{"string_incomplete_surrogate_and_escape_valid", ERR_UTF8},
	{"string_incomplete_surrogate_pair", ERR_UTF8},
	{"string_incomplete_surrogates_escape_valid", ERR_UTF8},
	{"string_invalid_lonely_surrogate", ERR_UTF8},
	{"string_invalid_surrogate", ERR_UTF8},
	{"string_invalid_utf-8", ERR_UTF8},
	{"string_inverted_surrogates_U+1D11E", ERR_UTF8},
	{"string_iso_latin_1", ERR_UTF8},
	{"string_lone_second_surrogate", ERR_UTF8},
	{"string_lone_utf8_continuation_byte", ERR_UTF8},
	{"string_not_in_unicode_range", ERR_UTF8},
	{"string_overlong_sequence_2_bytes", ERR_UTF8},
	{"string_overlong_sequence_6_bytes", ERR_UTF8},
	{"string_overlong_sequence_6_bytes_null", ERR_UTF8},
	{"string_truncated-utf-8", ERR_UTF8},
	{"string_utf16BE_no_BOM", ERR_SYNTAX},
	{"string_utf16LE_no_BOM", ERR_SYNTAX},
	{"structure_500_nested_arrays", ERR_DEPTH},
	{"structure_UTF-8_BOM_empty_object", ERR_SYNTAX},
};

static int open_verdict(struct str name)
{
	for (size_t i = 0; i < ARRAY_LEN(open_verdicts); i++)
		if (str_eq(name, str_c(open_verdicts[i].name)))
			return open_verdicts[i].verdict;
	return 1;
}

static struct str slurp(const char *path)
{
	static char bytes[1 << 20];
	FILE *f = fopen(path, "rb");
	size_t n = 0;

	if (f) {
		n = fread(bytes, 1, sizeof(bytes), f);
		fclose(f);
	}
	return exact(str_make(bytes, n));
}

/* json_parse must agree with json_check on all that can be a document. */
static bool parse_agrees(struct str text, int verdict)
{
	struct json j;
	struct json_error e;
	struct arena a;
	int r;

	arena_init(&a, 1 << 20);
	r = json_parse(&j, text, &caps, &a, &e);
	arena_reset(&a);
	return r == verdict || (verdict == 0 && r == ERR_TYPE);
}

static void suite_file(const char *folder, const char *file, size_t counts[128])
{
	struct str name = str_c(file), stem = str_make(file + 2, name.n - 7), text;
	struct json_error e = {0};
	char path[1024];
	size_t tokens;
	int r;

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	text = slurp(path);
	r = json_check(text, &caps, &tokens, &e);
	if (file[0] == 'n')
		ok(r < 0, "suite: %zu %.*s", counts['n'], STR_ARG(stem));
	else if (file[0] == 'y')
		is_int(r,
			str_starts(stem, STR("object_duplicated_key")) ? ERR_DUPLICATE
								       : 0,
			"suite: %.*s", STR_ARG(stem));
	else
		is_int(r, open_verdict(stem), "suite: %.*s", STR_ARG(stem));
	ok(parse_agrees(text, r), "suite: json_parse agrees");
	counts[file[0] & 127]++;
	release(text);
}

static void test_suite(void)
{
	const char *data = getenv("OD_DATA");
	size_t counts[128] = {0};
	struct dirent *d;
	char folder[512];
	DIR *dir;

	snprintf(folder, sizeof(folder), "%s/JSONTestSuite/test_parsing",
		data ? data : "../shared/data");
	dir = opendir(folder);
	if (!dir) {
		skip("JSONTestSuite", "the suite is not here; set OD_DATA");
		return;
	}
	while ((d = readdir(dir)))
		if (str_ends(str_c(d->d_name), STR(".json")))
			suite_file(folder, d->d_name, counts);
	closedir(dir);
	is_int(counts['n'], 188, "suite: files to refuse");
	is_int(counts['y'], 95, "suite: files to accept");
	is_int(counts['i'], ARRAY_LEN(open_verdicts), "suite: files left open");
}

int main(void)
{
	test_accepted();
	test_refused();
	test_prefixes();
	test_tiny();
	test_caps();
	test_many_keys();
	test_compare();
	test_suite();
	return done_testing();
}
