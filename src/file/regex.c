#include "file/regex.h"

#include "base/utf8.h"
#include "file/chars.h"

#include <errno.h>

enum { NO_ATOM = -1, ALWAYS = -1 };

struct group {
	size_t at;    /* of its parenthesis in the pattern */
	size_t begin; /* its first instruction */
	bool nocase;  /* outside of it */
	struct automaton_alt alt;
};

/*
 * Characters in a row that stand in every match. The last one may yet turn out to be
 * optional, hence its length.
 */
struct run {
	char text[NEEDLE_MAX];
	size_t n;
	size_t last;
};

struct parser {
	struct automaton *out;
	struct str rest; /* what is still to be read of... */
	struct str pattern;
	bool nocase;
	ptrdiff_t atom; /* where what can be repeated began */
	size_t depth;
	struct group groups[REGEX_DEPTH_MAX + 1]; /* the first is the whole pattern */
	struct run run, longest;
	bool plain;  /* nothing but characters so far */
	bool choice; /* there are alternatives outside of groups */
	struct regex_error *e;
};

static int refuse(struct parser *p, size_t at, const char *why)
{
	*p->e = (struct regex_error){.at = at, .why = why};
	return ERR_SYNTAX;
}

static size_t here(const struct parser *p)
{
	return p->pattern.n - p->rest.n;
}

static bool take(struct parser *p, char c)
{
	if (!p->rest.n || p->rest.p[0] != c)
		return false;
	p->rest = str_skip(p->rest, 1);
	return true;
}

/* --- The literal --------------------------------------------------------------- */

static void end_run(struct parser *p)
{
	if (p->run.n > p->longest.n)
		p->longest = p->run;
	p->run.n = p->run.last = 0;
}

static void run_char(struct parser *p, uint32_t cp)
{
	char text[4];
	size_t n = utf8_encode(cp, text);

	if (p->depth || (p->nocase && n > 1)) {
		end_run(p);
		p->plain = false;
		return;
	}
	if (p->run.n + n > sizeof(p->run.text)) {
		end_run(p);
		p->plain = false;
	}
	memcpy(p->run.text + p->run.n, text, n);
	p->run.n += n;
	p->run.last = n;
}

static void run_repeat(struct parser *p, int min)
{
	if (min == 0)
		p->run.n -= p->run.last;
	end_run(p);
	p->plain = false;
}

static void run_other(struct parser *p)
{
	end_run(p);
	p->plain = false;
}

/* --- Atoms --------------------------------------------------------------------- */

static void put_set(struct parser *p, struct chars *set)
{
	p->atom = (ptrdiff_t)automaton_here(p->out);
	automaton_chars(p->out, set->r, set->n);
}

static void put_char(struct parser *p, uint32_t cp)
{
	struct chars set = {.n = 0};

	chars_add(&set, cp, cp);
	if (p->nocase)
		chars_fold(&set);
	put_set(p, &set);
	run_char(p, cp);
}

