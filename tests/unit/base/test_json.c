/* The index and its accessors; test_json_check.c tests what is no JSON. */
#include "base/buf.h"
#include "base/json.h"
#include "limits.h"

#include "tests/tap.h"

#include <errno.h>
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

static struct arena arena;

static struct json parsed(struct str text)
{
	struct json j = {0};
	struct json_error e = {0};
	int r = json_parse(&j, text, &caps, &arena, &e);

	if (!is_int(r, 0, "parse"))
		printf("#   %.*s at %zu: %s\n", STR_ARG(text), e.at, e.why);
	return j;
}

static void test_parse(void)
{
	struct json j = {.n = 4711};
	struct json_error e = {0};
	struct arena small;

	is_int(json_parse(&j, STR(" 1"), &caps, &arena, &e), ERR_TYPE,
		"a number as root");
	is_int(e.at, 1, "is refused where it stands");
	is_int(json_parse(&j, STR("\"[]\""), &caps, &arena, &e), ERR_TYPE, "a string");
	is_int(json_parse(&j, STR("null"), &caps, &arena, &e), ERR_TYPE, "null");
	is_int(json_parse(&j, STR("[1,]"), &caps, &arena, &e), ERR_SYNTAX, "no JSON");
	arena_init(&small, 64);
	is_int(json_parse(&j, STR("[1,2,3,4]"), &caps, &small, &e), -ENOMEM,
		"an arena that is full");
	ok(e.why, "has its words too");
	arena_reset(&small);
	is_int(j.n, 4711, "the document is untouched on failure");
}

static const char request[] =
	" {\"action\": \"run\", \"args\": {\"command\": \"echo "
	"\\\"\\u00e4\\\"\", \"timeout\": 2.5, \"is_input\": false,"
	"\"list\": [1, [2, 3, {\"x\": []}], {\"a\": {\"b\": null}}, "
	"\"\"]}, \"\\u0069d\": 7 } ";

static void test_get(void)
{
	struct json j = parsed(STR(request));
	struct json_val root = json_root(&j), args = json_get(root, "args"), list, none;
	struct str s;
	int64_t id = 0;
	bool b = true;

	is_int(json_type(root), JSON_OBJECT, "the root");
	is_int(json_count(root), 3, "has three members");
	is_int(json_str(json_get(root, "action"), &arena, &s), 0, "a string member");
	is_view(s, "run", "is its text");
	is_int(json_str(json_get(args, "command"), &arena, &s), 0, "one with escapes");
	is_view(s, "echo \"\xc3\xa4\"", "is decoded");
	is_int(json_bool(json_get(args, "is_input"), &b), 0, "a bool");
	ok(!b, "is false");
	is_int(json_i64(json_get(root, "id"), &id), 0, "a key behind nested values");
	is_int(id, 7, "written with an escape");
	list = json_get(args, "list");
	is_int(json_count(list), 4, "an array of four");
	is_view(json_raw(list), "[1, [2, 3, {\"x\": []}], {\"a\": {\"b\": null}}, \"\"]",
		"the source of an array");
	is_view(json_raw(json_get(root, "action")), "\"run\"", "of a string");
	is_view(json_raw(json_get(args, "timeout")), "2.5", "of a number");
	none = json_get(json_get(json_get(root, "nothing"), "of"), "this");
	is_int(json_type(none), JSON_ABSENT, "a chain of absent members");
	is_int(json_type(json_get(list, "a")), JSON_ABSENT, "no member of an array");
	is_int(json_type(json_get(root, "arg")), JSON_ABSENT, "no prefix of a key");
	is_int(json_type(json_get(root, "argsx")), JSON_ABSENT, "no longer key");
	is_int(json_type(json_get(root, "command")), JSON_ABSENT, "no inner key");
	is_int(json_type(json_get(root, "run")), JSON_ABSENT, "no value for a key");
	arena_reset(&arena);
}

