/* The terminal model: history, caps, reports, failures. */
#include "tests/support/vt_help.h"

#include <assert.h>
#include <errno.h>

/* The modules that allocate are compiled here, with memory that can end. */
static struct flaky {
	bool fails;
	unsigned calls, first, last; /* from the first to the last call */
} flaky;

static void *flaky_calloc(size_t n, size_t size)
{
	if (flaky.fails && ++flaky.calls >= flaky.first && flaky.calls <= flaky.last)
		return NULL;
	return calloc(n, size);
}

#define calloc flaky_calloc
#include "codec/vt/vt.c"
#include "codec/vt/vt_store.c"
#undef calloc

/* --- History --- */

static void feed_numbers(struct vt *vt, int from, int to)
{
	struct buf in = BUF_INIT(OUT_MAX);

	for (int i = from; i <= to; i++)
		buf_fmt(&in, "Line %d\r\n", i);
	feed(vt, buf_view(&in));
	buf_free(&in);
}

static size_t count(const char *s, char c)
{
	size_t n = 0;

	for (; *s; s++)
		n += *s == c;
	return n;
}

static void test_history(void)
{
	struct vt *vt = vt_start();
	size_t kept = 1;
	char *got;

	feed_numbers(vt, 1, 10500);
	got = all(vt, &kept);
	is_int(kept, 0, "10,500 lines are kept");
	ok(strncmp(got, "Line 1\n", 7) == 0, "from the first");
	is_int(count(got, '\n'), 10500, "to the last");
	free(got);

	feed_numbers(vt, 10501, 10501);
	got = all(vt, &kept);
	is_int(kept, 10500, "one more, and lines are missing");
	ok(strncmp(got, "Line 2\n", 7) == 0, "the oldest one");
	free(got);

	vt_reset(vt);
	feed_numbers(vt, 1, 50000);
	got = all(vt, &kept);
	is_int(kept, 10500, "50,000 lines: the number that is left");
	is_int(count(got, '\n'), 10500, "is the number that is shown");
	ok(strncmp(got, "Line 39501\n", 11) == 0, "the newest ones");
	ok(strcmp(got + strlen(got) - 11, "Line 50000\n") == 0, "up to the last");
	free(got);

	vt_reset(vt);
	feed_numbers(vt, 1, 12000);
	feed_c(vt, "no line end");
	got = all(vt, &kept);
	is_int(kept, 10501, "an unfinished line counts");
	is_int(count(got, '\n'), 10500, "and is shown");
	free(got);

	feed_c(vt, CSI "3J");
	got = all(vt, &kept);
	is_int(count(got, '\n'), 999, "ED 3 leaves the screen");
	ok(strncmp(got, "Line 11002\n", 11) == 0, "and nothing before it");
	free(got);

	vt_reset(vt);
	feed_numbers(vt, 1, 5000);
	feed_c(vt, CSI "3J");
	got = all(vt, &kept);
	is_int(kept, 0, "erased history is not missing");
	free(got);
	feed_c(vt, CSI "H" CSI "2Jx");
	is_shown(vt, "x", "clear on a full screen");

	vt_reset(vt);
	feed_numbers(vt, 1, 3000);
	feed_c(vt, CSI "Htop");
	got = all(vt, NULL);
	ok(strstr(got, "\nLine 2001\ntope 2002\nLine 2003\n") != NULL,
		"home is on the screen");
	is_int(count(got, '\n'), 2999, "history is out of reach");
	free(got);
	vt_free(vt);
}

/* A row edited long ago is history like any other. */
static void test_edited_history(void)
{
	struct vt *vt = vt_start();
	struct buf in = BUF_INIT(OUT_MAX);
	char *got;
	size_t bad = 0;

	for (int i = 0; i < 5000; i++)
		buf_fmt(&in, "%d" ZHONG "e" ACUTE "%c%s\rX\r\n", 1000 + i, 'a' + i % 26,
			GRIN);
	feed(vt, buf_view(&in));
	got = all(vt, NULL);
	is_int(count(got, '\n'), 5000, "5,000 edited lines");
	for (char *line = strtok(got, "\n"), i = 0; line; line = strtok(NULL, "\n"), i++)
		bad += line[0] != 'X' || strlen(line) != 3 + 1 + 3 + 3 + 1 + 4;
	is_int(bad, 0, "all as edited");
	free(got);
	buf_free(&in);
	vt_free(vt);
}

