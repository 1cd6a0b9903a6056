/* Sets of characters, as they are written in patterns: [a-z], \w, [^[:space:]]. */
#ifndef SEARCH_CHARS_H
#define SEARCH_CHARS_H

#include "search/automaton.h"

enum { REGEX_RANGES_MAX = 256 }; /* ranges in one class */

struct chars {
	struct char_range r[REGEX_RANGES_MAX];
	size_t n;
	bool full; /* a range did not fit */
};

void chars_add(struct chars *c, uint32_t first, uint32_t last);

/* For each letter in the set, adds the letter of the other case. */
void chars_fold(struct chars *c);

/* Replaces the set by its complement. */
void chars_invert(struct chars *c);

/* Removes one character. */
void chars_drop(struct chars *c, uint32_t cp);

/*
 * Adds the ASCII characters of a POSIX class name such as "alpha"; false if the name is
 * unknown.
 */
bool chars_add_named(struct chars *c, struct str name);

/* Adds the class \d \D \w \W \s \S, given by its letter; false for other letters. */
bool chars_add_kind(struct chars *c, uint32_t letter);

#endif
