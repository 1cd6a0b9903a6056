#include "base/clock.h"
#include "limits.h"
#include "search/grep.h"
#include "tests/tap.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char top[] = "/tmp/grep-XXXXXX";
static struct buf told = BUF_INIT(1 << 20);

static const char *in_top(const char *name)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s/%s", top, name);
	return path;
}

static void make_file(const char *name, const void *text, size_t n)
{
	FILE *f = fopen(in_top(name), "w");

	if (f) {
		fwrite(text, 1, n, f);
		fclose(f);
	}
}

#define TEXT(name, text) make_file(name, text, sizeof(text) - 1)

static int tell_file(void *arg, struct str path)
{
	(void)arg;
	buf_str(&told, path);
	buf_puts(&told, "{");
	return 0;
}

static int tell_line(void *arg, const struct grep_line *l)
{
	(void)arg;
	buf_fmt(&told, "%s%llu%c", l->cut ? "~" : "", (unsigned long long)l->number,
		l->match ? ':' : '-');
	buf_str(&told, l->text);
	buf_puts(&told, ";");
	return 0;
}

static int tell_end(void *arg, uint64_t matches)
{
	(void)arg;
	buf_fmt(&told, "}%llu ", (unsigned long long)matches);
	return 0;
}

static int tell_stop(void *arg, const struct grep_line *l)
{
	(void)arg;
	(void)l;
	return 77;
}

static const struct grep_ops ops = {tell_file, tell_line, tell_end};

static struct grep_counts run(const char *sub, const char *pattern, struct grep_conf c)
{
	struct grep_counts out = {.files = 0};
	struct regex_error e;
	struct regex x;
	int r = regex_init(&x, str_c(pattern), 0, &e);

	buf_reset(&told);
	c.regex = &x;
	c.ops = c.ops ? c.ops : &ops;
	c.line_max = c.line_max ? c.line_max : 1000;
	if (!r)
		r = grep_run(&c, in_top(sub), &out);
	if (r)
		buf_fmt(&told, "error %d", r);
	buf_putc(&told, '\0');
	regex_free(&x);
	return out;
}

static void check(const char *sub, const char *pattern, struct grep_conf c,
	const char *want, const char *name)
{
	run(sub, pattern, c);
	is_str(told.p, want, "%s", name);
}

static void check_context(void)
{
	struct grep_conf none = {.mode = GREP_LINES};
	struct grep_conf around = {.before = 1, .after = 2};

	mkdir(in_top("c"), 0755);
	TEXT("c/f", "a\nb\nX1\nc\nd\ne\nf\nX2\nX3\ng");
	check("c", "X", none, "f{3:X1;8:X2;9:X3;}3 ", "lines");
	check("c", "X", around, "f{2-b;3:X1;4-c;5-d;7-f;8:X2;9:X3;10-g;}3 ", "context");
	around.before = 9;
	around.after = 0;
	check("c", "X[12]", around, "f{1-a;2-b;3:X1;4-c;5-d;6-e;7-f;8:X2;}2 ",
		"context that meets");
	check("c/f", "g$", none, "f{10:g;}1 ", "a file alone, a last line without LF");
	check("c/none", "g", none, "error -2", "no such thing");
	check("c", "nothing", none, "", "nothing is found");
}

static void check_modes(void)
{
	struct grep_conf c = {.mode = GREP_FILES};
	struct grep_counts n;

	mkdir(in_top("m"), 0755);
	mkdir(in_top("m/sub"), 0755);
	TEXT("m/a", "x\nx\ny\n");
	TEXT("m/b", "y\n");
	TEXT("m/sub/c", "x\n");
	check("m", "x", c, "a{}1 sub/c{}1 ", "files");
	c.mode = GREP_COUNTS;
	check("m", "x", c, "a{}2 sub/c{}1 ", "counts");
	c.mode = GREP_LINES;
	c.limit = 2;
	n = run("m", "x", c);
	is_str(told.p, "a{1:x;2:x;}2 ", "a limit");
	ok(n.end == GREP_LIMIT && n.matches == 2 && n.files == 1, "is told");
	c.limit = 0;
	c.per_file = 1;
	check("m", "x", c, "a{1:x;}1 sub/c{1:x;}1 ", "a limit for each file");
	c.after = 1;
	check("m", "x", c, "a{1:x;2-x;}1 sub/c{1:x;}1 ", "whose context still comes");
	n = run("m", "y", (struct grep_conf){.mode = GREP_FILES, .limit = 1});
	ok(n.end == GREP_LIMIT && n.matched_files == 1, "a limit of files");
	n = run("m", "x", (struct grep_conf){.mode = GREP_COUNTS, .limit = 1});
	ok(n.end == GREP_LIMIT && n.matches == 2, "of which each is counted to its end");
	n = run("m", "y", (struct grep_conf){.until = clock_ms() - 1});
	ok(n.end == GREP_TIME && n.files == 1, "the time is over");
	c.ops = &(struct grep_ops){tell_file, tell_stop, tell_end};
	check("m", "x", c, "a{error 77", "an op ends it");
}

