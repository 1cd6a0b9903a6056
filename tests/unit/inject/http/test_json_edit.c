#include "inject/http/edit.h"

#include "inject/http/json_doc.h"
#include "tests/tap.h"

static void object(const char *text, const struct edit *edits, size_t n, const char *want)
{
	struct buf out = BUF_INIT(4096);
	struct json_doc d;

	if (!ok(json_doc_parse(&d, str_c(text)) == 0, "%s is JSON", text))
		return;
	edit_object(&out, json_get(json_doc_root(&d), "x"), edits, n);
	is_view(buf_view(&out), want, "edited %s", text);
	json_doc_free(&d);
	buf_free(&out);
}

static void test_object(void)
{
	const struct edit set[] = {{"a", .value = STR("1")}, {"b", .value = STR("[2]")}};
	const struct edit drop[] = {{.key = "a"}, {.key = "z"}};

	object("{\"x\":{}}", set, 2, "{\"a\":1,\"b\":[2]}");
	object("{\"x\":{}}", drop, 2, "{}");
	object("{\"x\":null}", set, 1, "{\"a\":1}");
	object("{}", set, 1, "{\"a\":1}");
	object("{\"x\":[1]}", set, 1, "{\"a\":1}");
	object("{\"x\":{\"c\":1e2,\"b\":{ \"k\" : \"\\u00e9\" },\"a\":null}}", set, 1,
		"{\"c\":1e2,\"b\":{ \"k\" : \"\\u00e9\" },\"a\":1}");
	object("{\"x\":{\"a\":0,\"b\":0}}", set, 2, "{\"a\":1,\"b\":[2]}");
	object("{\"x\":{\"c\":0,\"a\":0,\"d\":0}}", drop, 2, "{\"c\":0,\"d\":0}");
	object("{\"x\":{\"\\u0061\":0}}", set, 1, "{\"\\u0061\":1}");
	object("{\"x\":{\"\\u0061\":0}}", drop, 1, "{}");
}

/* Values that are still being made when the edits are written down. */
static void test_made(void)
{
	struct buf a = BUF_INIT(16), out = BUF_INIT(4096);
	struct edit edits[] = {{"a", .text = &a}, {"b", .value = STR("2"), .keep = true},
		{.key = "c", .keep = true}};
	struct json_doc d;

	if (!ok(json_doc_parse(&d, STR("{\"a\":0,\"c\":0}")) == 0, "JSON"))
		return;
	buf_puts(&a, "[1]");
	edit_object(&out, json_doc_root(&d), edits, ARRAY_LEN(edits));
	is_view(buf_view(&out), "{\"a\":[1],\"c\":0}", "a text, and what is kept");
	buf_puts(&a, "longer than its buffer may be");
	edit_object(&out, json_doc_root(&d), edits, ARRAY_LEN(edits));
	is_int(out.err, ERR_LIMIT, "a text that has failed is an error");
	json_doc_free(&d);
	buf_free(&a);
	buf_free(&out);
}

static void array(const char *text, size_t skip_at, struct str more, const char *want)
{
	struct buf out = BUF_INIT(4096);
	struct json_doc d;

	if (!ok(json_doc_parse(&d, str_c(text)) == 0, "%s is JSON", text))
		return;
	edit_array(&out, json_get(json_doc_root(&d), "x"), skip_at, more);
	is_view(buf_view(&out), want, "edited %s", text);
	json_doc_free(&d);
	buf_free(&out);
}

static void test_array(void)
{
	const struct str nothing = {NULL, 0};

	array("{\"x\":[]}", SIZE_MAX, nothing, "[]");
	array("{\"x\":[]}", SIZE_MAX, STR("1"), "[1]");
	array("{\"x\":[]}", 0, STR("1"), "[1]");
	array("{}", SIZE_MAX, STR("1"), "[1]");
	array("{\"x\":{\"a\":1}}", SIZE_MAX, STR("1"), "[1]");
	array("{\"x\":[1.0,{\"a\": 1}]}", SIZE_MAX, STR("{}"), "[1.0,{\"a\": 1},{}]");
	array("{\"x\":[1,2,3]}", 0, nothing, "[2,3]");
	array("{\"x\":[1,2,3]}", 1, STR("4"), "[1,3,4]");
	array("{\"x\":[1,2,3]}", 2, STR("4"), "[1,2,4]");
	array("{\"x\":[1]}", 0, nothing, "[]");
}

int main(void)
{
	test_object();
	test_made();
	test_array();
	return done_testing();
}
