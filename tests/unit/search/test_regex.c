#include "limits.h"
#include "search/regex.h"
#include "tests/tap.h"

#include <errno.h>
#include <regex.h>
#include <stdlib.h>

static bool compile(struct regex *x, const char *pattern, unsigned flags)
{
	struct regex_error e = {0, ""};
	int r = regex_init(x, str_c(pattern), flags, &e);

	if (r)
		printf("#   %s: at %zu: %s\n", pattern, e.at, e.why);
	return r == 0;
}

static const struct row {
	const char *pattern;
	const char *line;
	bool match;
	unsigned flags;
} rows[] = {
	{"", "", true, 0},
	{"", "x", true, 0},
	{"abc", "xxabcxx", true, 0},
	{"abc", "ab", false, 0},
	{"a.c", "abc", true, 0},
	{"a.c", "ac", false, 0},
	{"^a.c$",
		"a\xc3\xa9"
		"c",
		true, 0},
	{"^a..c$",
		"a\xc3\xa9"
		"c",
		false, 0},
	{"^.$", "\xe6\x97\xa5", true, 0},
	{"^.$", "\xf0\x9f\x98\x80", true, 0},
	{"^.$", "\xff", false, 0},
	{"^.$", "\xc3", false, 0},
	{"a|b", "b", true, 0},
	{"^(a|b|cd)$", "cd", true, 0},
	{"^(a|b|cd)$", "c", false, 0},
	{"(a|)b", "b", true, 0},
	{"a||b", "x", true, 0},
	{"^a*$", "aaa", true, 0},
	{"^a+$", "", false, 0},
	{"^a?b$", "b", true, 0},
	{"^a{3}$", "aaa", true, 0},
	{"^a{3}$", "aa", false, 0},
	{"^a{2,3}$", "aaaa", false, 0},
	{"^a{2,}$", "aaaa", true, 0},
	{"^a{,2}$", "aaa", false, 0},
	{"^a{,2}$", "", true, 0},
	{"^a{0}b$", "b", true, 0},
	{"^a{0,1}b$", "ab", true, 0},
	{"^(ab){2}(c|d){1,2}$", "ababcd", true, 0},
	{"^(a{1,2}){2}$", "aaaa", true, 0},
	{"^(a{1,2}){2}$", "aaaaa", false, 0},
	{"interface{}", "interface{}", true, 0},
	{"a{x", "a{x", true, 0},
	{"a{,}", "a{,}", true, 0},
	{"{", "{", true, 0},
	{"]}", "]}", true, 0},
	{"^a*?b+?$", "aabb", true, 0},
	{"[a-c]+", "xxbxx", true, 0},
	{"^[^a-c]$", "d", true, 0},
	{"^[^a-c]$", "b", false, 0},
	{"^[]a]$", "]", true, 0},
	{"^[^]a]$", "]", false, 0},
	{"^[a-]$", "-", true, 0},
	{"^[\\]]$", "]", true, 0},
	{"^[\\d_]$", "7", true, 0},
	{"^[\\W]$", "\xc3\xa9", true, 0},
	{"^[[:alpha:]-]+$", "a-B", true, 0},
	{"^[[:digit:]]$", "x", false, 0},
	{"^[^[:space:]]$", " ", false, 0},
	{"^[\xc3\xa0-\xc3\xbf]$", "\xc3\xa9", true, 0},
	{"^[^\xc3\xa0-\xc3\xbf]$", "\xc3\xa9", false, 0},
	{"^[^x]$", "\xc3\xa9", true, 0},
	{"^[\\x41-\\x43]$", "B", true, 0},
	{"^[^\\n]+$", "abc", true, 0},
	{"\\d+", "a1", true, 0},
	{"^\\D$", "1", false, 0},
	{"^\\w+$", "a_1", true, 0},
	{"\\s", "a\tb", true, 0},
	{"^\\S+$", "a b", false, 0},
	{"\\bfoo\\b", "a foo b", true, 0},
	{"\\bfoo\\b", "foo", true, 0},
	{"\\bfoo\\b", "food", false, 0},
	{"\\bfoo\\b", "afoo", false, 0},
	{"\\Boo\\B", "foods", true, 0},
	{"\\Bfoo", "foo", false, 0},
	{"\\<foo", "foo", true, 0},
	{"foo\\>", "foo(", true, 0},
	{"\\<oo", "foo", false, 0},
	{"a\\b-", "a-", true, 0},
	{"^$", "", true, 0},
	{"^$", "x", false, 0},
	{"a^b", "ab", false, 0},
	{"(^a|b$)", "xb", true, 0},
	{"(^a|b$)", "xa", false, 0},
	{"\\.\\*\\[", ".*[", true, 0},
	{"\\/", "/", true, 0},
	{"\\t", "\t", true, 0},
	{"\\x41\\u0042\\x{43}", "ABC", true, 0},
	{"\\x{1F600}", "\xf0\x9f\x98\x80", true, 0},
	{"ABC", "xabcx", true, REGEX_NOCASE},
	{"[a-z]x", "QX", true, REGEX_NOCASE},
	{"\xc3\x89t\xc3\xa9", "\xc3\xa9T\xc3\x89", true, REGEX_NOCASE},
	{"\xd0\x9f\xd1\x80", "\xd0\xbf\xd0\xa0", true, REGEX_NOCASE},
	{"\xc5\x81", "\xc5\x82", true, REGEX_NOCASE},
	{"[^a]", "A", false, REGEX_NOCASE},
	{"a", "A", false, 0},
	{"(?i)abc", "ABC", true, 0},
	{"(?i:a)b", "Ab", true, 0},
	{"(?i:a)b", "AB", false, 0},
	{"x(?i)y", "xY", true, 0},
	{"x(?i)y", "XY", false, 0},
	{"(x(?i)y)z", "xYZ", false, 0},
	{"(?:ab)+", "abab", true, 0},
	{"(?P<name>a)(?<n>b)", "ab", true, 0},
	{"a.c*(", "a.c*(", true, REGEX_LITERAL},
	{"a.c", "abc", false, REGEX_LITERAL},
	{"A.C", "xa.cx", true, REGEX_LITERAL | REGEX_NOCASE},
	{"foo.*bar", "bar foo", false, 0},
	{"foo.*bar", "foo bar", true, 0},
	{"fo*bar", "fbar", true, 0},
	{"abc?", "ab", true, 0},
	{"ab(cd)?", "ab", true, 0},
	{"xabc{0,2}", "xab", true, 0},
	{"\xc3\xa9?x", "x", true, 0},
};

