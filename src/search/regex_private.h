/*
 * Inside the parser of regular expressions, whose state is one struct. From the bottom
 * up:
 *
 *   regex_atom.c   characters, escapes and classes, and the longest run of characters
 *   regex_parse.c  the grammar: repeats, groups and alternatives
 *   regex.c        the functions of regex.h
 */
#ifndef SEARCH_REGEX_PRIVATE_H
#define SEARCH_REGEX_PRIVATE_H

#include "limits.h"
#include "search/regex.h"

#include <stddef.h>

enum { REGEX_NO_ATOM = -1 };

struct regex_group {
	size_t at;    /* offset of its parenthesis in the pattern */
	size_t begin; /* its first instruction */
	bool nocase;  /* the setting outside of the group */
	struct automaton_alt alt;
};

/*
 * Consecutive characters that every match contains. The last one may become optional by
 * a later repeat, so its length is stored.
 */
struct regex_run {
	char text[NEEDLE_MAX];
	size_t n;
	size_t last;
};

struct regex_parser {
	struct automaton *out;
	struct str rest; /* the unread part of pattern */
	struct str pattern;
	bool nocase;
	ptrdiff_t atom; /* first instruction of the last atom */
	size_t depth;
	/* The first entry is the whole pattern. */
	struct regex_group groups[REGEX_DEPTH_MAX + 1];
	struct regex_run run, longest;
	bool plain;  /* nothing but characters so far */
	bool choice; /* there are alternatives outside of groups */
	struct regex_error *e;
};

/* Stores the error at an offset of the pattern. Always returns ERR_SYNTAX. */
static inline int regex_refuse(struct regex_parser *p, size_t at, const char *why)
{
	*p->e = (struct regex_error){.at = at, .why = why};
	return ERR_SYNTAX;
}

/* The number of bytes of the pattern that were read. */
static inline size_t regex_here(const struct regex_parser *p)
{
	return p->pattern.n - p->rest.n;
}

/* Reads c if it comes next. */
static inline bool regex_take(struct regex_parser *p, char c)
{
	if (!p->rest.n || p->rest.p[0] != c)
		return false;
	p->rest = str_skip(p->rest, 1);
	return true;
}

/*
 * Compile an atom, which can be repeated: a character, a dot, an escape or a class. The
 * backslash or the opening bracket has been read. 0, or ERR_SYNTAX as above.
 */
void regex_put_char(struct regex_parser *p, uint32_t cp);
void regex_put_dot(struct regex_parser *p);
int regex_parse_escape(struct regex_parser *p) MUST_USE;
int regex_parse_class(struct regex_parser *p) MUST_USE;
/* Compiles a check of a position between two characters, which cannot be repeated. */
void regex_put_check(struct regex_parser *p, enum automaton_check check);

/*
 * Update the run of characters: end it; after a repeat of its last character; before an
 * atom that is not a single character.
 */
void regex_run_end(struct regex_parser *p);
void regex_run_repeat(struct regex_parser *p, int min);
void regex_run_break(struct regex_parser *p);

/*
 * Compiles p->pattern into p->out; literal: no character is special. 0, ERR_SYNTAX or
 * ERR_LIMIT with *p->e, -ENOMEM.
 */
int regex_parse(struct regex_parser *p, bool literal) MUST_USE;

#endif
