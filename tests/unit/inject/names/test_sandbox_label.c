#include "inject/names/sandbox_label.h"
#include "tests/tap.h"

struct row {
	enum sandbox_label which;
	const char *json; /* the value, as JSON */
	const char *want; /* empty: none */
};

static const struct row rows[] = {
	{SANDBOX_LABEL_MARK, "\"1\"", "1"},
	{SANDBOX_LABEL_MARK, "\"\"", ""},
	{SANDBOX_LABEL_MARK, "\"01\"", ""},
	{SANDBOX_LABEL_MARK, "1", ""},
	{SANDBOX_LABEL_MARK, "null", ""},
	{SANDBOX_LABEL_IMAGE, "\"debian:12\"", "debian:12"},
	{SANDBOX_LABEL_IMAGE, "\"../x\"", ""},
	{SANDBOX_LABEL_IMAGE, "\"a b\"", ""},
	{SANDBOX_LABEL_IMAGE, "\"a\\u001b[2J\"", ""},
	{SANDBOX_LABEL_METHOD, "\"bind\"", "bind"},
	{SANDBOX_LABEL_METHOD, "\"bind2\"", ""},
	{SANDBOX_LABEL_METHOD, "\"\"", ""},
	{SANDBOX_LABEL_PORT, "\"1\"", "1"},
	{SANDBOX_LABEL_PORT, "\"65535\"", "65535"},
	{SANDBOX_LABEL_PORT, "\"65536\"", ""},
	{SANDBOX_LABEL_PORT, "\"0\"", ""},
	{SANDBOX_LABEL_PORT, "\"-1\"", ""},
	{SANDBOX_LABEL_PORT, "\" 80\"", ""},
	{SANDBOX_LABEL_PORT, "\"\"", ""},
	{SANDBOX_LABEL_PORT, "80", ""},
	{SANDBOX_LABEL_OVERLAY, "\"od-overlay-0123456789abcdef\"",
		"od-overlay-0123456789abcdef"},
	{SANDBOX_LABEL_OVERLAY, "\"od-overlay-0123456789abcdeF\"", ""},
	{SANDBOX_LABEL_OVERLAY, "\"od-overlay-0123456789abcde\"", ""},
	{SANDBOX_LABEL_OVERLAY, "\"od-overlay-0123456789abcdef0\"", ""},
	{SANDBOX_LABEL_OVERLAY, "\"od-overlay-0123456789abcde\\u0000\"", ""},
	{SANDBOX_LABEL_OVERLAY, "\"od-overlay-0123456789abcdef\\r\\nX: y\"", ""},
	{SANDBOX_LABEL_OVERLAY, "\"x/od-overlay-0123456789abcdef\"", ""},
	{SANDBOX_LABEL_OVERLAY, "\"victim\"", ""},
	{SANDBOX_LABEL_OVERLAY, "\"\"", ""},
	{SANDBOX_LABEL_OVERLAY, "[\"od-overlay-0123456789abcdef\"]", ""},
	{SANDBOX_LABEL_NAME, "\"od-12ab\"", "od-12ab"},
	{SANDBOX_LABEL_NAME, "\"a/b\"", ""},
	{SANDBOX_LABEL_OWNER, "\"box 0a.0b.1.2.3.4\"", "box 0a.0b.1.2.3.4"},
	{SANDBOX_LABEL_OWNER, "\"box 0a.0b.1.2.3\"", ""},
	{SANDBOX_LABEL_OWNER, "\"a/b 0a.0b.1.2.3.4\"", ""},
	{SANDBOX_LABEL_BOUND, "\"box\"", ""},
	{SANDBOX_LABEL_PROBE, "\"1\"", "1"},
	{SANDBOX_LABEL_PROBE, "\"2\"", ""},
};

static void test_read(void)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct buf text = BUF_INIT(1024);
		struct json_val labels;
		struct json_doc d;

		buf_fmt(&text, "{\"x\":\"y\",\"%s\":%s}",
			sandbox_label_name(rows[i].which), rows[i].json);
		if (!is_int(json_doc_parse(&d, buf_view(&text)), 0, "row %zu is JSON",
			    i)) {
			buf_free(&text);
			continue;
		}
		labels = json_doc_root(&d);
		ok(str_eq(sandbox_label_read(&d, labels, rows[i].which),
			   str_c(rows[i].want)),
			"%s of %s", sandbox_label_name(rows[i].which), rows[i].json);
		is_int(sandbox_label_is_set(&d, labels, rows[i].which),
			strcmp(rows[i].json, "\"1\"") == 0, "it is set only if it is 1");
		json_doc_free(&d);
		buf_free(&text);
	}
}

static void test_absent(void)
{
	static const char *const texts[] = {"{}", "[]", "{\"od.sandboxes\":\"1\"}"};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct json_doc d;

		is_int(json_doc_parse(&d, str_c(texts[i])), 0, "%s is JSON", texts[i]);
		for (enum sandbox_label which = 0; which < SANDBOX_LABELS; which++)
			ok(sandbox_label_read(&d, json_doc_root(&d), which).n == 0 &&
					!sandbox_label_is_set(
						&d, json_doc_root(&d), which),
				"%s has no label %s", texts[i],
				sandbox_label_name(which));
		json_doc_free(&d);
	}
}

static void test_write(void)
{
	const struct str values[SANDBOX_LABELS] = {[SANDBOX_LABEL_MARK] = STR("1")};
	struct buf out = BUF_INIT(4096);
	struct json_doc d;
	struct jw w;

	jw_init(&w, &out);
	jw_object(&w);
	sandbox_label_write_all(values, &w);
	jw_end(&w);
	is_int(json_doc_parse(&d, buf_view(&out)), 0, "the labels are JSON");
	for (enum sandbox_label which = 0; which < SANDBOX_LABELS; which++)
		is_int(json_type(json_get(json_doc_root(&d), sandbox_label_name(which))),
			JSON_STRING, "%s is written, used or not",
			sandbox_label_name(which));
	json_doc_free(&d);
	buf_free(&out);
}

static void test_owner(void)
{
	static const char *const texts[] = {
		"{\"od.sandbox.owner\":\"box 0a.0b.1.2.3.4\"}",
		"{\"od.sandbox.owner\":\"box2 0a.0b.1.2.3.4\"}",
		"{\"od.sandbox.owner\":\"box 0a\"}",
		"{\"od.sandbox.bound\":\"box 0a.0b.1.2.3.4\"}",
	};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct json_doc d;

		is_int(json_doc_parse(&d, str_c(texts[i])), 0, "%s is JSON", texts[i]);
		ok(str_eq(sandbox_label_owner(
				  &d, json_doc_root(&d), SANDBOX_LABEL_OWNER, STR("box")),
			   i ? STR("") : STR("0a.0b.1.2.3.4")),
			"the owner of box in %s", texts[i]);
		json_doc_free(&d);
	}
}

static void test_reserved(void)
{
	enum sandbox_label which = SANDBOX_LABEL_MARK;

	ok(sandbox_label_is_reserved(STR("od.sandbox.via"), &which) &&
			which == SANDBOX_LABEL_METHOD,
		"a label of a row is reserved");
	ok(sandbox_label_is_reserved(STR("od.other"), &which) && which == SANDBOX_LABELS,
		"so is one that has no row");
	ok(!sandbox_label_is_reserved(STR("odd.sandbox"), &which), "others are not");
}

int main(void)
{
	test_read();
	test_absent();
	test_write();
	test_owner();
	test_reserved();
	return done_testing();
}
