/* One element of a page, found by its bid, and what must hold before it is used. */
#ifndef CDP_ELEMENT_H
#define CDP_ELEMENT_H

#include "cdp/doing.h"

enum { ELEMENT_FRAMES_MAX = 8 };

/* Strings are the arena's. */
struct element {
	struct str bid;
	struct str object; /* the protocol's name for it */
	struct str
		frames[ELEMENT_FRAMES_MAX]; /* the iframes around it, outermost first */
	size_t depth;
};

/* ERR_REFUSED also if there is none. element_end has to follow. */
int element_find(struct doing *d, const struct value *bid, struct element *e) MUST_USE;
/* The root of the page. */
int element_root(struct doing *d, struct element *e) MUST_USE;
/* It is not needed any more; gives r, a failure in words. */
int element_end(struct doing *d, struct element *e, int r);

/*
 * Calls what element.js names, with strings behind it (NULL at the end), and gives the
 * word it answers. ERR_REFUSED for what it throws.
 */
int element_ask(struct doing *d, const struct element *e, struct str *word,
	const char *what, ...) MUST_USE;
/* The same with the string of a value, or with all that are in a list. */
int element_ask_with(struct doing *d, const struct element *e, const char *what,
	const struct value *v, struct str *word) MUST_USE;
/* The same, with arguments in JSON. */
int element_call(
	struct doing *d, struct str object, struct str args, struct str *word) MUST_USE;

/*
 * Tries until it is done, with pauses, up to d->deadline. attempt gives 0; positive: not
 * yet, the log says why; negative. verb is for the log.
 */
typedef int element_attempt_fn(
	struct doing *d, struct element *e, void *arg, unsigned nth);
int element_retry(struct doing *d, struct element *e, const char *verb,
	element_attempt_fn *attempt, void *arg) MUST_USE;
/* Whether it has these states; NULL for none. 0; positive: not yet, logged; negative. */
int element_check(struct doing *d, struct element *e, const char *a, const char *b,
	const char *c) MUST_USE;
/* What element.js says: 0; positive: not yet, and the log says why. */
int element_verdict(struct doing *d, struct str word);

/* Where an element can be pointed at, in the viewport. */
struct point {
	double x, y;
};
/*
 * One look, for element_retry: whether it is visible, stable from one frame to the next
 * and, if that matters, enabled; scrolls to it; and sees whether it is reached there. 0;
 * positive: not yet; negative.
 */
int element_point(struct doing *d, struct element *e, bool enabled, unsigned nth,
	struct point *out) MUST_USE;

#endif
