/*
 * Glob patterns over paths, matched in time linear in the path:
 *
 * *        any bytes but '/'
 * **       as a whole part of the path: any number of parts
 * ?        a character (UTF-8) but '/'
 * [a-z]    a character of a class, [!a-z] and [^a-z] one that is not in it
 * {a,b}    one of several, with GLOB_BRACES; nested at most GLOB_DEPTH_MAX deep
 * \c       the character c
 */
#ifndef SEARCH_GLOB_H
#define SEARCH_GLOB_H

#include "search/dfa.h"

enum { GLOB_DEPTH_MAX = 16 }; /* open braces */

enum glob_flag {
	GLOB_BRACES = 1,
	/*
	 * As git reads patterns: a pattern without a '/', except at its end, applies to
	 * the last part of a path. A pattern with a '/' applies to the whole path. A
	 * '/' in front only selects the whole path.
	 */
	GLOB_ANYWHERE = 2,
	/* Also as git: '?' and classes match a byte. */
	GLOB_BYTES = 4,
};

enum glob_kind {
	GLOB_LITERAL, /* the text itself */
	GLOB_ENDING,  /* '*' and text */
	GLOB_PATTERN,
};

struct glob {
	enum glob_kind kind;
	bool base;       /* applies only to the last part of the path */
	struct buf text; /* of GLOB_LITERAL and GLOB_ENDING */
	struct dfa dfa;
};

/*
 * Compiles pattern, which is not retained. ERR_SYNTAX with a message in *why; ERR_LIMIT
 * if the pattern is too large; -ENOMEM. glob_free accepts the object after a failed
 * init.
 */
int glob_init(
	struct glob *g, struct str pattern, unsigned flags, const char **why) MUST_USE;
void glob_free(struct glob *g);

/* 0 if the path, which does not begin with '/', matches; 1 if not; -ENOMEM. */
int glob_match(struct glob *g, struct str path) MUST_USE;

#endif