static void test_next(void)
{
	struct json j = parsed(STR(request));
	struct json_val list = json_get(json_get(json_root(&j), "args"), "list");
	struct json_val key = {NULL, -7}, v = {NULL, -7};
	static const enum json_type types[] = {
		JSON_NUMBER, JSON_ARRAY, JSON_OBJECT, JSON_STRING};
	struct str name;
	int it = 0;

	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		ok(json_next(list, &it, &key, &v), "element %zu", i);
		is_int(json_type(v), types[i], "is of its type");
	}
	v.at = -7;
	ok(!json_next(list, &it, &key, &v), "the end");
	ok(!json_next(list, &it, NULL, &v), "stays the end");
	is_int(v.at, -7, "and gives no value");
	is_int(key.at, -7, "elements have no key");
	it = 0;
	ok(json_next(json_root(&j), &it, &key, &v), "a member");
	is_int(json_str(key, &arena, &name), 0, "has a key");
	is_view(name, "action", "its own");
	ok(json_next(json_root(&j), &it, NULL, &v), "the key need not be taken");
	ok(json_next(json_root(&j), &it, &key, &v), "a third member");
	is_int(json_str(key, &arena, &name), 0, "behind nested values");
	is_view(name, "id", "with a decoded key");
	ok(!json_next(json_root(&j), &it, &key, &v), "the end of the root");
	it = 0;
	ok(!json_next(v, &it, &key, &v), "a scalar has no elements");
	j = parsed(STR("[[],{},1]"));
	it = 0;
	ok(json_next(json_root(&j), &it, NULL, &v), "an empty array");
	it = 0;
	ok(!json_next(v, &it, NULL, &v), "has no first element");
	is_int(json_count(v), 0, "and counts none");
	arena_reset(&arena);
}

static void test_absent(void)
{
	struct json_val v = {NULL, -1};
	struct str s = STR("untouched");
	int64_t i = 42;
	double d = 42;
	bool b = true;
	int it = 0;

	is_int(json_type(v), JSON_ABSENT, "absent: type");
	is_int(json_count(v), 0, "absent: count");
	is_int(json_raw(v).n, 0, "absent: raw");
	is_int(json_type(json_get(v, "a")), JSON_ABSENT, "absent: get");
	ok(!json_next(v, &it, NULL, &v), "absent: next");
	is_int(json_str(v, &arena, &s), ERR_TYPE, "absent: str");
	is_int(json_bool(v, &b), ERR_TYPE, "absent: bool");
	is_int(json_i64(v, &i), ERR_TYPE, "absent: i64");
	is_int(json_double(v, &d), ERR_TYPE, "absent: double");
	ok(i == 42 && d > 41 && b && s.n == 9, "absent: out-params are untouched");
}

static struct json_val only(const struct json *j)
{
	struct json_val v = {NULL, -1};
	int it = 0;

	if (!json_next(json_root(j), &it, NULL, &v))
		ok(false, "an array has an element");
	return v;
}

static void test_types(void)
{
	static const struct {
		struct str text;
		enum json_type type;
		int as_str, as_bool, as_number;
	} rows[] = {
		{STR("[null]"), JSON_NULL, ERR_TYPE, ERR_TYPE, ERR_TYPE},
		{STR("[true]"), JSON_BOOL, ERR_TYPE, 0, ERR_TYPE},
		{STR("[false]"), JSON_BOOL, ERR_TYPE, 0, ERR_TYPE},
		{STR("[-1]"), JSON_NUMBER, ERR_TYPE, ERR_TYPE, 0},
		{STR("[\"1\"]"), JSON_STRING, 0, ERR_TYPE, ERR_TYPE},
		{STR("[[1]]"), JSON_ARRAY, ERR_TYPE, ERR_TYPE, ERR_TYPE},
		{STR("[{}]"), JSON_OBJECT, ERR_TYPE, ERR_TYPE, ERR_TYPE},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct json j = parsed(rows[i].text);
		struct json_val v = only(&j);
		struct str s;
		int64_t n;
		double d;
		bool b;

		is_int(json_type(v), rows[i].type, "type: row %zu", i);
		is_int(json_str(v, &arena, &s), rows[i].as_str, "as a string");
		is_int(json_bool(v, &b), rows[i].as_bool, "as a bool");
		is_int(json_i64(v, &n), rows[i].as_number, "as an integer");
		is_int(json_double(v, &d), rows[i].as_number, "as a double");
	}
	arena_reset(&arena);
}

static void test_str(void)
{
	struct json j = parsed(STR("[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0000\\u00e9\\u20AC"
				   "\\uD83D\\ude00 plain \\n\"]"));
	static const char want[] = "\"\\/\b\f\n\r\t\0\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"
				   " plain \n";
	struct arena small;
	struct str s;

	is_int(json_str(only(&j), &arena, &s), 0, "a string of escapes");
	is_mem(s.p, s.n, want, sizeof(want) - 1, "is decoded, NUL and all");
	arena_init(&small, 8);
	s = STR("untouched");
	is_int(json_str(only(&j), &small, &s), -ENOMEM, "into a full arena");
	is_view(s, "untouched", "out is untouched on failure");
	arena_reset(&small);
	j = parsed(STR("[\"\"]"));
	is_int(json_str(only(&j), &arena, &s), 0, "an empty string");
	is_int(s.n, 0, "is empty");
	arena_reset(&arena);
}

