#include "codec/http/request_head.h"
#include "tests/tap.h"

#include <errno.h>

#define S(lit) \
	{ \
		(lit), sizeof(lit) - 1 \
	}

static const struct {
	int err;
	const char *method;
	struct str prefix, target, host;
	const char *want;
} lines[] = {
	{0, "GET", S(""), S("/"), S("h"), "GET / HTTP/1.1\r\nHost: h\r\n"},
	{0, "GET", S("/v1.41"), S("/x?a=%0D%0A"), S("[::1]:80"),
		"GET /v1.41/x?a=%0D%0A HTTP/1.1\r\nHost: [::1]:80\r\n"},
	{-EINVAL, "GET x", S(""), S("/"), S("h"), ""},
	{-EINVAL, "", S(""), S("/"), S("h"), ""},
	{-EINVAL, "GET\r\n", S(""), S("/"), S("h"), ""},
	{-EINVAL, "GET", S(""), S(""), S("h"), ""},
	{-EINVAL, "GET", S("/v1"), S(""), S("h"), ""},
	{-EINVAL, "GET", S(""), S("x"), S("h"), ""},
	{-EINVAL, "GET", S(""), S("http://h/"), S("h"), ""},
	{-EINVAL, "GET", S(""), S("/a b"), S("h"), ""},
	{-EINVAL, "GET", S(""), S("/a\tb"), S("h"), ""},
	{-EINVAL, "GET", S(""), S("/a\r\nX: y"), S("h"), ""},
	{-EINVAL, "GET", S(""), S("/a\nb"), S("h"), ""},
	{-EINVAL, "GET", S(""), S("/a\0b"), S("h"), ""},
	{-EINVAL, "GET", S(""), S("/a\x7f"), S("h"), ""},
	{-EINVAL, "GET", S(""), S("/\xc3\xa9"), S("h"), ""},
	{-EINVAL, "GET", S(""), S("/a#b"), S("h"), ""},
	{-EINVAL, "GET", S("/v1 "), S("/a"), S("h"), ""},
	{-EINVAL, "GET", S(""), S("/"), S(""), ""},
	{-EINVAL, "GET", S(""), S("/"), S("h\r\nX: y"), ""},
	{-EINVAL, "GET", S(""), S("/"), S("h x"), ""},
};

static void test_lines(void)
{
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		const struct request_line line = {
			lines[i].method, lines[i].prefix, lines[i].target, lines[i].host};
		struct buf out = BUF_INIT(256);

		request_head_begin(&out, &line);
		is_int(out.err, lines[i].err, "the result of line %zu", i);
		is_view(buf_view(&out), lines[i].want, "the bytes of line %zu", i);
		buf_free(&out);
	}
}

static const struct {
	int err;
	struct str in;
	const char *want;
} fields[] = {
	{0, S(""), ""},
	{0, S("A: b\r\n"), "A: b\r\n"},
	{0, S("A: b\r\nC:d e\t\xff\r\n"), "A: b\r\nC: d e\t\xff\r\n"},
	{0, S("A:\r\n"), "A: \r\n"},
	{-EINVAL, S("A: b"), ""},
	{-EINVAL, S("A\r\n"), ""},
	{-EINVAL, S("\r\n"), ""},
	{-EINVAL, S("A: b\r\n\r\nGET / HTTP/1.1\r\n"), "A: b\r\n"},
	{-EINVAL, S(": b\r\n"), ""},
	{-EINVAL, S("A : b\r\n"), ""},
	{-EINVAL, S(" A: b\r\n"), ""},
	{-EINVAL, S("A: b\nC: d\r\n"), ""},
	{-EINVAL, S("A: b\rC: d\r\n"), ""},
	{-EINVAL, S("A: b\0c\r\n"), ""},
	{-EINVAL, S("A: \x1b[2J\r\n"), ""},
};

static void test_fields(void)
{
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		struct buf out = BUF_INIT(256);

		request_head_put_fields(&out, fields[i].in);
		is_int(out.err, fields[i].err, "the result of fields %zu", i);
		is_view(buf_view(&out), fields[i].want, "the bytes of fields %zu", i);
		buf_free(&out);
	}
}

/* A value made elsewhere cannot end its field. */
static void test_field(void)
{
	struct buf out = BUF_INIT(256);

	request_head_put_field(&out, STR("Key"), STR("a b"));
	is_view(buf_view(&out), "Key: a b\r\n", "one field");
	request_head_put_field(&out, STR("Key"), STR("a\r\nX: y"));
	is_int(out.err, -EINVAL, "a value with another line fails");
	request_head_put_field(&out, STR("Key"), STR("c"));
	is_view(buf_view(&out), "Key: a b\r\n", "nothing follows a failure");
	buf_free(&out);
}

int main(void)
{
	test_lines();
	test_fields();
	test_field();
	return done_testing();
}
