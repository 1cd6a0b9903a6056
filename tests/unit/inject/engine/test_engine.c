#include "inject/engine/engine.h"

#include "inject/console/out.h"
#include "inject/image/probe.h"
#include "tests/tap.h"

static void test_version(void)
{
	static const struct {
		const char *text;
		int want;
		unsigned minor;
	} rows[] = {
		{"1.41", 0, 41},
		{"1.24", 0, 24},
		{"1.47", 0, 47},
		{"1.48", 0, 47},
		{"1.9999", 0, 47},
		{"1.23", ERR_VERSION, 0},
		{"1.0", ERR_VERSION, 0},
		{"1.", ERR_SYNTAX, 0},
		{"1.x", ERR_SYNTAX, 0},
		{"2.0", ERR_SYNTAX, 0},
		{"", ERR_SYNTAX, 0},
		{"1.41 ", ERR_SYNTAX, 0},
		{"1.99999999999999999999", ERR_SYNTAX, 0},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		unsigned minor = 0;
		int r = engine_choose_version(str_c(rows[i].text), &minor);

		is_int(r, rows[i].want, "version '%s'", rows[i].text);
		is_int(minor, rows[i].minor, "what is spoken");
	}
}

static void test_clean(void)
{
	static const struct {
		const char *in, *line, *lines;
	} rows[] = {
		{"plain \xc3\xa9", "plain \xc3\xa9", "plain \xc3\xa9"},
		{"a\nb\tc", "a\\x0ab\\x09c", "a\nb\tc"},
		{"\x1b[31m\r\x07\x7f", "\\x1b[31m\\x0d\\x07\\x7f",
			"\\x1b[31m\\x0d\\x07\\x7f"},
		{"\xc2\x9b", "\\xc2\\x9b", "\\xc2\\x9b"},
		{"\x9b\xff\xc3", "\\x9b\\xff\\xc3", "\\x9b\\xff\\xc3"},
		{"\xef\xbf\xbd", "\xef\xbf\xbd", "\xef\xbf\xbd"},
	};
	struct buf out = BUF_INIT(1 << 10);

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		buf_reset(&out);
		out_clean(&out, str_c(rows[i].in), false);
		is_view(buf_view(&out), rows[i].line, "row %zu in a line", i);
		buf_reset(&out);
		out_clean(&out, str_c(rows[i].in), true);
		is_view(buf_view(&out), rows[i].lines, "row %zu as lines", i);
	}
	buf_free(&out);
}

static void test_words(void)
{
	static const struct {
		const char *body, *want;
	} rows[] = {
		{"{\"message\":\"no\\u001bway\"}", "no\\x1bway"},
		{"{\"message\":\"\"}", "{\"message\":\"\"}"},
		{"plain\n", "plain"},
		{"", "status 500"},
		{"{\"cause\":1}", "{\"cause\":1}"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct buf out = BUF_INIT(1 << 12);
		struct reply r;

		reply_init(&r);
		r.status = 500;
		buf_puts(&r.body, rows[i].body);
		engine_read_message(&r, &out);
		is_view(buf_view(&out), rows[i].want, "words %zu", i);
		reply_free(&r);
		buf_free(&out);
	}
}

static void test_stat(void)
{
	static const struct {
		const char *header;
		int want;
		enum probe_kind kind;
		const char *target;
	} rows[] = {
		/* {"mode":2147484141}: a directory, 0755 */
		{"eyJtb2RlIjoyMTQ3NDg0MTQxfQ==", 0, PROBE_FOLDER, ""},
		/* {"mode":134218239,"linkTarget":"/x/y"}: a symbolic link */
		{"eyJtb2RlIjoxMzQyMTgyMzksImxpbmtUYXJnZXQiOiIveC95In0=", 0, PROBE_LINK,
			"/x/y"},
		/* {"mode":493,"linkTarget":"/x"}: a program, which leads nowhere */
		{"eyJtb2RlIjo0OTMsImxpbmtUYXJnZXQiOiIveCJ9", 0, PROBE_PROGRAM, ""},
		/* {"mode":8389101}: one that changes the user, 4755 */
		{"eyJtb2RlIjo4Mzg5MTAxfQ==", 0, PROBE_PROGRAM, ""},
		/* {"mode":420}: a file that nobody may execute */
		{"eyJtb2RlIjo0MjB9", 0, PROBE_OTHER, ""},
		/* {"mode":16777709}: a socket */
		{"eyJtb2RlIjoxNjc3NzcwOX0=", 0, PROBE_OTHER, ""},
		/* {"mode":"x"}, {}, [ */
		{"eyJtb2RlIjoieCJ9", ERR_TYPE, PROBE_ABSENT, ""},
		{"e30=", ERR_TYPE, PROBE_ABSENT, ""},
		{"Ww==", ERR_SYNTAX, PROBE_ABSENT, ""},
		{"not base64!", ERR_SYNTAX, PROBE_ABSENT, ""},
		{"", ERR_SYNTAX, PROBE_ABSENT, ""},
	};
	struct buf target = BUF_INIT(64);

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct probe_stat st = {.kind = PROBE_ABSENT};

		buf_reset(&target);
		is_int(probe_read_stat(str_c(rows[i].header), &st, &target), rows[i].want,
			"stat %zu", i);
		is_int(st.kind, rows[i].kind, "its kind");
		is_view(buf_view(&target), rows[i].target, "where it leads to");
	}
	buf_free(&target);
}

int main(void)
{
	test_version();
	test_clean();
	test_words();
	test_stat();
	return done_testing();
}
