#include "fs/diff.h"

#include "base/arena.h"
#include "fs/strip.h"

#include <errno.h>

/* The lines of one text, without their LF. */
struct side {
	struct str *line;
	bool *changed;
	size_t n;
};

/* A text whose lines all end in LF: an LF was added to the last line. */
struct rest {
	struct str text; /* the LF of the last line may lie after it */
	size_t first;    /* number of its first line */
	size_t lines;
};

static size_t diff_count_lines(struct str s)
{
	size_t n = 0;

	while (s.n) {
		(void)str_cut(&s, '\n');
		n++;
	}
	return n;
}

/* Length of the common prefix in whole lines. */
static size_t diff_count_prefix(struct str a, struct str b)
{
	size_t n = 0, lines = 0;

	while (n < a.n && n < b.n && a.p[n] == b.p[n])
		if (a.p[n++] == '\n')
			lines = n;
	return lines;
}

/* Length of the common suffix in whole lines. */
static size_t diff_count_suffix(struct str a, struct str b)
{
	size_t n = 0, lines = 0;

	while (n < a.n && n < b.n && a.p[a.n - 1 - n] == b.p[b.n - 1 - n]) {
		n++;
		if ((n == a.n || a.p[a.n - 1 - n] == '\n') &&
			(n == b.n || b.p[b.n - 1 - n] == '\n'))
			lines = n;
	}
	return lines;
}

static int diff_split_lines(struct side *s, const struct rest *r, struct arena *memory)
{
	struct str text = r->text;

	s->n = 0;
	s->line = arena_array(memory, r->lines + 1, sizeof(*s->line));
	s->changed = arena_array(memory, r->lines + 1, sizeof(*s->changed));
	if (!s->line || !s->changed)
		return -ENOMEM;
	while (text.n)
		s->line[s->n++] = str_cut(&text, '\n');
	return 0;
}

/*
 * Rows of the search: row number cost holds, for each diagonal k = x - y, the furthest
 * x of a path with cost edits. Every second diagonal from -cost to cost is reachable:
 * row[(k + cost) / 2] is its x.
 */
static bool diff_is_insertion(const int *before, int cost, int k)
{
	const int *row = before + (k + cost) / 2;

	/* row[0] is the diagonal above (insertion), row[-1] the one below (deletion). */
	return k == -cost || (k != cost && row[-1] < row[0]);
}

static int diff_get_reach(const int *before, int cost, int k)
{
	const int *row;

	if (cost == 0)
		return 0;
	row = before + (k + cost) / 2;
	return diff_is_insertion(before, cost, k) ? row[0] : row[-1] + 1;
}

/* Fills rows until one reaches the end. Returns its cost, -ENOMEM or ERR_LIMIT. */
static int diff_search_path(
	const struct side *a, const struct side *b, int **rows, struct arena *memory)
{
	for (int cost = 0; cost <= DIFF_COST_MAX; cost++) {
		rows[cost] = arena_array(memory, (size_t)cost + 1, sizeof(int));
		if (!rows[cost])
			return -ENOMEM;
		for (int k = -cost; k <= cost; k += 2) {
			size_t x = (size_t)diff_get_reach(
				cost ? rows[cost - 1] : NULL, cost, k);
			size_t y = (size_t)((int64_t)x - k);

			while (x < a->n && y < b->n && str_eq(a->line[x], b->line[y])) {
				x++;
				y++;
			}
			rows[cost][(k + cost) / 2] = (int)x;
			if (x >= a->n && y >= b->n)
				return cost;
		}
	}
	return ERR_LIMIT;
}

/* Follows the path back and marks the changed lines. */
static void diff_mark_changed(struct side *a, struct side *b, int **rows, int cost)
{
	int k = (int)((int64_t)a->n - (int64_t)b->n);

	for (; cost > 0; cost--) {
		const int *before = rows[cost - 1];
		bool down = diff_is_insertion(before, cost, k);
		int x = diff_get_reach(before, cost, k);

		if (down)
			b->changed[x - k - 1] = true;
		else
			a->changed[x - 1] = true;
		k += down ? 1 : -1;
	}
}

static void diff_put_range(struct buf *out, char sign, size_t from, size_t n)
{
	/* The position of an empty range is the number of the line before it. */
	buf_fmt(out, " %c%zu", sign, n ? from + 1 : from);
	if (n != 1)
		buf_fmt(out, ",%zu", n);
}

