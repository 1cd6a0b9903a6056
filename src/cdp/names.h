/*
 * Where in a list what has a name is: a hash table, with a seed of its own, since pages
 * choose names.
 */
#ifndef CDP_NAMES_H
#define CDP_NAMES_H

#include "base/arena.h"

struct name {
	struct str text; /* borrowed; p is NULL in a free row */
	size_t at;
};

struct names {
	struct name *row;
	size_t mask; /* their number, a power of two, less one */
	uint64_t seed;
};

/* Room for max names, in the arena. 0 or -ENOMEM. */
int names_init(struct names *m, size_t max, struct arena *a) MUST_USE;
/* Not beyond that room. A name that is there gets the new place. */
void names_put(struct names *m, struct str text, size_t at);
/* Whether it can be a bid of mark.js: 64 letters and digits at most, but some. */
bool names_is_bid(struct str text);
/* ERR_RANGE: there is no such name. Legal on a zeroed table. */
int names_find(const struct names *m, struct str text, size_t *at) MUST_USE;

#endif
