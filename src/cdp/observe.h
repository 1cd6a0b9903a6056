/*
 * What there is to see of the active page: elements are marked by mark.js, then its
 * trees, its DOM and a picture are asked for at once.
 */
#ifndef CDP_OBSERVE_H
#define CDP_OBSERVE_H

#include "cdp/axtree.h"
#include "cdp/browser.h"

struct observe_want {
	bool visit;   /* the text of the page; else that of its tree */
	bool objects; /* the tree and the properties, too */
	bool marks;   /* the picture with marks, too */
	struct axtree_view view;
};

struct sight {
	struct arena memory;      /* replies, and what was read in them */
	struct buf picture;       /* PNG, of the viewport */
	struct buf marks;         /* the same with marks, if wanted; else empty */
	struct buf text;          /* as wanted */
	struct buf axtree, props; /* objects of JSON, if wanted; else empty */
	const char *no_text;      /* why there is no text; or NULL */
	struct str focused;       /* a bid; empty: nothing; p is NULL: it has none */
	struct snapshot snapshot;
	struct axtree tree;
	struct props marked; /* the elements that have a bid */
};

void sight_init(struct sight *o);
void sight_free(struct sight *o);

/*
 * Looks at the active tab, several times if the page changes meanwhile, and in the end
 * without the marks of a frame that cannot be marked. 0; else as of browser_settle and
 * tab_call, and o is empty.
 */
int observe(struct browser *b, const struct observe_want *want, uint64_t deadline,
	struct sight *o) MUST_USE;

#endif
