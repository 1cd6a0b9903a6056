/*
 * Glob patterns over paths, matched in time linear in the path:
 *
 *	*        any bytes but '/'
 *	**       as a whole part of the path: any number of parts
 *	?        a character (UTF-8) but '/'
 *	[a-z]    a character of a class, [!a-z] and [^a-z] one that is not in it
 *	{a,b}    one of several, if asked for; nested at most GLOB_DEPTH_MAX deep
 *	\c       the character c
 */
#ifndef FILE_GLOB_H
#define FILE_GLOB_H

#include "file/dfa.h"

enum glob_flag {
	GLOB_BRACES = 1,
	/*
	 * As git reads patterns: without a '/' but at its end the pattern is about the
	 * last part of a path, with one it is about the whole; a '/' in front is only
	 * the sign of that.
	 */
	GLOB_ANYWHERE = 2,
	/* Also that: what '?' and classes take is a byte. */
	GLOB_BYTES = 4,
};

enum glob_kind {
	GLOB_LITERAL, /* the text itself */
	GLOB_ENDING,  /* '*' and text */
	GLOB_PATTERN,
};

struct glob {
	enum glob_kind kind;
	bool base;       /* it is about the last part of the path only */
	struct buf text; /* of GLOB_LITERAL and GLOB_ENDING */
	struct dfa dfa;
};

/*
 * Compiles pattern, which is not kept. ERR_SYNTAX with *why for people; ERR_LIMIT for
 * one that is too large; -ENOMEM. glob_free accepts what init has left.
 */
int glob_init(
	struct glob *g, struct str pattern, unsigned flags, const char **why) MUST_USE;
void glob_free(struct glob *g);

/* 0 when the path, which does not begin with '/', matches; 1 if not; -ENOMEM. */
int glob_match(struct glob *g, struct str path) MUST_USE;

#endif
