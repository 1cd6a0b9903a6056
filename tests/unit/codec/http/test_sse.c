#include "codec/http/sse.h"

#include "tests/tap.h"

/* The data of all events, each behind '|', of text that comes in pieces. */
static int gather(struct str text, size_t step, size_t max, struct buf *out)
{
	struct str data;
	struct sse s;
	int r = 1;

	sse_init(&s, max);
	buf_reset(out);
	for (size_t at = 0; at < text.n && r > 0; at += step) {
		struct str in = str_skip(text, at);

		in.n = in.n < step ? in.n : step;
		while ((r = sse_next(&s, &in, &data)) == 0) {
			buf_putc(out, '|');
			buf_str(out, data);
		}
	}
	sse_free(&s);
	return r < 0 ? r : 0;
}

static void test_events(void)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{"data: a\n\n", "|a"},
		{"event: message\ndata: a\nid: 1\n\ndata: b\n\n", "|a|b"},
		{"data:a\r\ndata:  b\r\n\r\n", "|a\n b"},
		{"data\n\n", "|"},
		{"data:\ndata\n\n", "|\n"},
		{":\n\n: data: x\n\n\n\n", ""},
		{"event: x\n\n", ""},
		{"data: a\n", ""},
		{"data: a\n\ndata: b", "|a"},
		{"datax: a\n data: b\n\n", ""},
		{"data: a:b\rc\n\n", "|a:b\rc"},
	};
	struct buf out = BUF_INIT(1024);

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		size_t n = strlen(rows[i].text);

		for (size_t step = 1; step <= n; step++) {
			is_int(gather(str_c(rows[i].text), step, 64, &out), 0,
				"row %zu by %zu", i, step);
			is_view(buf_view(&out), rows[i].want, "its events");
		}
	}
	is_int(gather(STR("data: 1234\n\n"), 3, 4, &out), 0, "data of max bytes");
	is_view(buf_view(&out), "|1234", "comes");
	is_int(gather(STR("data: 12345\n\n"), 3, 4, &out), ERR_LIMIT, "one byte more");
	is_int(gather(STR("data: 12\ndata: 34\n\n"), 99, 4, &out), ERR_LIMIT,
		"in two lines");
	buf_free(&out);
}

int main(void)
{
	test_events();
	return done_testing();
}
