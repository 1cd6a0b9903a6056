/*
 * Regular expressions over lines: the part of ERE and PCRE that people and models
 * search code with, in time linear in the text. Groups, alternatives, classes with
 * POSIX names, \d \w \s \b and their opposites, \< \>, counted repeats, lazy ones
 * (which find the same lines), (?i), \xHH, \x{H}, \uHHHH. A "{" that starts no repeat
 * is an ordinary character. No references, look-around, \p{...}.
 *
 * Text is UTF-8: a dot or a class takes a whole character, and no byte that belongs to
 * none. \d \w \s \b know ASCII. nocase knows Latin, Greek and Cyrillic letters.
 */
#ifndef FILE_REGEX_H
#define FILE_REGEX_H

#include "file/dfa.h"
#include "file/needle.h"

enum regex_flag {
	REGEX_NOCASE = 1,
	REGEX_LITERAL = 2, /* no character of the pattern is special */
};

/* Where and why a pattern was refused; why is a static string for people. */
struct regex_error {
	size_t at; /* byte offset */
	const char *why;
};

struct regex {
	struct dfa dfa;
	struct needle literal; /* stands in every match, if it has a length */
	bool only_literal;     /* and is all there is to match */
};

/*
 * Compiles pattern, which is not kept. ERR_SYNTAX, ERR_UTF8 or ERR_LIMIT with *e
 * filled in, -ENOMEM. regex_free accepts what init has left, and a zeroed object.
 */
int regex_init(struct regex *x, struct str pattern, unsigned flags,
	struct regex_error *e) MUST_USE;
void regex_free(struct regex *x);

/*
 * The first line of text, which consists of whole lines, that has a match: *at is an
 * offset in that line near the match, or that of its LF. 0 when found, 1 for none,
 * -ENOMEM.
 */
int regex_find(struct regex *x, struct str text, size_t *at) MUST_USE;

#endif