/* --- Caps --- */

static void test_caps(void)
{
	struct vt *vt = vt_start();
	char *piece = repeated("0123456789abcdef", 4096), *got;
	char *wide = repeated(GRIN, 500);
	size_t kept;

	for (int i = 0; i < 256; i++)
		feed(vt, str_make(piece, 65536));
	got = all(vt, &kept);
	is_int(kept, 1, "one line of 16 MB");
	ok(strlen(got) <= VT_MEMORY_MAX && strlen(got) > VT_MEMORY_MAX * 9 / 10,
		"keeps its last %zu bytes", strlen(got));
	is_int(strlen(got) % 1000, 216, "in whole rows");
	ok(strcmp(got + strlen(got) - 16, "0123456789abcdef") == 0, "up to its end");
	free(got);

	vt_reset(vt);
	for (int y = 1; y <= 1000; y++) {
		char jump[32];

		snprintf(jump, sizeof(jump), CSI "%dH", y);
		feed_c(vt, jump);
		feed_c(vt, wide);
		feed_c(vt, "\rx");
	}
	got = all(vt, &kept);
	ok(kept > 0, "a screen full of open rows is more than is kept");
	ok(strlen(got) < VT_MEMORY_MAX, "within the cap");
	ok(strstr(got, "x " GRIN) != NULL, "the last rows are there");
	free(got);

	feed_c(vt, CSI "?1049h");
	for (int y = 1; y <= 1000; y++) {
		char jump[32];

		snprintf(jump, sizeof(jump), CSI "%dH", y);
		feed_c(vt, jump);
		feed_c(vt, wide);
		feed_c(vt, "\rx");
	}
	got = all(vt, &kept);
	ok(strlen(got) < VT_MEMORY_MAX, "the alternate screen is within it, too");
	free(got);
	feed_c(vt, CSI "?1049l" CSI "2J" CSI "3J" CSI "Hafter");
	is_shown(vt, "after", "and all goes on");
	free(piece);
	free(wide);
	vt_free(vt);
}

/* Emoji over emoji: what is overwritten makes room. */
static void test_glyphs(void)
{
	struct vt *vt = vt_start();
	char *got;

	feed_c(vt, "ab\rx");
	for (int i = 0; i < 20000; i++) {
		feed_c(vt, i % 2 ? "\x1b[3G" GRIN : "\x1b[3G" THUMB);
		feed_c(vt,
			i % 3 ? "\x1b[300Ge" ACUTE
			      : "\x1b[300Ge" ACUTE ACUTE ACUTE ACUTE ACUTE ACUTE ACUTE
					ACUTE ACUTE ACUTE ACUTE ACUTE ACUTE ACUTE);
	}
	got = all(vt, NULL);
	ok(strncmp(got, "xb" GRIN " ", 7) == 0, "the last of 20,000 emoji");
	is_str(got + strlen(got) - 3, "e" ACUTE, "and of the accents");
	free(got);
	vt_free(vt);
}

/* --- Reports --- */

