#include "fs/edit.h"
#include "fs/strip.h"
#include "limits.h"
#include "tests/tap.h"

static struct buf out = BUF_INIT(16 << 20);

struct replace_row {
	const char *raw;
	const char *old;
	const char *new_text;
	const char *want; /* NULL: not found once */
	size_t n;         /* how often */
	const char *lines;
};

static const struct replace_row replaces[] = {
	{"abc", "b", "x", "axc", 1, "1"},
	{"abc", "z", "x", NULL, 0, ""},
	{"aaa", "aa", "x", "xa", 1, "1"},
	{"aaaa", "aa", "x", NULL, 2, "1"},
	{"", "", "x", "x", 1, "1"},
	{"ab\nc", "", "x", NULL, 5, "1, 2"},
	{"a\r\nb\r\n", "a\nb", "c\nd", "c\r\nd\r\n", 1, "1"},
	{"a\r\nb\r\n", "\n", "", NULL, 2, "1, 2"},
	{"a\r\r\n", "\n\n", "x", "ax", 1, "1"},
	{"a\rb", "\n", "-", "a-b", 1, "1"},
	{"\xef\xbb\xbf"
	 "a",
		"a", "b",
		"\xef\xbb\xbf"
		"b",
		1, "1"},
	{"\xe9\n", "\xc3\xa9", "\xc3\xa8", "\xe8\n", 1, "1"},
	{"\xe9\n", "\xe6\xbc\xa2", "", NULL, 0, ""},
	{"a\nb\na\n", "a", "", NULL, 2, "1, 3"},
	{"1\n2\n3\n", "2\n3", "x", "1\nx\n", 1, "2"},
};

static void check_replace(void)
{
	for (size_t i = 0; i < ARRAY_LEN(replaces); i++) {
		const struct replace_row *r = &replaces[i];
		struct edit_found f;
		struct edit_text t;

		is_int(edit_open(&t, str_c(r->raw)), 0, "row %zu is a text", i);
		is_int(edit_find(&t, str_c(r->old), &f), 0, "and is searched");
		is_int((long long)f.n, (long long)r->n, "found so often");
		ok(str_eq(buf_view(&f.lines), str_c(r->lines)), "in lines %s: %.*s",
			r->lines, STR_ARG(buf_view(&f.lines)));
		buf_reset(&out);
		if (r->want) {
			is_int(edit_replace(&t, f.at, f.length, str_c(r->new_text), &out),
				0, "replaced");
			is_mem(out.p, out.n, r->want, strlen(r->want), "the new bytes");
		}
		buf_free(&f.lines);
		edit_free(&t);
	}
}

static void check_encoding(void)
{
	struct edit_text t;

	is_int(edit_open(&t, STR("caf\xe9\n")), 0, "a text that is no UTF-8");
	buf_reset(&out);
	edit_show(&t, buf_view(&t.lines), &out);
	is_view(buf_view(&out), "caf\xc3\xa9\n", "is shown as Latin-1");
	buf_reset(&out);
	is_int(edit_replace(&t, 0, 0, STR("\xe2\x82\xac"), &out), ERR_RANGE,
		"and cannot hold a Euro sign");
	is_int((long long)out.n, 0, "nothing is written");
	edit_free(&t);
}

struct insert_row {
	const char *raw;
	size_t line;
	const char *text;
	const char *want;
};

static const struct insert_row inserts[] = {
	{"", 0, "x", "x\n"},
	{"a\n", 0, "x", "x\na\n"},
	{"a\n", 1, "x\ny", "a\nx\ny\n"},
	{"a", 1, "x", "a\nx\n"},
	{"a\r\nb", 2, "x\ny", "a\r\nb\r\nx\r\ny\r\n"},
	{"a\r\nb\r\n", 1, "", "a\r\n\r\nb\r\n"},
	{"\xef\xbb\xbf"
	 "a\n",
		0, "x", "\xef\xbb\xbfx\na\n"},
};

static void check_insert(void)
{
	for (size_t i = 0; i < ARRAY_LEN(inserts); i++) {
		const struct insert_row *r = &inserts[i];
		struct edit_text t;

		buf_reset(&out);
		is_int(edit_open(&t, str_c(r->raw)), 0, "row %zu is a text", i);
		is_int(edit_insert(&t, r->line, str_c(r->text), &out), 0, "inserted");
		is_mem(out.p, out.n, r->want, strlen(r->want), "the new bytes");
		edit_free(&t);
	}
}

static void check_ranges(void)
{
	struct edit_text t;

	is_int(edit_open(&t, STR("1\r\n2\r3\n4")), 0, "four lines");
	is_int((long long)edit_count_lines(&t), 4, "are four");
	is_view(edit_get_lines(&t, 2, 3), "2\n3\n", "two of them");
	is_view(edit_get_lines(&t, 4, 9), "4", "the last one");
	is_view(edit_get_lines(&t, 5, 9), "", "none");
	is_view(edit_get_lines(&t, 3, 2), "", "none the other way round");
	edit_free(&t);
	is_int(edit_open(&t, STR("")), 0, "an empty text");
	is_int((long long)edit_count_lines(&t), 0, "has no lines");
	edit_free(&t);
}

static const char *numbered(struct str text, size_t first)
{
	buf_reset(&out);
	edit_put_cat(&out, STR("W"), text, first);
	return buf_cstr(&out);
}

static void check_numbers(void)
{
	static char wide[EDIT_SHOWN_CHARS * 2 + 2];
#define HEAD "Here's the result of running `cat -n` on W:\n"

	is_str(numbered(STR(""), 1), HEAD "     1\t\n", "nothing has a line");
	is_str(numbered(STR("a\nb\n"), 99), HEAD "    99\ta\n   100\tb\n   101\t\n",
		"a last line end has one behind it");
	is_str(numbered(STR("a"), 1234567), HEAD "1234567\ta\n", "a wide number");
	for (size_t i = 0; i + 1 < sizeof(wide); i += 2)
		memcpy(wide + i, "\xc3\xa9", 2);
	ok(!strstr(numbered(str_make(wide, EDIT_SHOWN_CHARS * 2), 1), "<NOTE>"),
		"so many characters are shown");
	ok(strstr(numbered(str_make(wide, sizeof(wide)), 1), "\xc3\xa9<response"),
		"one more is not");
}

static void check_strip(void)
{
	is_view(strip_both(STR(" \t\xc2\xa0 a b\xe2\x80\x89\n")), "a b",
		"blanks of all kinds");
	is_view(strip_both(STR(" \n")), "", "nothing but blanks");
	is_view(strip_both(STR("")), "", "nothing");
	is_view(strip_end(STR("\xa0")), "\xa0", "half a character is none");
	is_view(strip_end(STR("\x80\x80\x80\x80\x80 ")), "\x80\x80\x80\x80\x80",
		"nor is garbage");
}

int main(void)
{
	check_replace();
	check_encoding();
	check_insert();
	check_ranges();
	check_numbers();
	check_strip();
	buf_free(&out);
	return done_testing();
}
