#include "base/jw.h"

#include "tests/tap.h"

#include <math.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define BAD "\xef\xbf\xbd"

static struct buf out = BUF_INIT(1 << 20);

static struct jw fresh(void)
{
	struct jw w;

	buf_reset(&out);
	jw_init(&w, &out);
	return w;
}

static void test_structure(void)
{
	struct jw w = fresh();

	jw_object(&w);
	jw_key(&w, "a");
	jw_array(&w);
	jw_end(&w);
	jw_key(&w, "b");
	jw_array(&w);
	jw_int(&w, -1);
	jw_bool(&w, true);
	jw_bool(&w, false);
	jw_null(&w);
	jw_object(&w);
	jw_end(&w);
	jw_raw(&w, STR("{\"x\":[1, 2]}"));
	jw_cstr(&w, "s");
	jw_end(&w);
	jw_key(&w, "c\"");
	jw_object(&w);
	jw_key(&w, "d");
	jw_uint(&w, UINT64_MAX);
	jw_key(&w, "e");
	jw_int(&w, INT64_MIN);
	jw_end(&w);
	jw_end(&w);
	is_view(buf_view(&out),
		"{\"a\":[],\"b\":[-1,true,false,null,{},{\"x\":[1, 2]},\"s\"],"
		"\"c\\\"\":{\"d\":18446744073709551615,\"e\":-9223372036854775808}}",
		"all kinds of values");
	w = fresh();
	jw_cstr(&w, NULL);
	is_view(buf_view(&out), "\"\"", "a scalar alone; NULL is the empty string");
	w = fresh();
	for (int i = 0; i < JW_DEPTH; i++)
		jw_array(&w);
	jw_cstr(&w, "deep");
	for (int i = 0; i < JW_DEPTH; i++)
		jw_end(&w);
	is_int(out.n, 2 * JW_DEPTH + 6, "the full depth");
}

static void test_double(void)
{
	struct jw w = fresh();

	jw_array(&w);
	jw_double(&w, 1);
	jw_double(&w, 0.1);
	jw_double(&w, 1e-5);
	jw_double(&w, -1e300);
	jw_double(&w, INFINITY);
	jw_double(&w, NAN);
	jw_end(&w);
	is_view(buf_view(&out), "[1.0,0.1,1e-05,-1e+300,null,null]", "doubles");
}

static const struct {
	const char *name;
	struct str text;
	const char *json;
} strings[] = {
	{"empty", STR(""), "\"\""},
	{"plain", STR("a plain text of some length"), "\"a plain text of some length\""},
	{"quote, backslash, slash", STR("\"\\/"), "\"\\\"\\\\/\""},
	{"short escapes", STR("\b\f\n\r\t"), "\"\\b\\f\\n\\r\\t\""},
	{"NUL", STR("a\0b"), "\"a\\u0000b\""},
	{"other controls", STR("\x01\x1b\x1f"), "\"\\u0001\\u001b\\u001f\""},
	{"DEL stays", STR("\x7f"), "\"\x7f\""},
	{"UTF-8 stays", STR("\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80"),
		"\"\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80\""},
	{"escapes in words", STR("0123456\n01234567\"0123456\\"),
		"\"0123456\\n01234567\\\"0123456\\\\\""},
	{"bad bytes", STR("a\xff\xc3\n\xe2\x82\""), "\"a" BAD BAD "\\n" BAD "\\\"\""},
	{"unfinished at the end", STR("a\xf0\x9f\x98"), "\"a" BAD "\""},
	{"surrogate", STR("\xed\xa0\x80"), "\"" BAD BAD BAD "\""},
	{"colours", STR("\x1b[31mred\x1b[0m\r\n"), "\"\\u001b[31mred\\u001b[0m\\r\\n\""},
};

static void put_split(struct str s, size_t a, size_t b)
{
	struct jw w = fresh();
	struct jw_text t;

	jw_text_begin(&t, &w);
	jw_text_put(&t, str_make(s.p, a));
	jw_text_put(&t, str_make(s.p + a, b - a));
	jw_text_put(&t, str_make(s.p + b, s.n - b));
	jw_text_end(&t);
}

static void put_bytes(struct str s)
{
	struct jw w = fresh();
	struct jw_text t;

	jw_text_begin(&t, &w);
	for (size_t i = 0; i < s.n; i++) {
		jw_text_put(&t, str_make(s.p + i, 1));
		jw_text_put(&t, STR(""));
	}
	jw_text_end(&t);
}