static void test_reports(void)
{
	struct vt *vt = vt_start();
	struct vt_mark mark = {0};

	feed_c(vt, "one\r\ntwo");
	is_next(vt, &mark, "one\ntwo", "the first report has all");
	is_next(vt, &mark, "", "then nothing is new");
	feed_c(vt, " and\r\nthree");
	is_next(vt, &mark, " and\nthree", "what was added");
	feed_c(vt, "\r10%");
	is_next(vt, &mark, "10%ee", "a row written over");
	feed_c(vt, CSI "2A" CSI "2K1st");
	is_next(vt, &mark, "   1st", "a row above");
	is_next(vt, &mark, "", "nothing again");
	feed_c(vt, CSI "3;6H!");
	is_next(vt, &mark, "!", "added to the last row");
	feed_c(vt, CSI "2;10Hx" CSI "4H4th");
	is_next(vt, &mark, "two and  x\n4th", "an edit above and a new row");

	vt_reset(vt);
	mark = (struct vt_mark){0};
	feed_c(vt, "1\r\n");
	is_next(vt, &mark, "1\n", "lines one by one");
	feed_c(vt, "2\r\n");
	is_next(vt, &mark, "2\n", "do not repeat");
	feed_c(vt, "10%\r20%");
	is_next(vt, &mark, "20%", "progress");
	feed_c(vt, "\r30%");
	is_next(vt, &mark, "30%", "goes on");
	feed_c(vt, "\r40%\r\ndone\r\n");
	is_next(vt, &mark, "40%\ndone\n", "and ends");

	vt_reset(vt);
	mark = (struct vt_mark){0};
	feed_c(vt, "Name: ");
	is_next(vt, &mark, "Name:", "a prompt");
	feed_c(vt, "Bob\r\n");
	is_next(vt, &mark, "Bob\n", "its answer");
	feed_c(vt, CSI "H" CSI "2Jfresh");
	is_next(vt, &mark, "fresh", "after a clear");
	vt_free(vt);
}

static void test_reports_moved(void)
{
	struct vt *vt = vt_start();
	struct vt_mark mark = {0};

	feed_c(vt, "1\r\n2\r\n3\r\n4");
	is_next(vt, &mark, "1\n2\n3\n4", "four rows");
	feed_c(vt, CSI "3H" CSI "Lnew");
	is_next(vt, &mark, "new\n3\n4", "a row between: what moved is told again");
	feed_c(vt, CSI "4H" CSI "M");
	is_next(vt, &mark, "4", "a row less");
	feed_c(vt, CSI "H" CSI "2J" CSI "1;2rA\r\nB" CSI "3Hbar" CSI "2H");
	is_next(vt, &mark, "A\nB\nbar", "a bar below a region");
	feed_c(vt, "\r\nC");
	is_next(vt, &mark, "C\nbar", "moves down in the text with each line");
	vt_free(vt);
}

static void test_reports_alternate(void)
{
	struct vt *vt = vt_start();
	struct vt_mark mark = {0};

	feed_c(vt, "$ top\r\n" CSI "?1049h" CSI "Hload 1\r\nrow");
	is_next(vt, &mark, "$ top\nload 1\nrow", "the screen of a program");
	is_next(vt, &mark, "", "unchanged");
	feed_c(vt, CSI "Hload 2");
	is_next(vt, &mark, "load 2\nrow", "all of it when it changes");
	feed_c(vt, CSI "2J");
	is_next(vt, &mark, "", "nothing of an empty one");
	feed_c(vt, "x" CSI "?1049l");
	is_next(vt, &mark, "", "gone when it ends");
	feed_c(vt, "bye");
	is_next(vt, &mark, "bye", "and the text goes on");
	vt_free(vt);
}

static void test_reports_wrapped(void)
{
	struct vt *vt = vt_start();
	struct vt_mark mark = {0};
	char *x = repeated("x", 1500);

	feed_c(vt, x);
	is_next(vt, &mark, x, "a long line");
	feed_c(vt, x);
	is_next(vt, &mark, x, "its second part, over a row's end");
	feed_c(vt, "\r\n-");
	is_next(vt, &mark, "\n-", "the next");
	free(x);
	vt_free(vt);
}