static void put_check(struct parser *p, enum automaton_check check)
{
	automaton_check(p->out, check);
	p->atom = NO_ATOM;
	p->plain = false;
	/* What stands before it is not last any more. */
	p->run.last = 0;
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* digits of them, or as many as stand in braces. */
static int take_hex(struct parser *p, size_t digits, uint32_t *cp)
{
	bool braces = digits == 2 && take(p, '{');
	size_t at = here(p), n = 0;
	uint32_t value = 0;

	while (p->rest.n && n < (braces ? 6 : digits) && hex_value(p->rest.p[0]) >= 0) {
		value = value << 4 | (uint32_t)hex_value(p->rest.p[0]);
		p->rest = str_skip(p->rest, 1);
		n++;
	}
	if (!n || (!braces && n < digits) || (braces && !take(p, '}')))
		return refuse(p, at, "hexadecimal digits are missing");
	if (value > CHAR_MAX_CODE || (value >= 0xd800 && value <= 0xdfff))
		return refuse(p, at, "there is no such character");
	*cp = value;
	return 0;
}

/* The character that an escape stands for, when its letter was taken already. */
static int escaped_char(struct parser *p, uint32_t letter, uint32_t *cp)
{
	static const char names[] = "tfvaer0", codes[] = "\t\f\v\a\033\r";
	const char *name = letter && letter < 0x80 ? strchr(names, (int)letter) : NULL;
	size_t at = here(p) - 1;

	if (letter == 'x')
		return take_hex(p, 2, cp);
	if (letter == 'u')
		return take_hex(p, 4, cp);
	if (letter == 'n')
		return refuse(p, at, "lines are searched one by one, \\n is in none");
	if (letter >= '1' && letter <= '9')
		return refuse(p, at, "references to groups are not supported");
	if (letter == 'p' || letter == 'P')
		return refuse(p, at, "Unicode properties are not supported");
	if (name) {
		*cp = (uint8_t)codes[name - names];
		return 0;
	}
	if ((letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') ||
		(letter >= 'A' && letter <= 'Z'))
		return refuse(p, at, "unknown escape");
	*cp = letter;
	return 0;
}

/* After a backslash. */
static int parse_escape(struct parser *p)
{
	static const struct {
		char letter;
		enum automaton_check check;
	} checks[] = {
		{'b', CHECK_WORD_EDGE},
		{'B', CHECK_WORD_INSIDE},
		{'<', CHECK_WORD_START},
		{'>', CHECK_WORD_END},
	};
	struct chars set = {.n = 0};
	uint32_t letter, cp;
	int r;

	if (!p->rest.n)
		return refuse(p, here(p) - 1, "a backslash at the end");
	letter = utf8_next(&p->rest);
	for (size_t i = 0; i < ARRAY_LEN(checks); i++)
		if (letter == (uint32_t)checks[i].letter) {
			put_check(p, checks[i].check);
			return 0;
		}
	if (chars_add_kind(&set, letter)) {
		chars_drop(&set, '\n');
		put_set(p, &set);
		run_other(p);
		return 0;
	}
	r = escaped_char(p, letter, &cp);
	if (!r)
		put_char(p, cp);
	return r;
}

/* --- Classes ------------------------------------------------------------------- */

/* [:alpha:] and its like, whose "[:" was taken. */
static int parse_name(struct parser *p, struct chars *set)
{
	size_t at = here(p), n = str_find(p->rest, STR(":]"));
	struct str name = str_make(p->rest.p, n);

	if (n == p->rest.n || !chars_add_named(set, name))
		return refuse(p, at, "unknown name of a class");
	p->rest = str_skip(p->rest, n + 2);
	return 0;
}

/* One member of a class that may be an end of a range; 1 when it was a whole set. */
static int parse_member(struct parser *p, struct chars *set, uint32_t *cp)
{
	*cp = utf8_next(&p->rest);
	if (*cp == '[' && take(p, ':')) {
		int r = parse_name(p, set);

		return r ? r : 1;
	}
	if (*cp != '\\')
		return 0;
	if (!p->rest.n)
		return refuse(p, here(p) - 1, "a backslash at the end");
	*cp = utf8_next(&p->rest);
	if (chars_add_kind(set, *cp))
		return 1;
	if (*cp == 'b') {
		*cp = '\b';
		return 0;
	}
	if (*cp == 'n')
		return 0;
	return escaped_char(p, *cp, cp);
}

static int parse_range(struct parser *p, struct chars *set)
{
	size_t at = here(p);
	uint32_t first, last;
	int r = parse_member(p, set, &first);

	if (r)
		return r < 0 ? r : 0;
	last = first;
	if (p->rest.n > 1 && p->rest.p[0] == '-' && p->rest.p[1] != ']') {
		p->rest = str_skip(p->rest, 1);
		r = parse_member(p, set, &last);
		if (r)
			return r < 0 ? r : refuse(p, at, "a range needs two characters");
	}
	if (first > last)
		return refuse(p, at, "a range runs backwards");
	chars_add(set, first, last);
	return 0;
}

/* After its opening bracket. */
static int parse_class(struct parser *p)
{
	size_t at = here(p) - 1;
	struct chars set = {.n = 0};
	bool invert = take(p, '^');
	bool first = true;

	for (;; first = false) {
		int r;

		if (!p->rest.n)
			return refuse(p, at, "the class has no end");
		if (!first && take(p, ']'))
			break;
		r = parse_range(p, &set);
		if (r)
			return r;
	}
	if (p->nocase)
		chars_fold(&set);
	if (invert)
		chars_invert(&set);
	chars_drop(&set, '\n');
	if (set.full)
		return refuse(p, at, "the class has too many ranges");
	put_set(p, &set);
	run_other(p);
	return 0;
}

/* --- Groups and repeats -------------------------------------------------------- */

/* After "(": what kind of group it is. 1 for a setting, which is none. */
static int parse_kind(struct parser *p)
{
	size_t at = here(p) - 1;

	if (!take(p, '?'))
		return 0;
	if (take(p, ':'))
		return 0;
	if (str_starts(p->rest, STR("i)")) || str_starts(p->rest, STR("i:"))) {
		bool group = p->rest.p[1] == ':';

		p->rest = str_skip(p->rest, 2);
		p->nocase = true;
		return !group;
	}
	if (take(p, '=') || take(p, '!'))
		return refuse(p, at, "look-around is not supported");
	if (str_starts(p->rest, STR("P<")))
		p->rest = str_skip(p->rest, 1);
	if (str_starts(p->rest, STR("<=")) || str_starts(p->rest, STR("<!")))
		return refuse(p, at, "look-around is not supported");
	if (take(p, '<')) {
		size_t n = str_find_byte(p->rest, '>');

		if (n < p->rest.n) {
			p->rest = str_skip(p->rest, n + 1);
			return 0;
		}
	}
	return refuse(p, at, "unknown kind of group");
}

static int open_group(struct parser *p)
{
	struct group *g;
	bool nocase = p->nocase;
	size_t at = here(p) - 1;
	int kind = parse_kind(p);

	if (kind) {
		p->atom = NO_ATOM;
		/* A setting in the middle would leave a literal of two kinds. */
		run_other(p);
		p->choice |= p->nocase != nocase && p->longest.n;
		return kind < 0 ? kind : 0;
	}
	if (p->depth == REGEX_DEPTH_MAX)
		return refuse(p, at, "too many groups in each other");
	run_other(p);
	g = &p->groups[++p->depth];
	*g = (struct group){.at = at, .begin = automaton_here(p->out), .nocase = nocase};
	automaton_alt_begin(p->out, &g->alt);
	p->atom = NO_ATOM;
	return 0;
}

static int close_group(struct parser *p)
{
	struct group *g = &p->groups[p->depth];

	if (!p->depth)
		return refuse(
			p, here(p) - 1, "a ')' without its '('; \\) is the character");
	automaton_alt_end(p->out, &g->alt);
	p->atom = (ptrdiff_t)g->begin;
	p->nocase = g->nocase;
	p->depth--;
	return 0;
}

/* {n}, {n,}, {,m}, {n,m} at the front of text; 0 is none, or else its length. */
static size_t parse_counts(struct str text, int *min, int *max)
{
	struct str rest = str_skip(text, 1);
	size_t end = str_find_byte(rest, '}');
	struct str high = str_make(rest.p, end);
	struct str low = str_cut(&high, ',');
	bool comma = low.n < end;
	uint64_t from = 0, to = 0;

	if (end == rest.n || (!low.n && !high.n) ||
		(low.n && str_u64(low, INT32_MAX, &from) < 0) ||
		(high.n && str_u64(high, INT32_MAX, &to) < 0))
		return 0;
	*min = (int)from;
	*max = high.n ? (int)to : comma ? AUTOMATON_FOREVER : (int)from;
	return end + 2;
}

/* What follows an atom; 1 when c starts no repeat. */
static int parse_repeat(struct parser *p, char c)
{
	size_t at = here(p);
	size_t n = 1;
	int min = 0, max = AUTOMATON_FOREVER;

	if (c == '+')
		min = 1;
	else if (c == '?')
		max = 1;
	else if (c == '{')
		n = parse_counts(p->rest, &min, &max);
	else if (c != '*')
		return 1;
	if (!n)
		return 1;
	if (p->atom == NO_ATOM)
		return refuse(p, at, "nothing stands there to be repeated");
	if (min > REGEX_REPEAT_MAX || max > REGEX_REPEAT_MAX)
		return refuse(p, at, "more than 1000 repeats");
	if (max != AUTOMATON_FOREVER && max < min)
		return refuse(p, at, "a repeat runs backwards");
	p->rest = str_skip(p->rest, n);
	/* Lazy repeats take part in the same matches. */
	take(p, '?');
	automaton_repeat(p->out, (size_t)p->atom, min, max);
	run_repeat(p, min);
	p->atom = NO_ATOM;
	return 0;
}

/* --- The whole ----------------------------------------------------------------- */

static void parse_dot(struct parser *p)
{
	struct chars set = {.n = 0};

	chars_add(&set, '\n', '\n');
	chars_invert(&set);
	put_set(p, &set);
	run_other(p);
}

static int parse_one(struct parser *p)
{
	int r = parse_repeat(p, p->rest.p[0]);
	uint32_t c;

	if (r <= 0)
		return r;
	c = utf8_next(&p->rest);
	switch (c) {
	case '\\':
		return parse_escape(p);
	case '[':
		return parse_class(p);
	case '(':
		return open_group(p);
	case ')':
		return close_group(p);
	case '.':
		parse_dot(p);
		return 0;
	case '^':
		put_check(p, CHECK_LINE_START);
		return 0;
	case '$':
		put_check(p, CHECK_LINE_END);
		return 0;
	case '|':
		automaton_alt_next(p->out, &p->groups[p->depth].alt);
		p->atom = NO_ATOM;
		p->choice |= !p->depth;
		run_other(p);
		return 0;
	case '\n':
		return refuse(p, here(p) - 1, "lines are searched one by one");
	default:
		put_char(p, c);
		return 0;
	}
}

static int parse(struct parser *p, bool literal)
{
	automaton_alt_begin(p->out, &p->groups[0].alt);
	while (p->rest.n && !p->out->err) {
		int r;

		if (literal && p->rest.p[0] != '\n') {
			put_char(p, utf8_next(&p->rest));
			continue;
		}
		r = parse_one(p);
		if (r)
			return r;
	}
	if (!p->out->err && p->depth)
		return refuse(p, p->groups[p->depth].at, "a '(' without its ')'");
	automaton_alt_end(p->out, &p->groups[0].alt);
	automaton_match(p->out);
	end_run(p);
	if (p->out->err == ERR_LIMIT)
		*p->e = (struct regex_error){here(p), "the pattern is too large"};
	return p->out->err;
}

int regex_init(struct regex *x, struct str pattern, unsigned flags, struct regex_error *e)
{
	struct automaton program;
	struct parser p = {
		.out = &program,
		.rest = pattern,
		.pattern = pattern,
		.nocase = flags & REGEX_NOCASE,
		.atom = NO_ATOM,
		.plain = true,
		.e = e,
	};
	size_t valid = utf8_prefix(pattern);
	int r;

	*x = (struct regex){.only_literal = false};
	if (pattern.n > REGEX_PATTERN_MAX) {
		*e = (struct regex_error){.why = "the pattern is too long"};
		return ERR_LIMIT;
	}
	if (valid < pattern.n) {
		*e = (struct regex_error){valid, "the pattern is not UTF-8"};
		return ERR_UTF8;
	}
	automaton_init(&program);
	r = parse(&p, flags & REGEX_LITERAL);
	if (!r)
		r = dfa_init_take(&x->dfa, &program, DFA_LINES);
	automaton_free(&program);
	if (r)
		return r;
	if (p.longest.n && !p.choice) {
		needle_init(&x->literal, str_make(p.longest.text, p.longest.n), p.nocase);
		x->only_literal = p.plain;
	}
	return 0;
}

void regex_free(struct regex *x)
{
	dfa_free(&x->dfa);
}

int regex_find(struct regex *x, struct str text, size_t *at)
{
	size_t from = 0;

	if (!x->literal.n)
		return dfa_find(&x->dfa, text, at);
	while (from < text.n) {
		struct str rest = str_skip(text, from);
		size_t hit = needle_find(&x->literal, rest);
		const char *before = hit ? memrchr(rest.p, '\n', hit) : NULL;
		size_t begin = before ? (size_t)(before - rest.p) + 1 : 0;
		struct str line;
		size_t in_line;
		int r;

		if (hit == rest.n)
			return 1;
		if (x->only_literal) {
			*at = from + hit;
			return 0;
		}
		line = str_skip(rest, begin);
		line.n = str_find_byte(line, '\n');
		r = dfa_find(&x->dfa, line, &in_line);
		if (r <= 0) {
			if (!r)
				*at = from + begin + in_line;
			return r;
		}
		from += begin + line.n + 1;
	}
	return 1;
}