static void test_strings(void)
{
	for (size_t i = 0; i < ARRAY_LEN(strings); i++) {
		struct str s = strings[i].text;
		struct jw w = fresh();
		bool same = true;

		jw_str(&w, s);
		is_view(buf_view(&out), strings[i].json, "%s", strings[i].name);
		put_bytes(s);
		is_view(buf_view(&out), strings[i].json, "%s, byte by byte",
			strings[i].name);
		for (size_t a = 0; a <= s.n; a++) {
			for (size_t b = a; b <= s.n; b++) {
				put_split(s, a, b);
				same = same &&
					str_eq(buf_view(&out), str_c(strings[i].json));
			}
		}
		ok(same, "%s, split anywhere", strings[i].name);
	}
}

static void test_text_in_place(void)
{
	struct jw w = fresh();
	struct jw_text t;

	jw_object(&w);
	jw_key(&w, "a");
	jw_text_begin(&t, &w);
	jw_text_end(&t);
	jw_key(&w, "b");
	jw_array(&w);
	jw_text_begin(&t, &w);
	jw_text_put(&t, STR("x\xc3"));
	jw_text_end(&t);
	jw_null(&w);
	jw_end(&w);
	jw_end(&w);
	is_view(buf_view(&out), "{\"a\":\"\",\"b\":[\"x" BAD "\",null]}",
		"texts among other values");
}

static void test_limit(void)
{
	struct buf small = BUF_INIT(10);
	struct jw w;

	jw_init(&w, &small);
	jw_array(&w);
	jw_cstr(&w, "more than ten bytes");
	jw_end(&w);
	is_int(small.err, ERR_LIMIT, "the error sticks in the buf");
	buf_free(&small);
}

static void value_without_key(struct jw *w)
{
	jw_object(w);
	jw_null(w);
}

static void key_without_value(struct jw *w)
{
	jw_object(w);
	jw_key(w, "a");
	jw_end(w);
}

static void key_in_array(struct jw *w)
{
	jw_array(w);
	jw_key(w, "a");
}

static void two_keys(struct jw *w)
{
	jw_object(w);
	jw_key(w, "a");
	jw_key(w, "b");
}

static void two_roots(struct jw *w)
{
	jw_null(w);
	jw_null(w);
}

static void end_of_nothing(struct jw *w)
{
	jw_end(w);
}

static void end_too_many(struct jw *w)
{
	jw_array(w);
	jw_end(w);
	jw_end(w);
}

static void too_deep(struct jw *w)
{
	for (int i = 0; i <= JW_DEPTH; i++)
		jw_array(w);
}

static void value_in_text(struct jw *w)
{
	struct jw_text t;

	jw_array(w);
	jw_text_begin(&t, w);
	jw_null(w);
}

static void end_in_text(struct jw *w)
{
	struct jw_text t;

	jw_array(w);
	jw_text_begin(&t, w);
	jw_end(w);
}

static void text_ended_twice(struct jw *w)
{
	struct jw_text t;

	jw_array(w);
	jw_text_begin(&t, w);
	jw_text_end(&t);
	jw_text_end(&t);
}

static void text_put_late(struct jw *w)
{
	struct jw_text t;

	jw_array(w);
	jw_text_begin(&t, w);
	jw_text_end(&t);
	jw_text_put(&t, STR("x"));
}

/* Whether the calls of f end the process by an assertion. */
static bool asserts(void (*f)(struct jw *))
{
	int status = 0;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		struct jw w = fresh();

		close(2);
		f(&w);
		_exit(0);
	}
	return waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) &&
		WTERMSIG(status) == SIGABRT;
}

static void test_misuse(void)
{
	static const struct {
		const char *name;
		void (*f)(struct jw *);
	} calls[] = {
		{"a value without a key", value_without_key},
		{"a key without a value", key_without_value},
		{"a key in an array", key_in_array},
		{"two keys", two_keys},
		{"two roots", two_roots},
		{"an end of nothing", end_of_nothing},
		{"an end too many", end_too_many},
		{"too deep", too_deep},
		{"a value in a text", value_in_text},
		{"an end in a text", end_in_text},
		{"a text ended twice", text_ended_twice},
		{"a piece behind the end of a text", text_put_late},
	};

	for (size_t i = 0; i < ARRAY_LEN(calls); i++)
		ok(asserts(calls[i].f), "%s is a bug and asserts", calls[i].name);
}

int main(void)
{
	test_structure();
	test_double();
	test_strings();
	test_text_in_place();
	test_limit();
	test_misuse();
	buf_free(&out);
	return done_testing();
}
