/*
 * The properties, by bid, of the elements that mark.js has marked, read from a DOM
 * snapshot.
 */
#ifndef BROWSER_OBSERVE_PROPS_H
#define BROWSER_OBSERVE_PROPS_H

#include "base/jw.h"
#include "browser/observe/snapshot.h"
#include "browser/page/names.h"

enum props_mark { PROPS_UNKNOWN, PROPS_UNMARKED, PROPS_MARKED };

struct props_row {
	struct str bid;
	double visibility;  /* 0 to 1, the fraction within the viewport; -1: unknown */
	const double *bbox; /* x, y, width, height on the page; NULL: not rendered */
	bool clickable;
	enum props_mark set_of_marks;
};

struct props {
	struct props_row *row;
	size_t n;
	struct names by_bid;
};

/* All data is in the arena and in the snapshot. Returns 0 or -ENOMEM. */
int props_read(struct props *p, const struct snapshot *s, struct arena *a) MUST_USE;
/* The last element with that bid; NULL if there is none. */
const struct props_row *props_find(const struct props *p, struct str bid);
/* Writes an object with a member for each bid, in document order. */
void props_write(const struct props *p, struct jw *w);

#endif
