/* Sets of characters, as they are written in patterns: [a-z], \w, [^[:space:]]. */
#ifndef FILE_CHARS_H
#define FILE_CHARS_H

#include "file/automaton.h"
#include "limits.h"

struct chars {
	struct char_range r[REGEX_RANGES_MAX];
	size_t n;
	bool full; /* there was no room for a range */
};

void chars_add(struct chars *c, uint32_t first, uint32_t last);

/* Adds the letters of the other case to those that are there. */
void chars_fold(struct chars *c);

/* Turns the set into what is not in it. */
void chars_invert(struct chars *c);

/* Takes one character out. */
void chars_drop(struct chars *c, uint32_t cp);

/* The ASCII characters of a POSIX name such as "alpha"; false for no such name. */
bool chars_add_named(struct chars *c, struct str name);

/* \d \D \w \W \s \S by their letter; false for others. */
bool chars_add_kind(struct chars *c, uint32_t letter);

#endif
