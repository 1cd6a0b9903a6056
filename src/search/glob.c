#include "search/glob.h"

#include "base/utf8.h"
#include "limits.h"
#include "search/chars.h"

#include <errno.h>

struct parser {
	struct automaton *out;
	struct str rest;
	unsigned flags;
	bool part_start; /* the next byte begins a part of the path */
	size_t depth;
	struct {
		struct automaton_alt alt;
		bool part_start;
	} braces_open[GLOB_DEPTH_MAX];
	const char **why;
};

static int glob_fail(struct parser *p, const char *why)
{
	*p->why = why;
	return ERR_SYNTAX;
}

static bool glob_accept(struct parser *p, struct str s)
{
	if (!str_starts(p->rest, s))
		return false;
	p->rest = str_skip(p->rest, s.n);
	return true;
}

static void glob_put_byte(struct parser *p, char c)
{
	struct byte_set set = {{0}};

	automaton_set_add_byte(&set, (uint8_t)c);
	automaton_bytes(p->out, &set);
	p->part_start = c == '/';
}

/* Matches any number of bytes, at least min; with or without slashes. */
static void glob_put_wildcard(struct parser *p, int min, bool slashes)
{
	struct byte_set set = {{~UINT64_C(0), ~UINT64_C(0), ~UINT64_C(0), ~UINT64_C(0)}};
	size_t from = automaton_count_insts(p->out);

	if (!slashes)
		set.bits['/' >> 6] &= ~(UINT64_C(1) << ('/' & 63));
	automaton_bytes(p->out, &set);
	automaton_repeat(p->out, from, min, AUTOMATON_FOREVER);
	p->part_start = false;
}

/* Matches the members of the set that are single bytes. */
static void glob_put_bytes(struct parser *p, const struct chars *set)
{
	struct byte_set bytes = {{0}};

	for (size_t i = 0; i < set->n; i++)
		for (uint32_t c = set->r[i].first; c <= set->r[i].last && c < 256; c++)
			automaton_set_add_byte(&bytes, (uint8_t)c);
	automaton_bytes(p->out, &bytes);
}

static void glob_put_chars(struct parser *p, struct chars *set)
{
	chars_drop(set, '/');
	if (p->flags & GLOB_BYTES)
		glob_put_bytes(p, set);
	else
		automaton_chars(p->out, set->r, set->n);
	p->part_start = false;
}

static uint32_t glob_next_char(struct parser *p)
{
	uint32_t c;

	if (!(p->flags & GLOB_BYTES))
		return utf8_next(&p->rest);
	c = (uint8_t)p->rest.p[0];
	p->rest = str_skip(p->rest, 1);
	return c;
}

/* Parses the rest after a '*'. */
static void glob_parse_star(struct parser *p)
{
	bool whole = p->part_start;
	bool more = glob_accept(p, STR("*"));
	size_t from = automaton_count_insts(p->out);

	if (more && whole && glob_accept(p, STR("/"))) {
		glob_put_wildcard(p, 0, true);
		glob_put_byte(p, '/');
		automaton_repeat(p->out, from, 0, 1);
	} else if (more && whole && !p->rest.n) {
		glob_put_wildcard(p, 1, true);
	} else {
		while (glob_accept(p, STR("*")))
			;
		glob_put_wildcard(p, 0, false);
	}
}

static int glob_parse_member(struct parser *p, struct chars *set, uint32_t *cp)
{
	*cp = glob_next_char(p);
	if (*cp == '[' && glob_accept(p, STR(":"))) {
		size_t n = str_find(p->rest, STR(":]"));

		if (n == p->rest.n || !chars_add_named(set, str_make(p->rest.p, n)))
			return glob_fail(p, "unknown name of a character class");
		p->rest = str_skip(p->rest, n + 2);
		return 1;
	}
	if (*cp == '\\' && p->rest.n)
		*cp = glob_next_char(p);
	return 0;
}

/* Parses the rest after a '['. */
static int glob_parse_class(struct parser *p)
{
	bool invert = glob_accept(p, STR("!")) || glob_accept(p, STR("^"));
	struct chars set = {.n = 0};
	bool first = true;

	for (;; first = false) {
		uint32_t from, to;
		int r;

		if (!p->rest.n)
			return glob_fail(p, "a '[' without its ']'");
		if (!first && glob_accept(p, STR("]")))
			break;
		r = glob_parse_member(p, &set, &from);
		if (r < 0)
			return r;
		if (r)
			continue;
		to = from;
		if (p->rest.n > 1 && p->rest.p[0] == '-' && p->rest.p[1] != ']') {
			p->rest = str_skip(p->rest, 1);
			r = glob_parse_member(p, &set, &to);
			if (r)
				return r < 0 ? r : glob_fail(p, "a range without an end");
		}
		if (from <= to)
			chars_add(&set, from, to);
	}
	if (invert)
		chars_invert(&set);
	glob_put_chars(p, &set);
	return set.full ? glob_fail(p, "a class has too many ranges") : 0;
}