static const struct {
	const char *text;
	int err;
	int64_t want;
} integers[] = {
	{"0", 0, 0},
	{"-0", 0, 0},
	{"0.0e99999999999999999999", 0, 0},
	{"0e-99999999999999999999", 0, 0},
	{"1", 0, 1},
	{"1.0", 0, 1},
	{"1e0", 0, 1},
	{"1E+2", 0, 100},
	{"-1.50e1", 0, -15},
	{"120e-1", 0, 12},
	{"0.00012e5", 0, 12},
	{"12345678.90e2", 0, 1234567890},
	{"9007199254740993", 0, 9007199254740993},
	{"9223372036854775807", 0, INT64_MAX},
	{"9223372036854775807.000", 0, INT64_MAX},
	{"9.223372036854775807e18", 0, INT64_MAX},
	{"-9223372036854775808", 0, INT64_MIN},
	{"9223372036854775808", ERR_RANGE, 0},
	{"-9223372036854775809", ERR_RANGE, 0},
	{"18446744073709551615", ERR_RANGE, 0},
	{"18446744073709551616", ERR_RANGE, 0},
	{"99999999999999999999", ERR_RANGE, 0},
	{"1e19", ERR_RANGE, 0},
	{"1e20", ERR_RANGE, 0},
	{"-1e99999999999999999999", ERR_RANGE, 0},
	{"1.5", ERR_TYPE, 0},
	{"0.1", ERR_TYPE, 0},
	{"15e-1", ERR_TYPE, 0},
	{"1e-1", ERR_TYPE, 0},
	{"1e-99999999999999999999", ERR_TYPE, 0},
	{"1.00000000000000000000000000000001", ERR_TYPE, 0},
};

static void test_i64(void)
{
	struct buf b = BUF_INIT(10000);
	struct json j;
	int64_t v;

	for (size_t i = 0; i < ARRAY_LEN(integers); i++) {
		buf_reset(&b);
		buf_fmt(&b, "[%s]", integers[i].text);
		j = parsed(buf_view(&b));
		v = 0;
		is_int(json_i64(only(&j), &v), integers[i].err, "i64: %s",
			integers[i].text);
		is_int(v, integers[i].want, "i64: its value");
	}
	buf_reset(&b);
	buf_fmt(&b, "[1%02000de-%d]", 0, 2000);
	j = parsed(buf_view(&b));
	is_int(json_i64(only(&j), &v), 0, "i64: 10^2000 / 10^2000");
	is_int(v, 1, "i64: is one");
	buf_free(&b);
	arena_reset(&arena);
}

static void test_double(void)
{
	static const struct {
		struct str text;
		double want;
	} rows[] = {
		{STR("[0]"), 0},
		{STR("[-1]"), -1},
		{STR("[2.5 ]"), 2.5},
		{STR("[0.1,0]"), 0.1},
		{STR("[1e3]"), 1000},
		{STR("[1.7976931348623157e308]"), 1.7976931348623157e308},
		{STR("[5e-324]"), 5e-324},
		{STR("[1e-400]"), 0},
		{STR("[9007199254740993.0]"), 9007199254740992.0},
		{STR("[0.1000000000000000055511151231257827021181583404541015625]"), 0.1},
	};
	struct json j;
	double d = 42;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct str text = exact(rows[i].text);

		j = parsed(text);
		is_int(json_double(only(&j), &d), 0, "double: row %zu", i);
		is_mem(&d, sizeof(d), &rows[i].want, sizeof(d), "double: its value");
		release(text);
	}
	d = 42;
	j = parsed(STR("[1e309]"));
	is_int(json_double(only(&j), &d), ERR_RANGE, "double: too large");
	j = parsed(STR("[-1e309]"));
	is_int(json_double(only(&j), &d), ERR_RANGE, "double: too small");
	ok(d > 41, "double: out is untouched on failure");
	arena_reset(&arena);
}

int main(void)
{
	arena_init(&arena, 16 << 20);
	test_parse();
	test_get();
	test_next();
	test_absent();
	test_types();
	test_str();
	test_i64();
	test_double();
	return done_testing();
}
