#include "codec/http/jsonrpc.h"

#include "limits.h"
#include "tests/tap.h"

#include <stdlib.h>

static struct arena arena;
static struct json doc;

/* Behind what is read stands nothing: the text ends with its allocation. */
static int read_text(const char *text, struct jsonrpc *m, const char **why)
{
	static const struct json_caps caps = {
		JSON_DEPTH_MAX, JSON_TOKENS_MAX, JSON_KEYS_MAX};
	static char *copy;
	struct json_error e;
	size_t n = strlen(text);
	int r;

	free(copy);
	copy = malloc(n ? n : 1);
	memcpy(copy, text, n);
	arena_reset(&arena);
	arena_init(&arena, HTTP_ARENA_MAX);
	*why = "";
	r = json_parse(&doc, str_make(copy, n), &caps, &arena, &e);
	return r ? r : jsonrpc_read(json_root(&doc), &arena, m, why);
}

static const struct {
	const char *text;
	enum jsonrpc_kind kind;
	const char *id, *method;
} good[] = {
	{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}", JSONRPC_REQUEST, "1", "a"},
	{"{\"method\":\"\\u0061/b\",\"id\":\"x\\n\",\"params\":{},\"jsonrpc\":\"2.0\"}",
		JSONRPC_REQUEST, "\"x\\n\"", "a/b"},
	{"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"\",\"params\":[]}",
		JSONRPC_REQUEST, "1.5", ""},
	{"{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":{\"a\":1}}",
		JSONRPC_NOTIFICATION, "", "n"},
	{"{\"jsonrpc\":\"2.0\",\"id\":-3,\"result\":null}", JSONRPC_RESPONSE, "-3", ""},
	{"{\"jsonrpc\":\"2.0\",\"id\":\"\",\"error\":{}}", JSONRPC_RESPONSE, "\"\"", ""},
	{"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":1}}", JSONRPC_RESPONSE, "",
		""},
};

static void test_good(void)
{
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		const char *why;
		struct jsonrpc m;

		is_int(read_text(good[i].text, &m, &why), 0, "%s", good[i].text);
		is_int(m.kind, good[i].kind, "its kind");
		is_view(m.id, good[i].id, "its id");
		is_view(m.method, good[i].method, "its method");
	}
}

static const struct {
	const char *text, *id, *word;
} bad[] = {
	{"[]", "", "object"},
	{"{}", "", "2.0"},
	{"{\"id\":7}", "7", "2.0"},
	{"{\"jsonrpc\":\"1.0\",\"id\":7,\"method\":\"a\"}", "7", "2.0"},
	{"{\"jsonrpc\":2.0,\"id\":7,\"method\":\"a\"}", "7", "2.0"},
	{"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"a\"}", "", "id"},
	{"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"a\"}", "", "id"},
	{"{\"jsonrpc\":\"2.0\",\"id\":true,\"method\":\"a\"}", "", "id"},
	{"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":1}", "7", "method"},
	{"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"a\",\"params\":\"b\"}", "7",
		"params"},
	{"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"a\",\"params\":null}", "7",
		"params"},
	{"{\"jsonrpc\":\"2.0\",\"id\":7}", "7", "result"},
	{"{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":1,\"error\":{}}", "7", "result"},
	{"{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":\"no\"}", "7", "error"},
	{"{\"jsonrpc\":\"2.0\",\"id\":null,\"result\":1}", "", "id"},
};

static void test_bad(void)
{
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		const char *why;
		struct jsonrpc m;

		is_int(read_text(bad[i].text, &m, &why), ERR_TYPE, "%s", bad[i].text);
		is_view(m.id, bad[i].id, "its id");
		ok(strstr(why, bad[i].word), "is about \"%s\": %s", bad[i].word, why);
	}
}

