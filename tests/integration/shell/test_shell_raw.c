/* Raw output of a session: all that was printed, and nothing of the marks in it. */
#include "shell/shell_output.h"
#include "tests/tap.h"

#include <stdio.h>

#define NONCE "0123456789abcdef0123456789abcdef"
#define MARK "\033]7777;" NONCE ";p;0123456789abcdef;0;;/tmp;" NONCE ";/bin;" NONCE "\a"

/* No mark of ours is that long; parts of this size always lead on. */
enum { PART = 200 };

static struct shell_output output;

static void put(struct str in)
{
	while (in.n) {
		size_t n;
		char *room = spool_get_space(&output.spool, &n);

		n = n < in.n ? n : in.n;
		memcpy(room, in.p, n);
		spool_commit(&output.spool, n);
		in = str_skip(in, n);
	}
}

static void open_output(void)
{
	if (spool_make(&output.spool) < 0)
		ok(false, "a spool can be made");
	shell_output_set_nonce(&output, NONCE);
}

/* All that stands from offset on, in parts of at most max bytes of the spool. */
static uint64_t read_all(uint64_t offset, size_t max, struct buf *out)
{
	struct shell_part part = {.next = offset};
	uint64_t before;
	int r;

	do {
		before = part.next;
		r = shell_output_get_raw(&output, before, max, out, &part);
	} while (r == 0 && part.next > before);
	if (r < 0)
		ok(false, "a part can be read: %d", r);
	return part.next;
}

/* What has been put, and of each byte whether it is data. */
struct piece {
	struct str text;
	bool mark;
};

static const struct piece pieces[] = {
	{{MARK, sizeof(MARK) - 1}, true},
	{{"one\r\n", 5}, false},
	{{"\033[31mred", 8}, false},
	{{MARK, sizeof(MARK) - 1}, true},
	{{MARK, sizeof(MARK) - 1}, true},
	{{"\033", 1}, false},
	{{"\033]7777;", 7}, false},
	{{"\033]7777;0123\a", 12}, false},
	{{MARK, sizeof(MARK) - 1}, true},
	{{"two\0three\a", 10}, false},
	{{MARK, sizeof(MARK) - 1}, true},
};

static void expect_from(size_t offset, struct buf *want)
{
	size_t at = 0;

	buf_reset(want);
	for (size_t i = 0; i < ARRAY_LEN(pieces); at += pieces[i++].text.n) {
		size_t skip = offset > at ? offset - at : 0;

		if (!pieces[i].mark)
			buf_str(want, str_skip(pieces[i].text, skip));
	}
}

static void test_every_offset(void)
{
	static const size_t sizes[] = {PART, PART + 1, 333, 1 << 20};
	struct buf want = BUF_INIT(4096), got = BUF_INIT(4096);
	size_t wrong = 0;

	open_output();
	for (size_t i = 0; i < ARRAY_LEN(pieces); i++)
		put(pieces[i].text);
	for (size_t offset = 0; offset <= spool_get_end(&output.spool); offset++) {
		expect_from(offset, &want);
		for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
			buf_reset(&got);
			if (read_all(offset, sizes[i], &got) !=
					spool_get_end(&output.spool) ||
				!str_eq(buf_view(&got), buf_view(&want)))
				wrong++;
		}
	}
	is_int(wrong, 0, "each offset gives the data behind it");
	spool_free(&output.spool);
	buf_free(&want);
	buf_free(&got);
}

/* As it comes: who reads on and on gets every byte once. */
static void test_while_it_comes(void)
{
	struct buf want = BUF_INIT(4096), got = BUF_INIT(4096);
	uint64_t at = 0;
	struct shell_part part;

	open_output();
	for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
		for (size_t n = 0; n < pieces[i].text.n; n++) {
			put(str_make(pieces[i].text.p + n, 1));
			if (shell_output_get_raw(&output, at, 1 << 20, &got, &part) < 0)
				ok(false, "a part can be read");
			at = part.next;
		}
	}
	expect_from(0, &want);
	is_mem(got.p, got.n, want.p, want.n, "read byte by byte, as it is printed");
	is_int(shell_output_get_raw(&output, at + 1, PART, &got, &part), ERR_RANGE,
		"not printed");
	spool_free(&output.spool);
	buf_free(&want);
	buf_free(&got);
}

static struct shell_part read_part(uint64_t offset, struct buf *out)
{
	struct shell_part part = {0};

	buf_reset(out);
	if (shell_output_get_raw(&output, offset, 32 << 20, out, &part) < 0)
		ok(false, "a part can be read");
	return part;
}

/* A head that ends with what may be a mark, a gap, and a tail. */
static void check_gap(struct str last)
{
	struct buf got = BUF_INIT(32 << 20);
	struct shell_part part;
	struct spool_gap gap;
	char line[32];

	open_output();
	for (size_t n = last.n; n < SPOOL_HEAD; n++)
		put(STR("h"));
	put(last);
	for (unsigned n = 0; n < 2000000; n++)
		put(str_make(line, (size_t)snprintf(line, sizeof(line), "%09u", n)));
	gap = spool_gap(&output.spool);
	ok(gap.from == SPOOL_HEAD && gap.to > gap.from, "there is a gap");
	part = read_part(0, &got);
	is_int(part.next, SPOOL_HEAD, "the head ends where the gap begins");
	is_int(got.n, SPOOL_HEAD, "with all of its bytes");
	ok(str_ends(buf_view(&got), last), "the last ones, too");
	part = read_part(SPOOL_HEAD, &got);
	ok(part.asked == SPOOL_HEAD && part.from == gap.to, "the gap is told");
	is_int(part.next, spool_get_end(&output.spool), "all of the tail");
	ok(str_ends(buf_view(&got), STR("001999998001999999")), "its end");
	spool_free(&output.spool);
	buf_free(&got);
}

int main(void)
{
	test_every_offset();
	test_while_it_comes();
	check_gap(STR("x"));
	check_gap(STR("\033"));
	check_gap(STR("\033]7777;"));
	return done_testing();
}