static void test_reports_dropped(void)
{
	struct vt *vt = vt_start();
	struct vt_mark mark = {0}, other = {0};
	size_t kept = 9;
	char *got;

	feed_numbers(vt, 1, 9000);
	free(report(vt, &mark, &kept));
	is_int(kept, 0, "nothing missing so far");
	feed_numbers(vt, 9001, 18000);
	got = report(vt, &mark, &kept);
	is_int(kept, 0, "what was told may be dropped");
	is_int(count(got, '\n'), 9000, "and the rest is here");
	free(got);
	feed_numbers(vt, 18001, 40000);
	got = report(vt, &mark, &kept);
	is_int(kept, 10500, "what was not told is missing");
	ok(strncmp(got, "Line 29501\n", 11) == 0, "before these");
	free(got);
	free(report(vt, &other, &kept));
	is_int(kept, 10500, "another reader misses more");
	feed_c(vt, "x");
	is_next(vt, &mark, "x", "two readers");
	is_next(vt, &other, "x", "do not disturb each other");

	vt_reset(vt);
	mark = (struct vt_mark){0};
	feed_c(vt, "told\r\nold");
	vt_update_mark(vt, &mark);
	feed_c(vt, " new\r\n");
	is_next(vt, &mark, " new\n", "a mark without a report");
	vt_reset(vt);
	mark = (struct vt_mark){0};
	vt_update_mark(vt, &mark);
	feed_c(vt, "first");
	is_next(vt, &mark, "first", "a mark on an empty screen");
	vt_free(vt);
}

/* --- Failures --- */

static void test_full_buffer(void)
{
	struct vt *vt = vt_start();
	struct vt_mark mark = {0};
	struct buf small = BUF_INIT(64);
	size_t kept = 77;

	feed_numbers(vt, 1, 100);
	is_int(vt_report(vt, &mark, &small, &kept), ERR_LIMIT,
		"a report that does not fit");
	is_int(kept, 77, "tells nothing");
	is_int(mark.report, 0, "and is not counted");
	buf_free(&small);
	vt_free(vt);
}

/* Everything the model does, and what is left when memory comes back. */
static void strain(struct vt *vt, int *worst)
{
	struct vt_mark mark = {0};
	char *got;

	for (int i = 0; i < 1500; i++) {
		int r = vt_feed(vt,
			STR("abcdefghijklmnop " ZHONG GRIN "\rX" CSI "3B" CSI
			    "2L\r\n" GRIN ACUTE CSI "999Cx" CSI "?1049hy" CSI "?1049l"));

		*worst = r < *worst ? r : *worst;
	}
	flaky.fails = false;
	free(report(vt, &mark, NULL));
	feed_c(vt, ESC "c" CSI "3Jafter");
	got = all(vt, NULL);
	if (strcmp(got, "after") != 0)
		*worst = 1;
	free(got);
	vt_reset(vt);
}

static void test_no_memory(void)
{
	struct vt *vt = vt_start();
	int worst = 0;

	for (unsigned n = 1; n < 200; n++) {
		flaky = (struct flaky){.fails = true, .first = n, .last = n};
		strain(vt, &worst);
	}
	ok(worst == 0 || worst == -ENOMEM, "any allocation fails once");
	worst = 0;
	for (unsigned n = 1; n < 200; n += 3) {
		flaky = (struct flaky){.fails = true, .first = n, .last = ~0u};
		strain(vt, &worst);
	}
	is_int(worst, -ENOMEM, "without memory it says so, and recovers");
	vt_free(vt);
	flaky = (struct flaky){.fails = true, .first = 1, .last = 1};
	ok(!vt_new(), "no terminal without memory");
	flaky.fails = false;
}

static void test_reset(void)
{
	struct vt *vt = vt_start();

	feed_c(vt,
		"text" ESC "(0" CSI "4h" CSI "?7l" CSI "?6h" CSI "3;4r" CSI "?1049hx" ESC
		"]0;tit");
	vt_reset(vt);
	feed_c(vt, "q\r\nnext");
	is_shown(vt, "q\nnext", "nothing survives a reset");
	vt_free(vt);
	vt_free(NULL);
}

int main(void)
{
	test_history();
	test_edited_history();
	test_caps();
	test_glyphs();
	test_reports();
	test_reports_moved();
	test_reports_alternate();
	test_reports_wrapped();
	test_reports_dropped();
	test_full_buffer();
	test_no_memory();
	test_reset();
	return done_testing();
}
