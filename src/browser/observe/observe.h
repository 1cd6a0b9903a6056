/*
 * The observation of the active page. mark.js marks the elements; then the accessibility
 * trees, the DOM and a picture are requested at once.
 */
#ifndef BROWSER_OBSERVE_OBSERVE_H
#define BROWSER_OBSERVE_OBSERVE_H

#include "browser/observe/axtree.h"
#include "browser/page/browser.h"

struct observe_want {
	bool visit;   /* the text of the page; else that of its tree */
	bool objects; /* also the tree and the properties */
	bool marks;   /* also the picture with marks */
	struct axtree_view view;
};

struct sight {
	struct arena memory;      /* for replies and parsed data */
	struct buf picture;       /* PNG of the viewport */
	struct buf marks;         /* the picture with marks, if requested; else empty */
	struct buf text;          /* of the page or of its tree, see observe_want */
	struct buf axtree, props; /* JSON objects, if requested; else empty */
	const char *no_text;      /* why there is no text; else NULL */
	struct str focused;       /* a bid; empty: no focus; p is NULL: no bid */
	struct snapshot snapshot;
	struct axtree tree;
	struct props marked; /* the elements that have a bid */
};

void sight_init(struct sight *o);
void sight_free(struct sight *o);

/*
 * Observes the active tab. Several attempts are made if the page changes meanwhile. The
 * last attempt omits the marks of frames that cannot be marked. Returns 0, or the errors
 * of browser_settle and tab_call; o is empty then.
 */
int observe(struct browser *b, const struct observe_want *want, uint64_t deadline,
	struct sight *o) MUST_USE;

#endif
