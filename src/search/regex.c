#include "search/regex.h"

#include "base/utf8.h"
#include "search/regex_private.h"

#include <errno.h>

int regex_init(struct regex *x, struct str pattern, unsigned flags, struct regex_error *e)
{
	struct automaton program;
	struct regex_parser p = {
		.out = &program,
		.rest = pattern,
		.pattern = pattern,
		.nocase = flags & REGEX_NOCASE,
		.atom = REGEX_NO_ATOM,
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
	r = regex_parse(&p, flags & REGEX_LITERAL);
	if (!r)
		r = dfa_init_program(&x->dfa, &program, DFA_LINES);
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