static void check_rows(void)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct row *t = &rows[i];
		struct str line = str_c(t->line);
		struct regex x;
		size_t at = 0;
		int found = -1;

		if (compile(&x, t->pattern, t->flags))
			found = regex_find(&x, line, &at);
		is_int(found, !t->match, "%s in %s", t->pattern, t->line);
		ok(at <= line.n, "the place lies in the line");
		regex_free(&x);
	}
}

static const struct bad {
	const char *pattern;
	size_t at;
	const char *why;
} bads[] = {
	{"ab(c", 2, "a '(' without its ')'"},
	{"(a(b)", 0, "a '(' without its ')'"},
	{"ab)", 2, "a ')' without its '('; \\) is the character"},
	{"*a", 0, "a repeat has nothing before it"},
	{"a**", 2, "a repeat has nothing before it"},
	{"a|+", 2, "a repeat has nothing before it"},
	{"(*)", 1, "a repeat has nothing before it"},
	{"^*", 1, "a repeat has nothing before it"},
	{"a{2}{3}", 4, "a repeat has nothing before it"},
	{"x[a", 1, "the class has no end"},
	{"[]", 0, "the class has no end"},
	{"[b-a]", 1, "a range has its end before its beginning"},
	{"[[:no:]]", 3, "unknown name of a character class"},
	{"[a-\\d]", 1, "a range needs two characters"},
	{"a\\", 1, "a backslash at the end"},
	{"[\\", 1, "a backslash at the end"},
	{"\\q", 1, "unknown escape"},
	{"(a)\\1", 4, "references to groups are not supported"},
	{"\\n", 1, "lines are searched one by one, so \\n never matches"},
	{"a\nb", 1, "lines are searched one by one"},
	{"\\\n", 1, "lines are searched one by one"},
	{"a\\x0a", 2, "lines are searched one by one"},
	{"\\pL", 1, "Unicode properties are not supported"},
	{"a(?=b)", 1, "look-around is not supported"},
	{"(?<!a)", 0, "look-around is not supported"},
	{"(?#)", 0, "unknown kind of group"},
	{"a{1001}", 1, "more than 1000 repeats"},
	{"a{3,2}", 1, "a repeat has a maximum below its minimum"},
	{"\\x4", 2, "hexadecimal digits are missing"},
	{"\\x{110000}", 3, "the character does not exist"},
	{"\\ud800", 2, "the character does not exist"},
	{"ab\xff", 2, "the pattern is not UTF-8"},
};

