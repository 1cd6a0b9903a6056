#include "search/glob.h"
#include "search/ignore.h"
#include "tests/tap.h"

static const struct row {
	const char *pattern, *path;
	bool match;
	unsigned flags;
} rows[] = {
	{"a", "a", true, 0},
	{"a", "b", false, 0},
	{"", "", true, 0},
	{"*", "abc", true, 0},
	{"*", "", true, 0},
	{"*", "a/b", false, 0},
	{"*.c", "x.c", true, 0},
	{"*.c", "x.cc", false, 0},
	{"*.c", "d/x.c", false, 0},
	{"a*b*c", "aXbYc", true, 0},
	{"a*b*c", "abcb", false, 0},
	{"?", "a", true, 0},
	{"?", "/", false, 0},
	{"?", "\xc3\xa9", true, 0},
	{"a\nb", "a\nb", true, 0},
	{"*", "a\nb", true, 0},
	{"*", "\xff", true, 0},
	{"[a-c]x", "bx", true, 0},
	{"[!a-c]x", "bx", false, 0},
	{"[^a-c]x", "dx", true, 0},
	{"[]]", "]", true, 0},
	{"[[:digit:]]", "5", true, 0},
	{"a[!x]b", "a/b", false, 0},
	{"[a-]", "-", true, 0},
	{"[\\]]", "]", true, 0},
	{"**", "a/b/c", true, 0},
	{"**/x", "x", true, 0},
	{"**/x", "a/b/x", true, 0},
	{"**/x", "ax", false, 0},
	{"a/**", "a/b/c", true, 0},
	{"a/**", "a", false, 0},
	{"a/**/b", "a/b", true, 0},
	{"a/**/b", "a/x/y/b", true, 0},
	{"a/**/b", "axb", false, 0},
	{"a**b", "axb", true, 0},
	{"a**b", "a/b", false, 0},
	{"**/*.c", "x.c", true, 0},
	{"**/*.c", "a/b/x.c", true, 0},
	{"src/**/*.py", "src/a.py", true, 0},
	{"src/**/*.py", "lib/a.py", false, 0},
	{"{a,b}.c", "b.c", true, GLOB_BRACES},
	{"{a,b}.c", "c.c", false, GLOB_BRACES},
	{"{a,b{c,d}}", "bd", true, GLOB_BRACES},
	{"{,x}y", "y", true, GLOB_BRACES},
	{"*.{ts,tsx}", "a.tsx", true, GLOB_BRACES},
	{"{a,b}", "{a,b}", true, 0},
	{"{**/a,**/b}", "x/b", true, GLOB_BRACES},
	{"a}b,c", "a}b,c", true, GLOB_BRACES},
	{"\\*", "*", true, 0},
	{"\\*", "a", false, 0},
	{"*.c", "d/x.c", true, GLOB_ANYWHERE},
	{"/*.c", "d/x.c", false, GLOB_ANYWHERE},
	{"/x", "x", true, GLOB_ANYWHERE},
	{"d/x", "d/x", true, GLOB_ANYWHERE},
	{"d/x", "e/d/x", false, GLOB_ANYWHERE},
	{"x", "a/b/x", true, GLOB_ANYWHERE},
	{"x*y", "a/b/xy", true, GLOB_ANYWHERE},
	{"*?", "a/bc", true, GLOB_ANYWHERE},
	{"?", "\xc3\xa9", true, 0},
	{"?", "\xc3\xa9", false, GLOB_BYTES},
	{"??", "\xc3\xa9", true, GLOB_BYTES},
	{"?", "\xff", true, GLOB_BYTES},
	{"[!a]x", "\xe9x", true, GLOB_BYTES},
	{"[!a]x", "/x", false, GLOB_BYTES},
	{"[\xc3\xa9]x", "\xa9x", true, GLOB_BYTES},
	{"[\\]]", "]", true, GLOB_BYTES},
	{"a[b-d]", "ac", true, GLOB_BYTES},
	{"a[b-d]", "ae", false, GLOB_BYTES},
};

static void check_rows(void)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *why = "";
		struct glob g;
		int r = glob_init(&g, str_c(rows[i].pattern), rows[i].flags, &why);

		if (!r)
			r = glob_match(&g, str_c(rows[i].path));
		is_int(r, !rows[i].match, "%s on %s %s", rows[i].pattern, rows[i].path,
			why);
		glob_free(&g);
	}
}

static void check_errors(void)
{
	static const struct {
		const char *pattern, *why;
	} t[] = {
		{"a[b", "a '[' without its ']'"},
		{"{a", "a '{' without its '}'"},
		{"[[:x:]]", "unknown name of a character class"},
		{"a\\", "a backslash at the end"},
		{"{{{{{{{{{{{{{{{{{", "too many nested braces"},
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		const char *why = "";
		struct glob g;

		is_int(glob_init(&g, str_c(t[i].pattern), GLOB_BRACES, &why), ERR_SYNTAX,
			"%s is refused", t[i].pattern);
		is_str(why, t[i].why, "and why");
		glob_free(&g);
	}
}