static int glob_open_brace(struct parser *p)
{
	if (p->depth == GLOB_DEPTH_MAX)
		return glob_fail(p, "too many nested braces");
	automaton_alt_begin(p->out, &p->braces_open[p->depth].alt);
	p->braces_open[p->depth++].part_start = p->part_start;
	return 0;
}

static int glob_parse_item(struct parser *p)
{
	struct chars any = {.n = 0};
	char c = p->rest.p[0];

	p->rest = str_skip(p->rest, 1);
	if (c == '\\') {
		if (!p->rest.n)
			return glob_fail(p, "a backslash at the end");
		glob_put_byte(p, p->rest.p[0]);
		p->rest = str_skip(p->rest, 1);
	} else if (c == '*') {
		glob_parse_star(p);
	} else if (c == '?') {
		chars_invert(&any);
		glob_put_chars(p, &any);
	} else if (c == '[') {
		return glob_parse_class(p);
	} else if (c == '{' && p->flags & GLOB_BRACES) {
		return glob_open_brace(p);
	} else if (c == ',' && p->depth) {
		automaton_alt_next(p->out, &p->braces_open[p->depth - 1].alt);
		p->part_start = p->braces_open[p->depth - 1].part_start;
	} else if (c == '}' && p->depth) {
		automaton_alt_end(p->out, &p->braces_open[--p->depth].alt);
	} else {
		glob_put_byte(p, c);
	}
	return 0;
}

static int glob_parse(
	struct automaton *out, struct str pattern, unsigned flags, const char **why)
{
	struct parser p = {
		.out = out,
		.rest = pattern,
		.flags = flags,
		.part_start = true,
		.why = why,
	};

	while (p.rest.n && !out->err) {
		int r = glob_parse_item(&p);

		if (r)
			return r;
	}
	if (p.depth)
		return glob_fail(&p, "a '{' without its '}'");
	automaton_match(out);
	if (out->err == ERR_LIMIT)
		*why = "the pattern is too large";
	return out->err;
}

static int glob_compile(
	struct glob *g, struct str pattern, unsigned flags, const char **why)
{
	struct automaton program;
	int r;

	automaton_init(&program);
	r = glob_parse(&program, pattern, flags, why);
	if (!r)
		r = dfa_init_program(&g->dfa, &program, DFA_WHOLE);
	automaton_free(&program);
	return r;
}

static bool glob_is_literal(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (strchr("*?[]{},\\", s.p[i]))
			return false;
	return true;
}

int glob_init(struct glob *g, struct str pattern, unsigned flags, const char **why)
{
	*g = (struct glob){.kind = GLOB_PATTERN};
	buf_init(&g->text, REGEX_PATTERN_MAX);
	if (pattern.n > REGEX_PATTERN_MAX) {
		*why = "the pattern is too long";
		return ERR_LIMIT;
	}
	if (flags & GLOB_ANYWHERE) {
		g->base = str_find_byte(pattern, '/') == pattern.n;
		if (str_starts(pattern, STR("/")))
			pattern = str_skip(pattern, 1);
	}
	if (glob_is_literal(pattern)) {
		g->kind = GLOB_LITERAL;
	} else if (g->base && pattern.p[0] == '*' &&
		glob_is_literal(str_skip(pattern, 1))) {
		g->kind = GLOB_ENDING;
		pattern = str_skip(pattern, 1);
	} else {
		return glob_compile(g, pattern, flags, why);
	}
	buf_str(&g->text, pattern);
	return g->text.err;
}

void glob_free(struct glob *g)
{
	buf_free(&g->text);
	dfa_free(&g->dfa);
}

int glob_match(struct glob *g, struct str path)
{
	const char *slash = g->base && path.n ? memrchr(path.p, '/', path.n) : NULL;

	if (slash)
		path = str_skip(path, (size_t)(slash - path.p) + 1);
	switch (g->kind) {
	case GLOB_LITERAL:
		return !str_eq(path, buf_view(&g->text));
	case GLOB_ENDING:
		return !str_ends(path, buf_view(&g->text));
	case GLOB_PATTERN:
		break;
	}
	return dfa_match(&g->dfa, path);
}