static void check_errors(void)
{
	for (size_t i = 0; i < ARRAY_LEN(bads); i++) {
		struct regex_error e = {99, "nothing"};
		struct regex x;

		ok(regex_init(&x, str_c(bads[i].pattern), 0, &e) < 0, "%s is refused",
			bads[i].pattern);
		is_int(e.at, bads[i].at, "the place is told");
		is_str(e.why, bads[i].why, "and why");
		regex_free(&x);
	}
}

static void check_limits(void)
{
	static char many[REGEX_PATTERN_MAX + 2];
	struct regex_error e;
	struct regex x;

	is_int(regex_init(&x, STR("((a{1000}){1000}){1000}"), 0, &e), ERR_LIMIT,
		"repeats of repeats are too large");
	is_str(e.why, "the pattern is too large", "which is told");
	regex_free(&x);
	memset(many, 'a', sizeof(many));
	is_int(regex_init(&x, str_make(many, sizeof(many) - 1), 0, &e), ERR_LIMIT,
		"a pattern can be too long");
	regex_free(&x);
	is_int(regex_init(&x, str_make(many, REGEX_PATTERN_MAX), 0, &e), 0,
		"and a bit shorter is taken");
	regex_free(&x);
	memset(many, '(', REGEX_DEPTH_MAX + 1);
	is_int(regex_init(&x, str_make(many, REGEX_DEPTH_MAX + 1), 0, &e), ERR_SYNTAX,
		"groups can be too deep");
	is_int(e.at, REGEX_DEPTH_MAX, "at the first one too many");
	regex_free(&x);
}

/* Several lines: the right one, whichever way it is found. */
static void check_lines(void)
{
	static const struct {
		const char *pattern, *text;
		size_t from, to; /* of the line, its LF included */
	} t[] = {
		{"b", "aa\nab\nb\n", 3, 5},
		{"^b", "ab\nb\n", 3, 4},
		{"a$", "ab\nxa\n", 3, 5},
		{"x*$", "ab\n", 0, 2},
		{"^$", "a\n\nb\n", 2, 2},
		{"foo.*bar", "foo\nbar\nxfooybarz\n", 8, 17},
		{"(x|y)z", "x\nz\nyz", 4, 6},
		{"c\\b", "cc cd\nxc\n", 0, 5},
		{"d\\b", "dd_\nd", 4, 5},
		{"[^x]b", "a\nb\nab", 4, 6},
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct regex x;
		size_t at = 99;

		ok(compile(&x, t[i].pattern, 0) &&
				regex_find(&x, str_c(t[i].text), &at) == 0,
			"%s is found", t[i].pattern);
		ok(at >= t[i].from && at <= t[i].to, "in its line (%zu)", at);
		regex_free(&x);
	}
}

/* More states than are kept, and patterns on which others take for ever. */
static void check_work(void)
{
	static char text[200001];
	struct regex x;
	size_t at;

	for (size_t i = 0; i < sizeof(text) - 1; i++)
		text[i] = (char)('a' + (i * 2654435761U >> 13) % 2);
	ok(compile(&x, "^.*a.{60}b.{13}ab.{30}c", 0), "a pattern with many states");
	is_int(regex_find(&x, str_c(text), &at), 1, "they are forgotten and made again");
	ok(x.dfa.states.n / 12 <= DFA_STATES_MAX + 9, "within their limit");
	regex_free(&x);
	memset(text, 'a', sizeof(text) - 1);
	ok(compile(&x, "^(a*)*(a|aa)+(a?){50}b$", 0), "a pattern of nested repeats");
	is_int(regex_find(&x, str_c(text), &at), 1, "takes no longer for that");
	regex_free(&x);
	ok(compile(&x, "((((a*)+)?)*)*$", 0), "loops around nothing end");
	is_int(regex_find(&x, STR("bbb"), &at), 0, "and match");
	regex_free(&x);
}