static void check_choice(void)
{
	struct grep_conf c = {.mode = GREP_FILES};
	struct glob only, except;
	struct grep_counts n;
	const char *why;

	mkdir(in_top("o"), 0755);
	TEXT("o/a.c", "x");
	TEXT("o/b.c", "x");
	TEXT("o/c.h", "x");
	TEXT("o/.hid", "x");
	TEXT("o/bin", "x\0y");
	ok(symlink("a.c", in_top("o/link")) == 0 && mkfifo(in_top("o/fifo"), 0644) == 0,
		"what is no file");
	n = run("o", "x", c);
	is_str(told.p, "a.c{}1 b.c{}1 c.h{}1 ", "no hidden, no binary, no links");
	ok(n.files == 4 && n.binary == 1 && n.unreadable == 0, "are counted");
	ok(!glob_init(&only, STR("*.c"), GLOB_ANYWHERE, &why) &&
			!glob_init(&except, STR("b*"), GLOB_ANYWHERE, &why),
		"globs");
	c.only = &only;
	c.except = &except;
	check("o", "x", c, "a.c{}1 ", "choose files");
	glob_free(&only);
	glob_free(&except);
	c = (struct grep_conf){.mode = GREP_FILES, .walk.hidden = true};
	check("o", "x", c, ".hid{}1 a.c{}1 b.c{}1 c.h{}1 ", "hidden ones if asked for");
}

static void check_long_lines(void)
{
	struct grep_conf c = {.line_max = 7};
	struct buf text = BUF_INIT(64 << 20);
	struct grep_counts n;

	mkdir(in_top("l"), 0755);
	TEXT("l/f", "0123456789X0123456789\nX\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\n");
	check("l", "X", c, "f{~1:789X012;~2:X\xc3\xa9\xc3\xa9\xc3\xa9;}2 ",
		"are cut around the match, between characters");
	for (int i = 0; i < 300000; i++)
		buf_puts(&text, i == 290000 ? "\nfound here\n" : "some text ");
	make_file("l/f", text.p, text.n);
	c.line_max = 20;
	check("l", "here", c, "f{2:found here;}1 ", "one that needs a larger buffer");
	buf_reset(&text);
	for (int i = 0; i < 3 << 20; i++)
		buf_puts(&text, "long line ");
	make_file("l/f", text.p, text.n);
	n = run("l", "nothing", c);
	is_int(n.too_long, 1, "one that is too long is counted");
	buf_free(&text);
}

/* Many pieces of a file: each line is found once, with its number and context. */
static void check_pieces(void)
{
	struct grep_conf c = {.before = 1, .after = 1};
	struct buf text = BUF_INIT(64 << 20), want = BUF_INIT(1 << 20);

	mkdir(in_top("p"), 0755);
	for (int i = 1; i <= 200000; i++)
		buf_fmt(&text, i % 9973 ? "line %d\n" : "MARK %d\n", i);
	buf_puts(&want, "f{");
	for (int i = 9973; i <= 200000; i += 9973)
		buf_fmt(&want, "%d-line %d;%d:MARK %d;%d-line %d;", i - 1, i - 1, i, i,
			i + 1, i + 1);
	buf_puts(&want, "}20 ");
	buf_putc(&want, '\0');
	make_file("p/f", text.p, text.n);
	check("p", "MARK", c, want.p, "a file of many pieces, by its literal");
	check("p", "M[A-Z]{3}", c, want.p, "and by states");
	check("p", "^MARK|NONE", c, want.p, "and by both");
	buf_free(&text);
	buf_free(&want);
}

int main(void)
{
	char command[64];

	if (!mkdtemp(top))
		return 1;
	check_context();
	check_modes();
	check_choice();
	check_long_lines();
	check_pieces();
	buf_free(&told);
	snprintf(command, sizeof(command), "rm -rf %s", top);
	if (system(command))
		printf("# %s stays\n", top);
	return done_testing();
}
