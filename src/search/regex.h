/*
 * Regular expressions over lines: the part of ERE and PCRE that is common in code
 * searches, matched in time linear in the text. Groups, alternatives, classes with
 * POSIX names, \d \w \s \b and their opposites, \< \>, counted repeats, lazy ones
 * (which find the same lines), (?i), \xHH, \x{H}, \uHHHH. A "{" that starts no repeat
 * is an ordinary character. Back-references, look-around and \p{...} are not supported.
 *
 * Text is UTF-8: a dot or a class matches a whole character, and never a byte of
 * invalid UTF-8. \d \w \s \b cover ASCII only. nocase covers Latin, Greek and Cyrillic
 * letters.
 */
#ifndef SEARCH_REGEX_H
#define SEARCH_REGEX_H

#include "search/dfa.h"
#include "search/needle.h"

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
	struct needle literal; /* every match contains it, unless it is empty */
	bool only_literal;     /* the pattern is nothing else */
};

/*
 * Compiles pattern, which is not retained. ERR_SYNTAX, ERR_UTF8 or ERR_LIMIT with *e
 * filled in, -ENOMEM. regex_free accepts the object after a failed init, and a zeroed
 * object.
 */
int regex_init(struct regex *x, struct str pattern, unsigned flags,
	struct regex_error *e) MUST_USE;
void regex_free(struct regex *x);

/*
 * Finds the first matching line of text, which consists of whole lines: *at is an
 * offset in that line near the match, or that of its LF. 0: found; 1: no match;
 * -ENOMEM.
 */
int regex_find(struct regex *x, struct str text, size_t *at) MUST_USE;

#endif
