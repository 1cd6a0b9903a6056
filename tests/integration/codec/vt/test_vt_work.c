/*
 * The work of the terminal model: short sequences that change the whole screen are
 * counted, a feed stops at its limit, and what follows a stop gives the same text.
 */
#include "limits.h"
#include "tests/support/vt_help.h"

enum {
	INPUT = 16384,
	LIMIT = 5000,       /* units per feed */
	PER_BYTE = VT_ROWS, /* three bytes may clear and fill all rows of the screen */
};

#define FILL ESC "#8"
#define REGION FILL CSI "2;999r"
#define REFILL CSI "999Bx" CSI "H"

/* before, then unit again and again. */
static const struct {
	const char *name, *before, *unit;
} floods[] = {
	{"DECALN", "", FILL},
	{"DECALN after a character", "", FILL "x"},
	{"SD of all rows", FILL, CSI "999T"},
	{"SD of all rows, filled again", FILL, CSI "999T" REFILL},
	{"SU of all rows, filled again", FILL, CSI "999S" REFILL},
	{"SU in a region that begins at the top", FILL CSI "1;999r" CSI "999H",
		CSI "999S"},
	{"SD in a region", REGION, CSI "500T"},
	{"RI in a region", REGION CSI "2H", ESC "M"},
	{"LF in a region", REGION CSI "999H", "\n"},
	{"CR LF in a region", REGION CSI "999H", "\r\n"},
	{"LF above rows that stay", FILL CSI "1;2r" CSI "2H", "\n"},
	{"IL of all rows", FILL CSI "H", CSI "999L"},
	{"IL and DL", FILL CSI "2H", CSI "L" CSI "M"},
	{"DL of all rows, filled again", FILL CSI "H", CSI "999M" REFILL},
	{"REP of a letter", "a", CSI "G" CSI "999b"},
	{"REP of a wide character", ZHONG, CSI "G" CSI "999b"},
	{"REP of an emoji, inserted", CSI "4h" GRIN, CSI "G" CSI "999b"},
	{"REP of a flag's half", "\xf0\x9f\x87\xa9", CSI "G" CSI "999b"},
	{"REP without wrapping", CSI "?7l" ZHONG, CSI "999b"},
	{"ICH", FILL CSI "H", CSI "999@"},
	{"ICH and DCH", FILL CSI "H", CSI "@" CSI "P"},
	{"ECH", FILL CSI "H", CSI "2G" CSI "900X" CSI "999Gx"},
	{"ED above", FILL CSI "999H", CSI "1J"},
	{"ED of all rows, filled again", "", CSI "2J" REFILL},
	{"ED of the history", "", CSI "999Bx" CSI "999S" CSI "3J"},
	{"the alternate screen", "", CSI "?1049h" FILL CSI "?1049l"},
	{"RIS", "", ESC "c" REFILL},
	{"CBT and CHT", CSI "3g", CSI "999I" CSI "999Z"},
	{"a long row of combining characters", "", "e" ACUTE ACUTE ACUTE ACUTE},
	{"jumps to emojis", "", CSI "A" GRIN CSI "B" GRIN},
	{"DECSTR, DECCOLM, DECSC and DECRC", FILL,
		CSI "!p" CSI "?3h" CSI "?3l" ESC "7" ESC "8"},
	{"device status reports", "", CSI "6n" CSI "c"},
	{"a string without an end", ESC "]0;", "x"},
	{"plain lines", "", "The quick brown fox\r\n"},
};

static struct buf flood_text(size_t i)
{
	struct buf text = BUF_INIT(OUT_MAX);

	buf_puts(&text, floods[i].before);
	while (text.n < INPUT)
		buf_puts(&text, floods[i].unit);
	return text;
}

