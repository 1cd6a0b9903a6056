#include "base/buf.h"
#include "fs/diff.h"
#include "tests/tap.h"

#include <stdlib.h>

static struct buf out = BUF_INIT(64 << 20);
static struct buf copy = BUF_INIT(64 << 20);

static const char *diff(struct str a, struct str b)
{
	buf_reset(&out);
	if (diff_unified(&out, STR("f"), a, b) < 0)
		return "(error)";
	return buf_cstr(&out);
}

struct row {
	const char *before;
	const char *after;
	const char *want; /* behind the two first lines; "" for none at all */
};

static const struct row rows[] = {
	{"", "", ""},
	{"a\n", "a\n", ""},
	{"", "abc", "@@ -1 +1 @@\n-\n+abc"},
	{"", "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b"},
	{"a\nb\n", "", "@@ -1,2 +0,0 @@\n-a\n-b"},
	{"a\nb\nc\n", "a\nx\nc\n", "@@ -2 +2 @@\n-b\n+x"},
	{"a\nb\nc\n", "a\nc\n", "@@ -2 +1,0 @@\n-b"},
	{"a\nc\n", "a\nb\nc\n", "@@ -1,0 +2 @@\n+b"},
	{"a", "a\n", "@@ -1,0 +2 @@\n+"},
	{"a\n", "a", "@@ -2 +1,0 @@\n-"},
	{"a\na\n", "a\na\na\n", "@@ -2,0 +3 @@\n+a"},
	{"ab\n", "b\n", "@@ -1 +1 @@\n-ab\n+b"},
	{"1\n2\n3\n4\n5\n", "1\nx\n3\n4\ny\nz\n",
		"@@ -2 +2 @@\n-2\n+x\n@@ -5 +5,2 @@\n-5\n+y\n+z"},
	{"a \t\n", "b\xe3\x80\x80\n", "@@ -1 +1 @@\n-a\n+b"},
	{"a\r\n", "a\n", "@@ -1 +1 @@\n-a\n+a"},
};

static void check_rows(void)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct row *r = &rows[i];
		const char *got = diff(str_c(r->before), str_c(r->after));
		size_t head = strlen("--- f\n+++ f\n");

		if (!*r->want)
			is_str(got, "", "equal texts, row %zu", i);
		else
			is_str(strlen(got) > head ? got + head : got, r->want, "row %zu",
				i);
	}
}

/* Applies what diff printed to the lines of a; the result is in copy. */
static bool apply(struct str a, struct str script)
{
	size_t line = 1;

	buf_reset(&copy);
	(void)str_cut(&script, '\n');
	(void)str_cut(&script, '\n');
	while (script.n) {
		struct str at = str_cut(&script, '\n');
		struct str range = str_skip(at, 4);
		uint64_t from, count = 1;
		struct str minus = str_cut(&range, ' ');
		struct str first = str_cut(&minus, ',');

		if (!str_starts(at, STR("@@ -")) || str_u64(first, 1 << 30, &from) < 0 ||
			(minus.n && str_u64(minus, 1 << 30, &count) < 0))
			return false;
		from += count == 0;
		for (; line < from; line++) {
			buf_str(&copy, str_cut(&a, '\n'));
			buf_putc(&copy, '\n');
		}
		for (uint64_t i = 0; i < count; i++, line++) {
			struct str gone = str_skip(str_cut(&script, '\n'), 1);

			if (!str_eq(gone, str_cut(&a, '\n')))
				return false;
		}
		while (str_starts(script, STR("+"))) {
			buf_str(&copy, str_skip(str_cut(&script, '\n'), 1));
			buf_putc(&copy, '\n');
		}
	}
	buf_str(&copy, a);
	return true;
}

static unsigned seed = 1;

static unsigned chance(unsigned n)
{
	seed = seed * 1103515245u + 12345u;
	return (seed >> 16) % n;
}

static void make(struct buf *b, unsigned lines, unsigned letters)
{
	buf_reset(b);
	for (unsigned i = 0; i < lines; i++)
		buf_fmt(b, "%c\n", (int)('a' + chance(letters)));
}

static size_t changed_lines(struct str script)
{
	size_t n = 0;

	(void)str_cut(&script, '\n');
	(void)str_cut(&script, '\n');
	while (script.n) {
		struct str at = str_cut(&script, '\n');

		n += at.p[0] != '@';
	}
	return n;
}

/* Lines that a shortest script changes, by the table of all prefixes. */
static size_t least_changes(struct str a, struct str b)
{
	static size_t table[64][64];
	size_t n = a.n / 2, m = b.n / 2;

	for (size_t i = 0; i <= n; i++)
		for (size_t j = 0; j <= m; j++) {
			if (!i || !j)
				table[i][j] = i + j;
			else if (a.p[2 * i - 2] == b.p[2 * j - 2])
				table[i][j] = table[i - 1][j - 1];
			else if (table[i - 1][j] < table[i][j - 1])
				table[i][j] = table[i - 1][j] + 1;
			else
				table[i][j] = table[i][j - 1] + 1;
		}
	return table[n][m];
}

static void check_random(void)
{
	struct buf a = BUF_INIT(1 << 20), b = BUF_INIT(1 << 20);
	int wrong = 0, longer = 0;

	for (int i = 0; i < 3000; i++) {
		make(&a, chance(40), 1 + chance(6));
		make(&b, chance(40), 1 + chance(6));
		if (str_eq(buf_view(&a), buf_view(&b)))
			continue;
		diff(buf_view(&a), buf_view(&b));
		if (changed_lines(buf_view(&out)) !=
			least_changes(buf_view(&a), buf_view(&b)))
			longer++;
		if (!apply(buf_view(&a), buf_view(&out)) ||
			!str_eq(buf_view(&copy), buf_view(&b)))
			wrong++;
	}
	is_int(wrong, 0, "3000 scripts make the new text of the old one");
	is_int(longer, 0, "none is longer than need be");
	buf_free(&a);
	buf_free(&b);
}

/* Beyond the bounds the middle is one hunk, and still right. */
static void check_large(void)
{
	struct buf a = BUF_INIT(8 << 20), b = BUF_INIT(8 << 20);

	for (int i = 0; i < DIFF_LINES_MAX + 5; i++) {
		buf_fmt(&a, "%d\n", i);
		buf_fmt(&b, "%d\n", i % 3 ? i : -i);
	}
	diff(buf_view(&a), buf_view(&b));
	ok(apply(buf_view(&a), buf_view(&out)) && str_eq(buf_view(&copy), buf_view(&b)),
		"very many changes");
	a.n = (size_t)((char *)memrchr(a.p, '\n', 50000) - a.p) + 1;
	b.n = (size_t)((char *)memrchr(b.p, '\n', 50000) - b.p) + 1;
	diff(buf_view(&a), buf_view(&b));
	ok(apply(buf_view(&a), buf_view(&out)) && str_eq(buf_view(&copy), buf_view(&b)),
		"more than a script may have");
	buf_free(&a);
	buf_free(&b);
}

int main(void)
{
	check_rows();
	check_random();
	check_large();
	buf_free(&out);
	buf_free(&copy);
	return done_testing();
}
