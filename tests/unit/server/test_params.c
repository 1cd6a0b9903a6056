#include "limits.h"
#include "server/params.h"
#include "tests/tap.h"

#include <stdlib.h>

struct values {
	struct str text, path;
	bool flag;
	uint64_t number;
	unsigned choice;
};

#define AT(member) offsetof(struct values, member)

static const char *const words[] = {"one", "two", NULL};

static const struct param table[] = {
	{"text", PARAM_TEXT, .at = AT(text)},
	{"path", PARAM_PATH, .at = AT(path)},
	{"flag", PARAM_BOOL, .at = AT(flag)},
	{"number", PARAM_NUMBER, .at = AT(number), .max = 20},
	{"choice", PARAM_CHOICE, .at = AT(choice), .words = words},
};

/* The source ends flush with its allocation. */
static int take(const char *from, bool json, const struct param *t, size_t n,
	struct values *v, struct params *p)
{
	static struct arena arena;
	static char *copy;
	size_t len = strlen(from);
	int r = 0;

	free(copy);
	copy = malloc(len ? len : 1);
	memcpy(copy, from, len);
	arena_reset(&arena);
	arena_init(&arena, HTTP_ARENA_MAX);
	*p = (struct params){.arena = &arena, .cwd = STR("/w")};
	if (json)
		r = params_parse_body(p, str_make(copy, len));
	else
		p->query = str_make(copy, len);
	return r ? r : params_read(p, t, n, v);
}

static const struct {
	const char *query, *json;
	struct values want;
} good[] = {
	{"", "{}", {STR("old"), STR("/old"), true, 7, 1}},
	{"other=1&Flag=0", "{\"other\":[1],\"Flag\":0}",
		{STR("old"), STR("/old"), true, 7, 1}},
	{"text=&path=", "{\"text\":\"\",\"path\":\"\"}",
		{STR(""), STR("/old"), true, 7, 1}},
	{NULL, "{\"text\":null,\"path\":null,\"flag\":null,\"number\":null}",
		{STR("old"), STR("/old"), true, 7, 1}},
	{"text=a%2Bb+c&path=%2Fx", "{\"text\":\"a+b c\",\"path\":\"/x\"}",
		{STR("a+b c"), STR("/x"), true, 7, 1}},
	{"path=x/y&flag=No&number=0", "{\"path\":\"x/y\",\"flag\":false,\"number\":0}",
		{STR("old"), STR("/w/x/y"), false, 0, 1}},
	{"number=20&choice=one&flag=T",
		"{\"number\":\"20\",\"choice\":\"one\",\"flag\":\"on\"}",
		{STR("old"), STR("/old"), true, 20, 0}},
};

static void is_good(const char *from, bool json, const struct values *want)
{
	struct values v = {STR("old"), STR("/old"), true, 7, 1};
	struct params p;

	is_int(take(from, json, table, ARRAY_LEN(table), &v, &p), 0, "%s", from);
	ok(str_eq(v.text, want->text) && str_eq(v.path, want->path), "texts");
	ok(v.flag == want->flag && v.number == want->number && v.choice == want->choice,
		"values");
}

static void test_good(void)
{
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		if (good[i].query)
			is_good(good[i].query, false, &good[i].want);
		if (good[i].json)
			is_good(good[i].json, true, &good[i].want);
	}
}

static const struct {
	const char *query, *json;
	const char *wrong;
} bad[] = {
	{"flag=x", "{\"flag\":2}", "flag: it must be true or false"},
	{"flag=", "{\"flag\":\"\"}", "flag: it must be true or false"},
	{"number=21", "{\"number\":21}", "number: it must be a number from 0 to 20"},
	{"number=-1", "{\"number\":-1}", "number: it must be a number from 0 to 20"},
	{"number=", "{\"number\":1.5}", "number: it must be a number from 0 to 20"},
	{"choice=three", "{\"choice\":1}", "choice: it must be one of one, two"},
	{"text=a&text=b", NULL, "text: it is given twice or badly encoded"},
	{"text=%zz", NULL, "text: it is given twice or badly encoded"},
	{"text=%00", NULL, "text: it is given twice or badly encoded"},
	{NULL, "{\"text\":1}", "text: it must be a string"},
	{NULL, "{\"path\":true}", "path: it must be a string"},
	{NULL, "{\"number\":[1]}", "number: it must be a string"},
};

static void test_bad(void)
{
	struct values v = {STR("old"), STR("/old"), true, 7, 1};
	struct params p;

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		if (bad[i].query) {
			is_int(take(bad[i].query, false, table, ARRAY_LEN(table), &v, &p),
				422, "%s", bad[i].query);
			is_str(p.error, bad[i].wrong, "in words");
		}
		if (bad[i].json) {
			is_int(take(bad[i].json, true, table, ARRAY_LEN(table), &v, &p),
				422, "%s", bad[i].json);
			is_str(p.error, bad[i].wrong, "in words");
		}
	}
}

static void test_required(void)
{
	static const struct param text = {"text", PARAM_TEXT, true, .at = AT(text)};
	static const struct param path = {"path", PARAM_PATH, true, .at = AT(path)};
	static const struct param least = {
		"n", PARAM_NUMBER, .at = AT(number), .min = 2, .max = 3};
	struct values v = {.number = 0};
	struct params p;

	is_int(take("", false, &text, 1, &v, &p), 422, "a text that is required");
	is_str(p.error, "text: it is required", "in words");
	is_int(take("text=", false, &text, 1, &v, &p), 0, "an empty one is there");
	is_int(take("{\"text\":null}", true, &text, 1, &v, &p), 422, "null is not");
	is_int(take("path=", false, &path, 1, &v, &p), 422, "an empty path is not");
	is_str(p.error, "path: it is required", "in words");
	is_int(take("n=1", false, &least, 1, &v, &p), 422, "a number that is too small");
	is_str(p.error, "n: it must be a number from 2 to 3", "in words");
	is_int(take("n=2", false, &least, 1, &v, &p), 0, "the least");
}

static void test_body(void)
{
	static const struct {
		int status;
		const char *body, *wrong;
	} rows[] = {
		{422, "", "body: the text ends too early (at byte 0)"},
		{422, "[]", "body: it is not a JSON object (at byte 0)"},
		{422, "3", "body: the text must be an object or an array (at byte 0)"},
		{400, "{\"a\":1,\"a\":2}", "body: the key is given twice (at byte 8)"},
		{400, "{\"a\":\"\xff\"}", NULL},
	};
	struct values v;
	struct params p;
	char deep[4 * JSON_DEPTH_MAX];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		is_int(take(rows[i].body, true, table, 0, &v, &p), rows[i].status,
			"body %zu", i);
		if (rows[i].wrong)
			is_str(p.error, rows[i].wrong, "in words");
	}
	memset(deep, '[', sizeof(deep));
	deep[sizeof(deep) - 1] = '\0';
	is_int(take(deep, true, table, 0, &v, &p), 400, "too deep");
}

static void test_memory(void)
{
	struct arena none;
	struct params p = {.arena = &none, .query = STR("text=x")};
	struct values v;

	arena_init(&none, 1);
	is_int(params_read(&p, table, 1, &v), 503, "no memory for a text");
	is_int(params_parse_body(&p, STR("{}")), 503, "nor for a body");
	arena_reset(&none);
}

int main(void)
{
	test_good();
	test_bad();
	test_required();
	test_body();
	test_memory();
	return done_testing();
}