static void diff_put_line(struct buf *out, char sign, struct str line)
{
	buf_putc(out, '\n');
	buf_putc(out, sign);
	buf_str(out, strip_end(line));
}

static void diff_put_head(
	struct buf *out, size_t from_a, size_t n_a, size_t from_b, size_t n_b)
{
	buf_puts(out, "\n@@");
	diff_put_range(out, '-', from_a, n_a);
	diff_put_range(out, '+', from_b, n_b);
	buf_puts(out, " @@");
}

static void diff_put_whole(struct buf *out, const struct rest *a, const struct rest *b)
{
	struct str from = a->text, to = b->text;

	diff_put_head(out, a->first, a->lines, b->first, b->lines);
	while (from.n)
		diff_put_line(out, '-', str_cut(&from, '\n'));
	while (to.n)
		diff_put_line(out, '+', str_cut(&to, '\n'));
}

static size_t diff_count_changed(const struct side *s, size_t from)
{
	size_t n = 0;

	while (from + n < s->n && s->changed[from + n])
		n++;
	return n;
}

static void diff_put_hunks(
	struct buf *out, const struct side *a, const struct side *b, size_t first)
{
	size_t x = 0, y = 0;

	while (x < a->n || y < b->n) {
		size_t del = diff_count_changed(a, x), add = diff_count_changed(b, y);

		if (del + add)
			diff_put_head(out, first + x, del, first + y, add);
		for (size_t i = 0; i < del; i++)
			diff_put_line(out, '-', a->line[x + i]);
		for (size_t i = 0; i < add; i++)
			diff_put_line(out, '+', b->line[y + i]);
		/* The next line is in both texts, or this is the end. */
		x += del + 1;
		y += add + 1;
	}
}

/*
 * Writes the lines between common prefix and suffix as a shortest script; ERR_LIMIT if
 * they are too many.
 */
static int diff_put_shortest(struct buf *out, const struct rest *a, const struct rest *b)
{
	struct arena memory;
	struct side from, to;
	int **rows;
	int r = -ENOMEM;

	if (!a->lines || !b->lines || a->lines > DIFF_LINES_MAX ||
		b->lines > DIFF_LINES_MAX)
		return ERR_LIMIT;
	arena_init(&memory, DIFF_MEMORY_MAX);
	rows = arena_array(&memory, DIFF_COST_MAX + 1, sizeof(*rows));
	if (rows && diff_split_lines(&from, a, &memory) == 0 &&
		diff_split_lines(&to, b, &memory) == 0)
		r = diff_search_path(&from, &to, rows, &memory);
	if (r >= 0) {
		diff_mark_changed(&from, &to, rows, r);
		diff_put_hunks(out, &from, &to, a->first);
		r = 0;
	}
	arena_reset(&memory);
	return r;
}

static struct str diff_terminate_line(struct buf *copy, struct str text)
{
	buf_str(copy, text);
	buf_putc(copy, '\n');
	return buf_view(copy);
}

static void diff_put_all(
	struct buf *out, struct str path, struct str before, struct str after)
{
	size_t front = diff_count_prefix(before, after);
	size_t back;
	struct rest a, b;

	a.text = str_skip(before, front);
	b.text = str_skip(after, front);
	back = diff_count_suffix(a.text, b.text);
	a.text.n -= back;
	b.text.n -= back;
	if (a.text.n == 0 && b.text.n == 0)
		return;
	a.first = b.first = diff_count_lines(str_make(before.p, front));
	a.lines = diff_count_lines(a.text);
	b.lines = diff_count_lines(b.text);
	buf_fmt(out, "--- %.*s\n+++ %.*s", STR_ARG(path), STR_ARG(path));
	if (diff_put_shortest(out, &a, &b) < 0)
		diff_put_whole(out, &a, &b);
}

int diff_unified(struct buf *out, struct str path, struct str before, struct str after)
{
	struct buf from = BUF_INIT(before.n + 1), to = BUF_INIT(after.n + 1);
	struct str a = diff_terminate_line(&from, before),
		   b = diff_terminate_line(&to, after);
	int r = from.err ? from.err : to.err;

	if (!r)
		diff_put_all(out, path, a, b);
	buf_free(&from);
	buf_free(&to);
	return r ? r : out->err;
}
