#include "limits.h"
#include "plugin/manifest.h"
#include "tests/tap.h"

#include <errno.h>
#include <stdlib.h>

static struct arena arena;
static struct buf why = BUF_INIT(4096);
static struct plugin_manifest m;

/* The text ends flush with its allocation. */
static int take(struct str text)
{
	char *copy = malloc(text.n ? text.n : 1);
	int r;

	memcpy(copy, text.p, text.n);
	arena_reset(&arena);
	arena_init(&arena, PLUGIN_MEMORY_MAX);
	buf_reset(&why);
	r = plugin_manifest_read(&m, str_make(copy, text.n), STR("p"), &arena, &why);
	free(copy);
	return r;
}

#define FRONT "{\"name\":\"p\",\"protocol\":1,\"argv\":[\"./p\"]"

static const struct {
	const char *text, *why;
} bad[] = {
	{"", "byte 0: "},
	{"{", "byte 1: "},
	{"[]", "it must be an object"},
	{"1", "byte 0: "},
	{FRONT ",\"name\":\"p\"}", "byte "},
	{"{\"protocol\":1,\"argv\":[\"x\"]}", "name: is missing"},
	{"{\"name\":\"q\",\"protocol\":1,\"argv\":[\"x\"]}",
		"name: must be the name of the folder"},
	{"{\"name\":1,\"protocol\":1,\"argv\":[\"x\"]}", "name: must be a string"},
	{"{\"name\":\"p\",\"argv\":[\"x\"]}", "protocol: is missing"},
	{"{\"name\":\"p\",\"protocol\":\"1\",\"argv\":[\"x\"]}",
		"protocol: must be a number"},
	{"{\"name\":\"p\",\"protocol\":2,\"argv\":[\"x\"]}",
		"protocol: is not supported; 1 is"},
	{"{\"name\":\"p\",\"protocol\":1}", "argv: is missing"},
	{"{\"name\":\"p\",\"protocol\":1,\"argv\":[]}", "argv: must name a program"},
	{"{\"name\":\"p\",\"protocol\":1,\"argv\":\"x\"}",
		"argv: must be a list of strings"},
	{"{\"name\":\"p\",\"protocol\":1,\"argv\":[\"x\",2]}",
		"argv[1]: must be a string"},
	{"{\"name\":\"p\",\"protocol\":1,\"argv\":[\"x\\u0000\"]}",
		"argv[0]: contains a NUL byte"},
	{"{\"name\":\"p\",\"protocol\":1,\"argv\":[\"\"]}", "argv[0]: is empty"},
	{FRONT ",\"colour\":1}", "colour: is not a key of a manifest"},
	{FRONT ",\"a\\u0000b\":1}", "a key: contains a NUL byte"},
	{FRONT ",\"env\":[]}", "env: must be an object of strings"},
	{FRONT ",\"env\":{\"A\":1}}", "env[0]: must be a string"},
	{FRONT ",\"env\":{\"A\":\"\",\"B=\":\"\"}}",
		"env[1]: is not a valid name of a variable"},
	{FRONT ",\"env\":{\"\":\"\"}}", "env[0]: is not a valid name of a variable"},
	{FRONT ",\"needs\":{}}", "needs: must be a list of strings"},
	{FRONT ",\"probe\":null}", "probe: must be a list of strings"},
	{FRONT ",\"ready_seconds\":0}",
		"ready_seconds: must be a number of seconds from 1 to 86400"},
	{FRONT ",\"call_seconds\":1.5}",
		"call_seconds: must be a number of seconds from 1 to 86400"},
	{FRONT ",\"actions\":[\"a\",\"b c\"]}",
		"actions[1]: is not a name of letters, digits, _ - ."},
	{FRONT ",\"actions\":[\"a\",\"b\",\"a\"]}", "actions[2]: is given twice"},
	{FRONT ",\"routes\":{}}", "routes: must be a list of objects"},
	{FRONT ",\"routes\":[1]}", "routes[0]: must be an object with method and path"},
	{FRONT ",\"routes\":[{\"method\":\"GET\"}]}",
		"routes[0]: must be an object with method and path"},
	{FRONT ",\"routes\":[{\"method\":\"GET\",\"way\":\"/\"}]}",
		"routes[0]: must be a string"},
	{FRONT ",\"routes\":[{\"method\":\"get\",\"path\":\"/\"}]}",
		"routes[0]: has an unknown method"},
	{FRONT ",\"routes\":[{\"method\":\"HEAD\",\"path\":\"/\"}]}",
		"routes[0]: has an unknown method"},
	{FRONT ",\"routes\":[{\"method\":\"GET\",\"path\":\"x\"}]}",
		"routes[0]: has no valid path: it begins with / and has a * only at its "
		"end"},
	{FRONT ",\"routes\":[{\"method\":\"GET\",\"path\":\"/*/x\"}]}",
		"routes[0]: has no valid path: it begins with / and has a * only at its "
		"end"},
	{FRONT ",\"routes\":[{\"method\":\"GET\",\"path\":\"/\"},"
	       "{\"method\":\"PUT\",\"path\":\"/\"},{\"method\":\"GET\",\"path\":\"/"
	       "\"}]}",
		"routes[2]: is given twice"},
};

