#include "codec/mark.h"
#include "limits.h"
#include "tests/tap.h"

#include <stdlib.h>

#define NONCE "0123456789abcdef0123456789abcdef"
#define OTHER "0123456789abcdef0123456789abcdee"
#define BEGIN "\033]7777;" NONCE ";"
#define END ";" NONCE "\a"
#define MARK(kind, id, status, job, cwd, path) \
	BEGIN kind ";" id ";" status ";" job ";" cwd ";" NONCE ";" path END

struct row {
	const char *name;
	const char *want; /* data as it is, marks as <kind id status job cwd path> */
	const char *p;
	size_t n;
};

#define ROW(name, want, text) \
	{ \
		(name), (want), (text), sizeof(text) - 1 \
	}

static const struct row rows[] = {
	ROW("nothing", "", ""),
	ROW("plain text", "a\r\nb", "a\r\nb"),
	ROW("a start mark", "<s 1f 0 -1 /tmp /bin>",
		MARK("s", "1f", "0", "", "/tmp", "/bin")),
	ROW("a mark between data", "one<t 1f 255 77 /tmp /bin>two",
		"one" MARK("t", "1f", "255", "77", "/tmp", "/bin") "two"),
	ROW("two marks in a row", "<t i 1 -1 / p><p i 1 -1 / p>",
		MARK("t", "i", "1", "", "/", "p") MARK("p", "i", "1", "", "/", "p")),
	ROW("all values empty", "<p  0 -1  >", MARK("p", "", "0", "", "", "")),
	ROW("separators in the directory", "<p i 0 -1 /a;b;;c;0;p; /x;y>",
		MARK("p", "i", "0", "", "/a;b;;c;0;p;", "/x;y")),
	ROW("a newline in the directory", "<p i 0 -1 /a\nb\n /bin>",
		MARK("p", "i", "0", "", "/a\r\nb\r\n", "/bin")),
	ROW("carriage returns in the directory", "<p i 0 -1 \r/a\r\r\nb\r /bin>",
		MARK("p", "i", "0", "", "\r/a\r\r\r\nb\r", "/bin")),
	ROW("ESC and BEL in the directory", "<p i 0 -1 /\a\033]7777;\a\033 \a>",
		MARK("p", "i", "0", "", "/\a\033]7777;\a\033", "\a")),
	ROW("the end of another mark in the directory", "<p i 0 -1 /;" OTHER "\a /bin>x",
		MARK("p", "i", "0", "", "/;" OTHER "\a", "/bin") "x"),
	ROW("the separator in the path", "<p i 0 -1 / /a;" NONCE ";/b>",
		MARK("p", "i", "0", "", "/", "/a;" NONCE ";/b")),
	ROW("bytes that are no text", "<p i 0 -1 /\x80\xff\x01 /bin>",
		MARK("p", "i", "0", "", "/\x80\xff\x01", "/bin")),
	ROW("another nonce", "\033]7777;" OTHER ";p;i;0;;/;" OTHER ";/bin;" OTHER "\ax",
		"\033]7777;" OTHER ";p;i;0;;/;" OTHER ";/bin;" OTHER "\ax"),
	ROW("other sequences", "\033[1m\033]0;title\a\033\033]\033]7777;x",
		"\033[1m\033]0;title\a\033\033]\033]7777;x"),
	ROW("a mark behind half a mark", "\033]7777;0123\033\033]77<s i 0 -1 / p>",
		"\033]7777;0123\033\033]77" MARK("s", "i", "0", "", "/", "p")),
	ROW("an unfinished prefix is held back", "x", "x\033]7777;0123"),
	ROW("an unfinished mark is held back", "x",
		"x" BEGIN "p;i;0;;/tmp;" NONCE ";/bin;"),
	ROW("another end behind the mark", "<s i 0 -1 / p>;" NONCE "\a",
		MARK("s", "i", "0", "", "/", "p") END),
	/* Marks that are none of the shell's functions' making: dropped whole. */
	ROW("an unknown kind", "ab", "a" MARK("q", "i", "0", "", "/", "p") "b"),
	ROW("a long kind", "ab", "a" MARK("st", "i", "0", "", "/", "p") "b"),
	ROW("no kind", "ab", "a" MARK("", "i", "0", "", "/", "p") "b"),
	ROW("the kind NUL", "ab", "a" MARK("\0", "i", "0", "", "/", "p") "b"),
	ROW("a status above 255", "ab", "a" MARK("p", "i", "256", "", "/", "p") "b"),
	ROW("a negative status", "ab", "a" MARK("p", "i", "-1", "", "/", "p") "b"),
	ROW("no status", "ab", "a" MARK("p", "i", "", "", "/", "p") "b"),
	ROW("an unexpanded mark", "ab",
		"a" MARK("p", "$id", "$?", "", "$PWD", "$PATH") "b"),
	ROW("no separator", "ab", "a" BEGIN "p;i;0;;/tmp;/bin" END "b"),
	ROW("a separator at the end", "ab", "a" BEGIN "p;i;0;;/tmp;" NONCE END "b"),
	ROW("nothing inside", "ab", "a" BEGIN END "b"),
	/* A job that is no number is no reason to lose the end of a command. */
	ROW("a strange job", "<p i 3 -1 / p>", MARK("p", "i", "3", "x", "/", "p")),
	ROW("a job beyond any pid", "<p i 3 -1 / p>",
		MARK("p", "i", "3", "2147483648", "/", "p")),
	ROW("the largest job", "<p i 3 2147483647 / p>",
		MARK("p", "i", "3", "2147483647", "/", "p")),
};

