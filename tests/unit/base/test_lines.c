#include "base/lines.h"

#include "tests/tap.h"

/* All lines of text fed in pieces of step bytes, each followed by '|'. */
static int gather_lines(struct str text, size_t step, size_t max, struct buf *out)
{
	struct lines l;
	struct str line;
	int r = 1;

	lines_init(&l, max);
	buf_reset(out);
	for (size_t at = 0; at < text.n && r >= 0; at += step) {
		struct str in = str_skip(text, at);

		in.n = in.n < step ? in.n : step;
		while ((r = lines_next(&l, &in, &line)) == 0) {
			buf_str(out, line);
			buf_putc(out, '|');
		}
	}
	lines_rest(&l, &line);
	buf_str(out, line);
	lines_free(&l);
	return r < 0 ? r : 0;
}

static void test_lines(void)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{"", ""},
		{"a", "a"},
		{"a\n", "a|"},
		{"a\r\nb\r\n", "a|b|"},
		{"\n\n", "||"},
		{"a\rb\n", "a\rb|"},
		{"a\nb", "a|b"},
		{"a\r", "a"},
	};
	struct buf out = BUF_INIT(1024);

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		size_t n = strlen(rows[i].text);

		for (size_t step = 1; step <= n; step++) {
			is_int(gather_lines(str_c(rows[i].text), step, 64, &out), 0,
				"row %zu by %zu", i, step);
			is_view(buf_view(&out), rows[i].want, "its lines");
		}
	}
	is_int(gather_lines(STR("12345678\n"), 3, 8, &out), 0, "a line of max bytes");
	is_int(gather_lines(STR("123456789"), 3, 8, &out), ERR_LIMIT, "one byte more");
	is_int(gather_lines(STR("123456789\n"), 99, 8, &out), ERR_LIMIT, "at once");
	buf_free(&out);
}

/* A long line is not kept for the short ones behind it. */
static void test_memory(void)
{
	static char big[100000];
	struct str in = str_make(big, sizeof(big)), line;
	struct lines l;

	memset(big, 'x', sizeof(big));
	lines_init(&l, sizeof(big));
	is_int(lines_next(&l, &in, &line), 1, "no end yet");
	in = STR("\ny\nz");
	is_int(lines_next(&l, &in, &line), 0, "a long line");
	is_int((long long)line.n, sizeof(big), "is whole");
	is_int(lines_next(&l, &in, &line), 0, "a short one");
	is_view(line, "y", "follows");
	is_int(lines_next(&l, &in, &line), 1, "and half of one");
	ok(l.part.cap < 4096, "in little memory");
	lines_free(&l);
}

int main(void)
{
	test_lines();
	test_memory();
	return done_testing();
}