/* What takes exponential time or memory in a simple matcher. */
static void check_work(void)
{
	static char path[4000];
	const char *why;
	struct glob g;

	memset(path, 'a', sizeof(path));
	is_int(glob_init(&g, STR("*a*a*a*a*a*a*a*a*a*a*a*b"), 0, &why), 0, "many stars");
	is_int(glob_match(&g, str_make(path, sizeof(path))), 1, "end soon");
	glob_free(&g);
	is_int(glob_init(&g,
		       STR("{a,aa}{a,aa}{a,aa}{a,aa}{a,aa}{a,aa}{a,aa}{a,aa}{a,aa}*b"),
		       GLOB_BRACES, &why),
		0, "many braces");
	is_int(glob_match(&g, str_make(path, sizeof(path))), 1, "are not written out");
	glob_free(&g);
}

/* --- gitignore ----------------------------------------------------------------- */

static enum ignore_verdict ask(struct ignore *g, const char *path)
{
	struct str s = str_c(path);
	bool dir = str_ends(s, STR("/"));
	enum ignore_verdict verdict = 99;

	s.n -= dir;
	return ignore_check(g, s, dir, &verdict) ? 99 : verdict;
}

static void check_ignore(void)
{
	static const struct {
		const char *rules, *path;
		enum ignore_verdict verdict;
	} t[] = {
		{"", "a", IGNORE_NO_RULE},
		{"# a\n\n", "# a", IGNORE_NO_RULE},
		{"a", "a", IGNORE_EXCLUDE},
		{"a", "x/a", IGNORE_EXCLUDE},
		{"a/", "a", IGNORE_NO_RULE},
		{"a/", "x/a/", IGNORE_EXCLUDE},
		{"/a", "a", IGNORE_EXCLUDE},
		{"/a", "x/a", IGNORE_NO_RULE},
		{"x/a", "y/x/a", IGNORE_NO_RULE},
		{"x/a", "x/a", IGNORE_EXCLUDE},
		{"**/x/a", "y/x/a", IGNORE_EXCLUDE},
		{"*.o\n!k.o", "k.o", IGNORE_INCLUDE},
		{"*.o\n!k.o", "x.o", IGNORE_EXCLUDE},
		{"!k.o\n*.o", "k.o", IGNORE_EXCLUDE},
		{"\\#a", "#a", IGNORE_EXCLUDE},
		{"\\!a", "!a", IGNORE_EXCLUDE},
		{"a  ", "a", IGNORE_EXCLUDE},
		{"a\\ ", "a ", IGNORE_EXCLUDE},
		{"a\r\nb\r\n", "b", IGNORE_EXCLUDE},
		{"\xef\xbb\xbf"
		 "a",
			"a", IGNORE_EXCLUDE},
		{"a[", "a[", IGNORE_NO_RULE},
		{"a[\nb", "b", IGNORE_EXCLUDE},
		{"d/**", "d/x/y", IGNORE_EXCLUDE},
		{"d/**", "d/", IGNORE_NO_RULE},
		{"/*\n!/a", "b", IGNORE_EXCLUDE},
		{"/*\n!/a", "a", IGNORE_INCLUDE},
		{"a/b/", "a/b/", IGNORE_EXCLUDE},
		{"{a,b}", "a", IGNORE_NO_RULE},
		{"/", "a", IGNORE_NO_RULE},
		{"!", "a", IGNORE_NO_RULE},
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct ignore g;

		ignore_init(&g);
		is_int(ignore_add(&g, str_c(t[i].rules), 0), 0, "rules %s", t[i].rules);
		is_int(ask(&g, t[i].path), t[i].verdict, "on %s", t[i].path);
		ignore_free(&g);
	}
}

static void check_nested(void)
{
	struct ignore g;
	size_t outer;

	ignore_init(&g);
	is_int(ignore_add(&g, STR("*.log\n/top\n"), 3), 0, "rules of a folder");
	outer = ignore_count(&g);
	is_int(ignore_add(&g, STR("!keep.log\n/top\n*.tmp"), 7), 0, "rules of one in it");
	is_int(ask(&g, "/r/sub/keep.log"), IGNORE_INCLUDE, "the inner ones go first");
	is_int(ask(&g, "/r/sub/x.log"), IGNORE_EXCLUDE, "the outer ones still count");
	is_int(ask(&g, "/r/sub/top"), IGNORE_EXCLUDE, "each has its own folder");
	ignore_drop(&g, outer);
	is_int(ask(&g, "/r/sub/keep.log"), IGNORE_EXCLUDE, "what was dropped is gone");
	is_int(ask(&g, "/r/top"), IGNORE_EXCLUDE, "and nothing else");
	is_int(ask(&g, "/r/sub/x.tmp"), IGNORE_NO_RULE, "no more");
	ignore_free(&g);
}

int main(void)
{
	check_rows();
	check_errors();
	check_work();
	check_ignore();
	check_nested();
	return done_testing();
}