static void test_flood(size_t i)
{
	struct buf text = flood_text(i);
	struct str rest = buf_view(&text);
	struct vt *vt = vt_start(), *whole = vt_start();
	struct vt_mark a = {0}, b = {0};
	uint64_t most = 0, before;
	bool moves = true;
	char *got, *want;
	int r = 1;

	for (size_t left = rest.n + 1; r == 1 && rest.n < left;) {
		left = rest.n;
		before = vt_get_work(vt);
		r = vt_feed_limited(vt, &rest, before + LIMIT);
		if (vt_get_work(vt) - before > most)
			most = vt_get_work(vt) - before;
		moves = rest.n < left;
	}
	ok(moves && r == 0 && rest.n == 0, "%s: each feed goes on", floods[i].name);
	ok(most <= LIMIT + VT_WORK_STEP, "%s: a feed ends near its limit",
		floods[i].name);
	ok(vt_get_work(vt) <= (uint64_t)PER_BYTE * text.n + VT_WORK_STEP,
		"%s: the work is linear in the bytes", floods[i].name);
	feed(whole, buf_view(&text));
	got = report(vt, &a, NULL);
	want = report(whole, &b, NULL);
	is_str(got, want, "%s: feeds in parts give the same text", floods[i].name);
	free(got);
	free(want);
	vt_free(vt);
	vt_free(whole);
	buf_free(&text);
}

/* The output of a program that does nothing unusual. */
static void test_plain(void)
{
	struct buf text = BUF_INIT(OUT_MAX);
	struct vt *vt = vt_start();

	for (int i = 0; i < 10000; i++)
		buf_puts(&text, "The quick brown fox jumps over the lazy dog\r\n");
	feed(vt, buf_view(&text));
	ok(vt_get_work(vt) < text.n / 10, "plain lines cost a few units per row");
	vt_free(vt);
	buf_free(&text);
}

static void test_limit_reached(void)
{
	struct vt *vt = vt_start();
	struct str in = STR("abc");

	feed_c(vt, FILL);
	is_int(vt_feed_limited(vt, &in, vt_get_work(vt)), 1,
		"a feed at its limit is not done");
	is_int((long long)in.n, 3, "a feed at its limit takes nothing");
	is_int(vt_feed_limited(vt, &in, vt_get_work(vt) + 1), 0,
		"a higher limit lets it go on");
	in = STR("");
	is_int(vt_feed_limited(vt, &in, 0), 0, "a feed of nothing is done");
	vt_free(vt);
}

/* REP prints in one step what the same characters print one by one. */
static void test_repeat(const char *modes, const char *one, unsigned n)
{
	struct buf rep = BUF_INIT(OUT_MAX), each = BUF_INIT(OUT_MAX);
	struct vt *a = vt_start(), *b = vt_start();
	struct vt_mark ma = {0}, mb = {0};
	uint64_t work;
	char *got, *want;

	buf_fmt(&rep, "left " ZHONG ZHONG " right" CSI "2G%s%s", modes, one);
	feed(a, buf_view(&rep));
	buf_fmt(&each, "left " ZHONG ZHONG " right" CSI "2G%s", modes);
	for (unsigned i = 0; i <= n; i++)
		buf_puts(&each, one);
	feed(b, buf_view(&each));
	buf_reset(&rep);
	buf_fmt(&rep, CSI "%ub", n);
	work = vt_get_work(a);
	feed(a, buf_view(&rep));
	work = vt_get_work(a) - work;
	got = report(a, &ma, NULL);
	want = report(b, &mb, NULL);
	is_str(got, want, "REP %u of %s behind %s prints it so often", n, one,
		*modes ? modes + 1 : "nothing");
	if (strlen(one) < 3)
		ok(work < 200, "REP %u of %s changes the row in one step", n, one);
	free(got);
	free(want);
	vt_free(a);
	vt_free(b);
	buf_free(&rep);
	buf_free(&each);
}

int main(void)
{
	static const char *const modes[] = {"", CSI "4h", CSI "?7l"};
	static const char *const ones[] = {"a", "\xc3\xa9", ZHONG, GRIN};

	for (size_t i = 0; i < ARRAY_LEN(floods); i++)
		test_flood(i);
	test_plain();
	test_limit_reached();
	for (size_t m = 0; m < ARRAY_LEN(modes); m++)
		for (size_t i = 0; i < ARRAY_LEN(ones); i++) {
			test_repeat(modes[m], ones[i], 7);
			test_repeat(modes[m], ones[i], 700);
		}
	return done_testing();
}
