/*
 * A hash table from a name to an index. It has a random seed, since pages choose the
 * names.
 */
#ifndef BROWSER_PAGE_NAMES_H
#define BROWSER_PAGE_NAMES_H

#include "base/arena.h"

struct name {
	struct str text; /* borrowed; p is NULL in a free row */
	size_t at;
};

struct names {
	struct name *row;
	size_t mask; /* number of rows minus 1; that number is a power of two */
	uint64_t seed;
};

/* Reserves space for max names in the arena. Returns 0 or -ENOMEM. */
int names_init(struct names *m, size_t max, struct arena *a) MUST_USE;
/* Adds a name, up to the reserved number. An existing name gets the new index. */
void names_put(struct names *m, struct str text, size_t at);
/* Whether text can be a bid of mark.js: 1 to 64 letters and digits. */
bool names_is_bid(struct str text);
/* Finds the index of a name; ERR_RANGE: there is none. Legal on a zeroed table. */
int names_find(const struct names *m, struct str text, size_t *at) MUST_USE;

#endif
