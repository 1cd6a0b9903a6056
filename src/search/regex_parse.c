/* Parses the structure of a pattern: groups, alternatives, repeats. */
#include "search/regex_private.h"

#include "base/utf8.h"

/* --- Groups and repeats -------------------------------------------------------- */

/*
 * Parses the kind of a group after "(". 1 for a setting such as (?i), which is no
 * group.
 */
static int regex_parse_group_kind(struct regex_parser *p)
{
	size_t at = regex_here(p) - 1;

	if (!regex_take(p, '?'))
		return 0;
	if (regex_take(p, ':'))
		return 0;
	if (str_starts(p->rest, STR("i)")) || str_starts(p->rest, STR("i:"))) {
		bool group = p->rest.p[1] == ':';

		p->rest = str_skip(p->rest, 2);
		p->nocase = true;
		return !group;
	}
	if (regex_take(p, '=') || regex_take(p, '!'))
		return regex_refuse(p, at, "look-around is not supported");
	if (str_starts(p->rest, STR("P<")))
		p->rest = str_skip(p->rest, 1);
	if (str_starts(p->rest, STR("<=")) || str_starts(p->rest, STR("<!")))
		return regex_refuse(p, at, "look-around is not supported");
	if (regex_take(p, '<')) {
		size_t n = str_find_byte(p->rest, '>');

		if (n < p->rest.n) {
			p->rest = str_skip(p->rest, n + 1);
			return 0;
		}
	}
	return regex_refuse(p, at, "unknown kind of group");
}

static int regex_open_group(struct regex_parser *p)
{
	struct regex_group *g;
	bool nocase = p->nocase;
	size_t at = regex_here(p) - 1;
	int kind = regex_parse_group_kind(p);

	if (kind) {
		p->atom = REGEX_NO_ATOM;
		/* The literal must have one setting of nocase throughout. */
		regex_run_break(p);
		p->choice |= p->nocase != nocase && p->longest.n;
		return kind < 0 ? kind : 0;
	}
	if (p->depth == REGEX_DEPTH_MAX)
		return regex_refuse(p, at, "too many nested groups");
	regex_run_break(p);
	g = &p->groups[++p->depth];
	*g = (struct regex_group){
		.at = at, .begin = automaton_count_insts(p->out), .nocase = nocase};
	automaton_alt_begin(p->out, &g->alt);
	p->atom = REGEX_NO_ATOM;
	return 0;
}

static int regex_close_group(struct regex_parser *p)
{
	struct regex_group *g = &p->groups[p->depth];

	if (!p->depth)
		return regex_refuse(p, regex_here(p) - 1,
			"a ')' without its '('; \\) is the character");
	automaton_alt_end(p->out, &g->alt);
	p->atom = (ptrdiff_t)g->begin;
	p->nocase = g->nocase;
	p->depth--;
	return 0;
}

/*
 * Parses {n}, {n,}, {,m} or {n,m} at the front of text; returns its length, 0 if there
 * is none.
 */
static size_t regex_parse_counts(struct str text, int *min, int *max)
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

/* Parses a repeat after an atom; 1 if c starts no repeat. */
static int regex_parse_repeat(struct regex_parser *p, char c)
{
	size_t at = regex_here(p);
	size_t n = 1;
	int min = 0, max = AUTOMATON_FOREVER;

	if (c == '+')
		min = 1;
	else if (c == '?')
		max = 1;
	else if (c == '{')
		n = regex_parse_counts(p->rest, &min, &max);
	else if (c != '*')
		return 1;
	if (!n)
		return 1;
	if (p->atom == REGEX_NO_ATOM)
		return regex_refuse(p, at, "a repeat has nothing before it");
	if (min > REGEX_REPEAT_MAX || max > REGEX_REPEAT_MAX)
		return regex_refuse(p, at, "more than 1000 repeats");
	if (max != AUTOMATON_FOREVER && max < min)
		return regex_refuse(p, at, "a repeat has a maximum below its minimum");
	p->rest = str_skip(p->rest, n);
	/* Lazy repeats match the same lines. */
	regex_take(p, '?');
	automaton_repeat(p->out, (size_t)p->atom, min, max);
	regex_run_repeat(p, min);
	p->atom = REGEX_NO_ATOM;
	return 0;
}

/* --- The whole ----------------------------------------------------------------- */

static int regex_parse_item(struct regex_parser *p)
{
	int r = regex_parse_repeat(p, p->rest.p[0]);
	uint32_t c;

	if (r <= 0)
		return r;
	c = utf8_next(&p->rest);
	switch (c) {
	case '\\':
		return regex_parse_escape(p);
	case '[':
		return regex_parse_class(p);
	case '(':
		return regex_open_group(p);
	case ')':
		return regex_close_group(p);
	case '.':
		regex_put_dot(p);
		return 0;
	case '^':
		regex_put_check(p, CHECK_LINE_START);
		return 0;
	case '$':
		regex_put_check(p, CHECK_LINE_END);
		return 0;
	case '|':
		automaton_alt_next(p->out, &p->groups[p->depth].alt);
		p->atom = REGEX_NO_ATOM;
		p->choice |= !p->depth;
		regex_run_break(p);
		return 0;
	case '\n':
		return regex_refuse(
			p, regex_here(p) - 1, "lines are searched one by one");
	default:
		regex_put_char(p, c);
		return 0;
	}
}

int regex_parse(struct regex_parser *p, bool literal)
{
	automaton_alt_begin(p->out, &p->groups[0].alt);
	while (p->rest.n && !p->out->err) {
		int r;

		if (literal && p->rest.p[0] != '\n') {
			regex_put_char(p, utf8_next(&p->rest));
			continue;
		}
		r = regex_parse_item(p);
		if (r)
			return r;
	}
	if (!p->out->err && p->depth)
		return regex_refuse(p, p->groups[p->depth].at, "a '(' without its ')'");
	automaton_alt_end(p->out, &p->groups[0].alt);
	automaton_match(p->out);
	regex_run_end(p);
	if (p->out->err == ERR_LIMIT)
		*p->e = (struct regex_error){regex_here(p), "the pattern is too large"};
	return p->out->err;
}