static void put_event(struct buf *out, const struct mark_event *e)
{
	buf_fmt(out, "<%c ", e->kind);
	buf_str(out, e->id);
	buf_fmt(out, " %d %lld ", e->status, (long long)e->background);
	buf_str(out, e->cwd);
	buf_putc(out, ' ');
	buf_str(out, e->path);
	buf_putc(out, '>');
}

/* Feeds n bytes from memory that ends with them. */
static void feed(struct mark_splitter *m, const char *p, size_t n, struct buf *out)
{
	char *copy = malloc(n ? n : 1);
	struct str in, data = STR("");
	struct mark_event e;
	enum mark_step step;

	if (n)
		memcpy(copy, p, n);
	in = str_make(copy, n);
	while ((step = mark_next(m, &in, &data, &e)) != MARK_MORE) {
		if (step == MARK_DATA)
			buf_str(out, data);
		else
			put_event(out, &e);
	}
	if (in.n)
		buf_puts(out, "(bytes left)");
	free(copy);
}

/* The input cut at a and at b. */
static bool same(const struct row *row, size_t a, size_t b)
{
	struct mark_splitter m;
	struct buf out = BUF_INIT(1 << 16);
	bool good;

	mark_init(&m, NONCE);
	feed(&m, row->p, a, &out);
	feed(&m, row->p + a, b - a, &out);
	feed(&m, row->p + b, row->n - b, &out);
	good = str_eq(buf_view(&out), str_c(row->want));
	buf_free(&out);
	mark_free(&m);
	return good;
}

static bool same_by_bytes(const struct row *row)
{
	struct mark_splitter m;
	struct buf out = BUF_INIT(1 << 16);
	bool good;

	mark_init(&m, NONCE);
	for (size_t i = 0; i < row->n; i++)
		feed(&m, row->p + i, 1, &out);
	good = str_eq(buf_view(&out), str_c(row->want));
	buf_free(&out);
	mark_free(&m);
	return good;
}

static void check_row(const struct row *row)
{
	size_t bad = 0;

	ok(same(row, row->n, row->n), "%s", row->name);
	ok(same_by_bytes(row), "%s, byte by byte", row->name);
	for (size_t a = 0; a <= row->n; a++)
		for (size_t b = a; b <= row->n; b += 7)
			bad += !same(row, a, b);
	is_int(bad, 0, "%s, at every split", row->name);
}

/* A mark with a directory of n bytes; what comes back, events only. */
static void check_length(size_t n, bool fits)
{
	struct mark_splitter m;
	struct buf in = BUF_INIT(1 << 20), out = BUF_INIT(1 << 20);
	char *room;

	buf_puts(&in, BEGIN "p;i;0;;");
	room = buf_reserve(&in, n);
	if (!ok(room, "memory for the test"))
		return;
	memset(room, 'd', n);
	buf_commit(&in, n);
	buf_puts(&in, ";" NONCE ";/bin" END "tail" MARK("s", "next", "0", "", "/", "p"));
	mark_init(&m, NONCE);
	for (size_t at = 0; at < in.n; at += 4095)
		feed(&m, in.p + at, in.n - at < 4095 ? in.n - at : 4095, &out);
	ok(str_starts(buf_view(&out), STR("<p i 0 -1 ddd")) == fits,
		"a mark of %zu bytes is %s", in.n, fits ? "taken" : "no mark");
	ok(str_ends(buf_view(&out), STR("tail<s next 0 -1 / p>")),
		"what follows a mark of %zu bytes", in.n);
	ok(m.body.cap <= MARK_BODY_MAX, "its memory stays below the cap");
	mark_free(&m);
	buf_free(&in);
	buf_free(&out);
}

/* What is pending is no data yet; given once more after a restart, it is all there. */
static void check_pending(void)
{
	static const char text[] = "one" MARK("p", "i", "0", "", "/", "/bin") "two";
	const size_t from = 3, to = sizeof(text) - 1 - 3;

	for (size_t cut = 0; cut < sizeof(text); cut++) {
		bool inside = cut > from && cut < to;
		struct mark_splitter m;
		struct mark_event e;
		struct str in = str_make(text, cut), data;
		size_t pending, shown = 0, marks = 0;
		enum mark_step step;

		mark_init(&m, NONCE);
		while ((step = mark_next(&m, &in, &data, &e)) != MARK_MORE)
			shown += step == MARK_DATA ? data.n : 0;
		pending = mark_count_pending(&m);
		is_int((long)pending, inside ? (long)(cut - from) : 0,
			"cut at %zu: bytes of half a mark", cut);
		mark_restart(&m);
		is_int((long)mark_count_pending(&m), 0, "cut at %zu: none any more", cut);
		in = str_skip(str_make(text, sizeof(text) - 1), cut - pending);
		while ((step = mark_next(&m, &in, &data, &e)) != MARK_MORE) {
			shown += step == MARK_DATA ? data.n : 0;
			marks += step == MARK_EVENT;
		}
		is_int((long)shown, 6, "cut at %zu: all of the data", cut);
		is_int((long)marks, cut < to, "cut at %zu: and the mark", cut);
		mark_free(&m);
	}
}

int main(void)
{
	check_pending();
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check_row(&rows[i]);
	check_length(5000, true);
	check_length(MARK_BODY_MAX - 200, true);
	check_length(MARK_BODY_MAX + 1, false);
	check_length(3 * MARK_BODY_MAX, false);
	return done_testing();
}
