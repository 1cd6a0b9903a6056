#include "inject/image/build_log.h"

#include "inject/image/build_trace.h"
#include "tests/tap.h"

#include <stdlib.h>

static void check_kept(const char *text, size_t step, const char *want)
{
	struct build_log l;
	struct str all = str_c(text);

	build_log_init(&l);
	l.shown = false;
	while (all.n) {
		size_t n = all.n < step ? all.n : step;

		build_log_append(&l, str_make(all.p, n));
		all = str_skip(all, n);
	}
	is_view(buf_view(&l.lines), want, "lines in pieces of %zu", step);
	build_log_free(&l);
}

static void test_lines(void)
{
	static const char text[] = "Step 1/2 : RUN x\n\n\x1b[91mno network\x1b[0m\r\n"
				   "10 %\r20 %\r\n\x1b[1;2mred\n\x1b[";
	static const char want[] = "Step 1/2 : RUN x\nno network\n20 %\nred\n";

	for (size_t step = 1; step <= sizeof(text); step++)
		check_kept(text, step, want);
}

static void test_bounds(void)
{
	struct build_log l;
	char line[5000];

	memset(line, 'x', sizeof(line));
	build_log_init(&l);
	l.shown = false;
	for (int i = 0; i < 100; i++)
		build_log_append(&l, str_make(line, sizeof(line)));
	is_int(l.lines.err, 0, "what is kept stays within its bounds");
	ok(l.lines.n > 10000 && l.lines.n < 20000,
		"the end is kept, of lines of any length");
	build_log_free(&l);
}

/* Protocol Buffers, by hand: a vertex, a log of text "a", a status, a log of "b\n". */
static const unsigned char trace[] = {0x0a, 3, 0x0a, 1, 'v', /* vertexes */
	0x1a, 15, 0x0a, 1, 'd', 0x12, 2, 0x08, 5, 0x18, 1, 0x22, 1, 'a', 0x30, 0x80, 1,
	0x12, 3, 0x0a, 1, 's',       /* statuses */
	0x1a, 4, 0x22, 2, 'b', '\n', /* a log */
	0x1a, 0,                     /* a log without text */
	0x21, 1, 2, 3, 4, 5, 6, 7, 8, 0x2d, 1, 2, 3, 4};

static int gather(const unsigned char *p, size_t n, struct buf *out)
{
	unsigned char *tight = malloc(n ? n : 1);
	struct str rest, text;
	int r;

	memcpy(tight, p, n);
	rest = str_make((char *)tight, n);
	while ((r = build_trace_next(&rest, &text)) == 0)
		buf_str(out, text);
	free(tight);
	return r;
}

static void test_trace(void)
{
	static const unsigned char endless[] = {
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	static const unsigned char group[] = {0x1b, 0};
	struct buf out = BUF_INIT(100);
	struct build_log l;

	is_int(gather(trace, sizeof(trace), &out), 1, "a trace");
	is_view(buf_view(&out), "ab\n", "its output");
	for (size_t n = 1; n < sizeof(trace); n++) {
		int r;

		buf_reset(&out);
		r = gather(trace, n, &out);
		ok(r == 1 || r == ERR_SYNTAX, "%zu bytes of a trace", n);
	}
	is_int(gather(endless, sizeof(endless), &out), ERR_SYNTAX,
		"a number without an end");
	is_int(gather(group, sizeof(group), &out), ERR_SYNTAX,
		"an unknown kind of field");
	build_log_init(&l);
	l.shown = false;
	build_log_append_trace(&l, STR("GgQiAmIK"));
	build_log_append_trace(&l, STR("not base64"));
	is_view(buf_view(&l.lines), "b\n", "a trace in base64");
	build_log_free(&l);
	buf_free(&out);
}

int main(void)
{
	test_lines();
	test_bounds();
	test_trace();
	return done_testing();
}