/* --- Against the C library ----------------------------------------------------- */

static uint32_t seed = 1;

static unsigned pick(unsigned n)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 16) % n;
}

static void put(char *out, size_t *n, const char *s)
{
	while (*s)
		out[(*n)++] = *s++;
	out[*n] = '\0';
}

/* A random pattern of a few branches, whose groups are the ones of the level below. */
static void generate(char *out, size_t *n, int level)
{
	static const char *const atoms[] = {"a", "b", "ab", ".", "[ab]", "[^a]", "[b-d]"};
	static const char *const repeats[] = {"", "", "", "*", "+", "?", "{2}", "{1,2}"};
	unsigned branches = 1 + pick(2);

	for (unsigned i = 0; i < branches; i++) {
		unsigned parts = 1 + pick(3);

		put(out, n, i ? "|" : "");
		put(out, n, level == 2 && !pick(4) ? "^" : "");
		for (unsigned k = 0; k < parts; k++) {
			if (level && !pick(3)) {
				put(out, n, "(");
				generate(out, n, level - 1);
				put(out, n, ")");
			} else {
				put(out, n, atoms[pick(ARRAY_LEN(atoms))]);
			}
			put(out, n, repeats[pick(ARRAY_LEN(repeats))]);
		}
		put(out, n, level == 2 && !pick(4) ? "$" : "");
	}
}

static void check_library(void)
{
	unsigned different = 0, matches = 0, tried = 0;

#ifndef __GLIBC__
	/* musl's regexec errs about alternatives in groups that are repeated. */
	skip("random patterns", "the C library is not glibc");
	return;
#endif
	for (int i = 0; i < 3000; i++) {
		char pattern[512] = "";
		size_t n = 0;
		regex_t other;
		struct regex x;

		generate(pattern, &n, 2);
		if (regcomp(&other, pattern, REG_EXTENDED | REG_NOSUB))
			continue;
		if (!compile(&x, pattern, 0))
			different++;
		for (int k = 0; k < 20 && x.dfa.columns; k++) {
			char line[12];
			size_t at, length = pick(sizeof(line) - 1);
			bool theirs, ours;

			for (size_t j = 0; j < length; j++)
				line[j] = (char)('a' + pick(4));
			line[length] = '\0';
			theirs = regexec(&other, line, 0, NULL, 0) == 0;
			ours = regex_find(&x, str_c(line), &at) == 0;
			matches += ours;
			tried++;
			if (ours != theirs && !different++)
				printf("#   %s on %s: %d\n", pattern, line, ours);
		}
		regex_free(&x);
		regfree(&other);
	}
	is_int(different, 0, "random patterns match as the C library has it");
	ok(matches > tried / 10 && matches < tried - tried / 10,
		"some match, some do not");
}

static void check_needle(void)
{
	unsigned different = 0;

	for (int i = 0; i < 20000; i++) {
		char text[80], want[8];
		size_t n = pick(sizeof(text)), m = 1 + pick(sizeof(want));
		struct needle needle;
		const char *theirs;
		size_t at, three;

		for (size_t k = 0; k < n; k++)
			text[k] = (char)('a' + pick(3));
		for (size_t k = 0; k < m; k++)
			want[k] = (char)('a' + pick(3));
		needle_init(&needle, str_make(want, m), false);
		at = needle_find(&needle, str_make(text, n));
		theirs = n ? memmem(text, n, want, m) : NULL;
		different += at != (theirs ? (size_t)(theirs - text) : n);
		three = needle_find_bytes(str_make(text, n), (const uint8_t *)"cxy");
		different += three != str_find_byte(str_make(text, n), 'c');
	}
	is_int(different, 0, "literals are found where memmem finds them");
}

int main(void)
{
	check_rows();
	check_errors();
	check_limits();
	check_lines();
	check_work();
	check_needle();
	check_library();
	return done_testing();
}
