#include "inject/cli/observation.h"

#include "tests/tap.h"

static void test_read(void)
{
	static const char *const bad[] = {
		"", "{}", "[]", "null", "{\"observation\":1}", "{\"observation\":\"\"}"};
	struct observation ob;

	is_int(observation_read(&ob,
		       STR("{\"observation\":\"run\",\"content\":\"a\\u0000b\","
			   "\"extras\":"
			   "{\"metadata\":{\"exit_code\":3,\"prefix\":\"p\","
			   "\"suffix\":\"s\"}}}")),
		0, "a run");
	is_view(ob.kind, "run", "kind");
	is_mem(ob.content.p, ob.content.n, "a\0b", 3, "content");
	is_int(ob.exit_code, 3, "exit code");
	is_view(ob.prefix, "p", "prefix");
	is_view(ob.suffix, "s", "suffix");
	observation_free(&ob);
	is_int(observation_read(&ob, STR("{\"observation\":\"error\"}")), 0, "an error");
	is_int(ob.exit_code, -1, "without an exit code");
	observation_free(&ob);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		ok(observation_read(&ob, str_c(bad[i])) < 0, "refused: '%s'", bad[i]);
}

static void test_failure(void)
{
	static const struct {
		const char *text;
		bool want;
	} rows[] = {
		{"{\"observation\":\"error\",\"content\":\"x\"}", true},
		{"{\"observation\":\"read\",\"content\":\"x\"}", false},
		{"{\"observation\":\"run\",\"extras\":{\"metadata\":{\"exit_code\":0}}}",
			false},
		{"{\"observation\":\"run\",\"extras\":{\"metadata\":{\"exit_code\":3}}}",
			true},
		{"{\"observation\":\"run\",\"extras\":{\"metadata\":{\"exit_code\":-1}}}",
			false},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct observation ob;

		if (observation_read(&ob, str_c(rows[i].text)))
			continue;
		is_int(observation_is_failure(&ob), rows[i].want,
			"%s is a failure or none", rows[i].text);
		observation_free(&ob);
	}
}

static void test_print(void)
{
	struct buf out = BUF_INIT(1 << 16);
	struct observation ob;

	if (observation_read(&ob,
		    STR("{\"observation\":\"read\",\"content\":\"text\",\"extras\":{"
			"\"path\":\"/x\",\"none\":null,\"empty\":\"\",\"list\":[1],"
			"\"yes\":true,\"in\":{\"n\":1.5,\"deep\":{\"x\":1}}}}")))
		return;
	observation_print(&ob, &out);
	is_view(buf_view(&out), "read\n  path: /x\n  yes: true\n  in.n: 1.5\n\ntext\n",
		"kind, what is short, content");
	observation_free(&ob);
	buf_free(&out);
}

/* What a sandbox says is a line where it should be one, and has no half characters. */
static void test_print_foreign(void)
{
	struct buf out = BUF_INIT(1 << 16), text = BUF_INIT(1 << 16);
	struct buf want = BUF_INIT(1 << 16);
	struct observation ob;

	buf_puts(&text,
		"{\"observation\":\"a\\nb\",\"extras\":{\"c\\nd\":\"e\\nf\","
		"\"g\\n\":{\"h\\n\":1},\"\\u001b[2J\":\"\\u009b1m\\u007f\",\"long\":\"");
	buf_puts(&want,
		"a b\n  c d: e f\n  g .h : 1\n"
		"  \\x1b[2J: \\xc2\\x9b1m\\x7f\n  long: x");
	buf_puts(&text, "x");
	for (int i = 0; i < 100; i++)
		buf_puts(&text, "\xc3\xa9");
	for (int i = 0; i < 99; i++)
		buf_puts(&want, "\xc3\xa9");
	buf_puts(&text, "\"}}");
	buf_puts(&want, "...\n");
	if (is_int(observation_read(&ob, buf_view(&text)), 0, "read")) {
		observation_print(&ob, &out);
		is_view(buf_view(&out), buf_cstr(&want), "a line each");
		observation_free(&ob);
	}
	buf_free(&text);
	buf_free(&want);
	buf_free(&out);
}

static void test_request(void)
{
	static const struct {
		const char *in, *want;
	} rows[] = {
		{"{\"action\":\"x\",\"args\":{}}",
			"{\"action\":{\"action\":\"x\",\"args\":{}}}"},
		{"{\"action\":{\"action\":\"x\"}}", "{\"action\":{\"action\":\"x\"}}"},
		{"{}", NULL},
		{"{\"action\":1}", NULL},
		{"[]", NULL},
		{"x", NULL},
	};
	struct buf out = BUF_INIT(1 << 16);

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int r;

		buf_reset(&out);
		r = observation_write_request(str_c(rows[i].in), &out);
		is_int(r == 0, rows[i].want != NULL, "request %s", rows[i].in);
		is_view(buf_view(&out), rows[i].want ? rows[i].want : "", "in its form");
	}
	buf_free(&out);
}

int main(void)
{
	test_read();
	test_failure();
	test_print();
	test_print_foreign();
	test_request();
	return done_testing();
}
