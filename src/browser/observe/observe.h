/*
 * The observation of the active page. mark.js marks the elements; then the accessibility
 * trees, the DOM and a picture are requested at once.
 */
#ifndef BROWSER_OBSERVE_OBSERVE_H
#define BROWSER_OBSERVE_OBSERVE_H

#include "browser/observe/axtree.h"
#include "browser/page/browser.h"

struct observe_options {
	bool visit;   /* the text of the page; else that of its tree */
	bool objects; /* also the tree and the properties */
	bool marks;   /* also the picture with marks */
	struct axtree_view view;
};

struct page_observation {
	struct arena memory;      /* for replies and parsed data */
	struct buf picture;       /* PNG of the viewport */
	struct buf marks;         /* the picture with marks, if requested; else empty */
	struct buf text;          /* of the page or of its tree, see observe_options */
	struct buf axtree, props; /* JSON objects, if requested; else empty */
	const char *text_error;   /* why there is no text; else NULL */
	struct str focused;       /* a bid; empty: no focus; p is NULL: no bid */
	struct snapshot snapshot;
	struct axtree tree;
	struct props marked; /* the elements that have a bid */
};

void page_observation_init(struct page_observation *o);
void page_observation_free(struct page_observation *o);

/*
 * Observes the active tab. Several attempts are made if the page changes meanwhile. The
 * last attempt omits the marks of frames that cannot be marked. Returns 0, or the errors
 * of browser_settle and tab_call; o is empty then.
 */
int observe_page(struct browser *b, const struct observe_options *want, uint64_t deadline,
	struct page_observation *o) MUST_USE;

#endif