static void test_long_id(void)
{
	struct buf text = BUF_INIT(4096);
	struct jsonrpc m;
	const char *why;

	for (int more = 0; more < 2; more++) {
		buf_reset(&text);
		buf_puts(&text, "{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"id\":\"");
		for (int i = 2 - more; i < JSONRPC_ID_MAX; i++)
			buf_putc(&text, 'i');
		buf_puts(&text, "\"}");
		is_int(read_text(buf_cstr(&text), &m, &why), more ? ERR_TYPE : 0,
			"an id of %d bytes", JSONRPC_ID_MAX + more);
	}
	buf_free(&text);
}

static void test_write(void)
{
	struct buf out = BUF_INIT(4096);
	struct jw w;

	jsonrpc_begin(&w, &out, STR("\"a\\u0000\""));
	jw_object(&w);
	jw_end(&w);
	jsonrpc_end(&w);
	is_view(buf_view(&out), "{\"jsonrpc\":\"2.0\",\"id\":\"a\\u0000\",\"result\":{}}",
		"a result; the id goes back as it came");
	buf_reset(&out);
	jsonrpc_write_error(&out, STR(""), JSONRPC_PARSE, STR("no \"JSON\""));
	is_view(buf_view(&out),
		"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,"
		"\"message\":\"no \\\"JSON\\\"\"}}",
		"an error without an id");
	buf_reset(&out);
	jsonrpc_write_call(&out, 7, STR("a/b"), STR("{\"c\":1}"));
	is_view(buf_view(&out),
		"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"a/b\",\"params\":{\"c\":1}}",
		"a request");
	buf_reset(&out);
	jsonrpc_write_call(&out, 0, STR("a"), STR(""));
	is_view(buf_view(&out), "{\"jsonrpc\":\"2.0\",\"method\":\"a\"}",
		"a notification without params");
	buf_free(&out);
}

static void test_pass(void)
{
	struct buf out = BUF_INIT(4096);
	struct jsonrpc m;
	const char *why;

	is_int(read_text("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":[ 1]}", &m, &why), 0,
		"a response");
	jsonrpc_write_forward(&out, STR("\"x\""), &m);
	is_view(buf_view(&out), "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":[ 1]}",
		"its result under another id");
	buf_reset(&out);
	is_int(read_text(
		       "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":2}}", &m, &why),
		0, "an error");
	jsonrpc_write_forward(&out, STR("3"), &m);
	is_view(buf_view(&out), "{\"jsonrpc\":\"2.0\",\"id\":3,\"error\":{\"code\":2}}",
		"the same");
	buf_free(&out);
}

static void test_spoiled(void)
{
	static const struct {
		const char *text, *id;
	} cases[] = {
		{"{\"jsonrpc\":\"2.0\",\"id\":12,\"result\":{\"a\":NaN}}", "12"},
		{"{\"id\" : 7 ,\"result\":1,\"error\":{}, \"jsonrpc\":\"2.0\"}", "7"},
		{"{\"result\":{\"id\":1,\"x\":\"\\\"id\\\":2\"},\"jsonrpc\":0,\"id\":3",
			"3"},
		{"{\"jsonrpc\":\"2.0\",\"result\":[{\"id\":1}]}", ""},
		{"{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"a\",\"params\":NaN}", ""},
		{"{\"level\":\"info\",\"id\":5}", ""},
		{"{\"jsonrpc\":\"2.0\",\"id\":\"a\",NaN}", ""},
		{"]]}{\"jsonrpc\":\"\",\"id\":", ""},
		{"{\"jsonrpc\":1,\"id", ""},
		{"{\"jsonrpc\":\"\\", ""},
		{"id: 5", ""},
		{"", ""},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		is_view(jsonrpc_recover_id(str_c(cases[i].text)), cases[i].id, "%s",
			cases[i].text);
}

int main(void)
{
	test_spoiled();
	test_good();
	test_bad();
	test_long_id();
	test_write();
	test_pass();
	arena_reset(&arena);
	return done_testing();
}