static void test_bad(void)
{
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		is_int(take(str_c(bad[i].text)), ERR_SYNTAX, "%.60s", bad[i].text);
		ok(str_starts(buf_view(&why), str_c(bad[i].why)), "%s: %.*s", bad[i].why,
			STR_ARG(buf_view(&why)));
	}
}

static const char full[] =
	FRONT ",\"env\":{\"A\":\"1=2\",\"B\":\"\"},\"needs\":[\"sh\",\"/etc\"],"
	      "\"probe\":[\"true\",\"-x\"],\"ready_seconds\":5,\"call_seconds\":86400,"
	      "\"actions\":[\"one\",\"Two-2\"],\"routes\":["
	      "{\"method\":\"GET\",\"path\":\"/\"},{\"path\":\"/\\u00e9/*\","
	      "\"method\":\"PUT\"}]}";

static void test_good(void)
{
	is_int(take(STR(FRONT "}")), 0, "the shortest");
	is_str(m.argv[0], "./p", "its program");
	ok(!m.argv[1] && !m.env[0] && !m.needs[0] && !m.probe[0] && !m.actions_n &&
			!m.routes_n,
		"and nothing else");
	ok(m.ready_ms == PLUGIN_READY_MS && m.call_ms == PLUGIN_CALL_MS, "usual times");
	is_int(take(STR(full)), 0, "all keys");
	is_str(m.env[0], "A=1=2", "a variable");
	is_str(m.env[1], "B=", "an empty one");
	ok(!m.env[2], "...is the last");
	is_str(m.needs[1], "/etc", "needs");
	is_str(m.probe[1], "-x", "a probe");
	ok(m.ready_ms == 5000 && m.call_ms == 86400000, "times");
	is_int((int)m.actions_n, 2, "actions");
	is_str(m.actions[1], "Two-2", "...by name");
	is_int((int)m.routes_n, 2, "routes");
	is_str(m.routes[1].path, "/\xc3\xa9/*", "...by path");
	is_str(m.routes[1].method, "PUT", "...and method");
	for (size_t n = 0; n < sizeof(full) - 1; n++)
		if (take(str_make(full, n)) != ERR_SYNTAX)
			ok(false, "cut at %zu", n);
	ok(true, "cut anywhere it is refused");
}

/* One item more than there may be. */
static void test_many(const char *key, const char *open, const char *item,
	const char *close, const char *words)
{
	for (size_t n = PLUGIN_WORDS_MAX; n <= PLUGIN_WORDS_MAX + 1; n++) {
		struct buf text = BUF_INIT(PLUGIN_MANIFEST_MAX);

		buf_fmt(&text, FRONT ",\"%s\":%s", key, open);
		for (size_t i = 0; i < n; i++) {
			buf_puts(&text, i ? "," : "");
			for (const char *c = item; *c; c++)
				if (*c == '#')
					buf_fmt(&text, "%zu", i);
				else
					buf_putc(&text, *c);
		}
		buf_fmt(&text, "%s}", close);
		is_int(take(buf_view(&text)), n > PLUGIN_WORDS_MAX ? ERR_SYNTAX : 0,
			"%zu %s", n, key);
		ok(n <= PLUGIN_WORDS_MAX || str_eq(buf_view(&why), str_c(words)),
			"...%.*s", STR_ARG(buf_view(&why)));
		buf_free(&text);
	}
}

static void test_memory(void)
{
	int r = -1;

	for (size_t max = 0; max < 32768 && r; max += 64) {
		struct arena small;

		arena_init(&small, max);
		buf_reset(&why);
		r = plugin_manifest_read(&m, STR(full), STR("p"), &small, &why);
		if (r && r != -ENOMEM)
			ok(false, "%zu bytes: %d", max, r);
		arena_reset(&small);
	}
	is_int(r, 0, "short of memory anywhere: -ENOMEM");
}

static void test_names(void)
{
	char name[PLUGIN_NAME_MAX + 2];

	memset(name, 'a', sizeof(name));
	ok(manifest_is_name(STR("a-b_c.9")), "a name");
	ok(!manifest_is_name(STR("")) && !manifest_is_name(STR("A")) &&
			!manifest_is_name(STR(".")) && !manifest_is_name(STR("-a")) &&
			!manifest_is_name(STR("a/b")) && !manifest_is_name(STR("a\0b")),
		"and none");
	ok(manifest_is_name(str_make(name, PLUGIN_NAME_MAX)), "the longest");
	ok(!manifest_is_name(str_make(name, PLUGIN_NAME_MAX + 1)), "a longer one");
}

int main(void)
{
	test_good();
	test_bad();
	test_many("needs", "[", "\"#\"", "]", "needs: has too many items");
	test_many("env", "{", "\"A#\":\"\"", "}", "env: has too many members");
	test_many("routes", "[", "{\"method\":\"GET\",\"path\":\"/#\"}", "]",
		"routes: has too many items");
	test_memory();
	test_names();
	arena_reset(&arena);
	buf_free(&why);
	return done_testing();
}
