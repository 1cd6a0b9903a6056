/*
 * An element of a page, found by its bid, and the states that an action requires of it.
 */
#ifndef BROWSER_PAGE_ELEMENT_H
#define BROWSER_PAGE_ELEMENT_H

#include "browser/page/action_call.h"

enum { ELEMENT_FRAMES_MAX = 8 };

/* The strings are in the arena. */
struct element {
	struct str bid;
	struct str object; /* its objectId in the protocol */
	struct str
		frames[ELEMENT_FRAMES_MAX]; /* the iframes around it, outermost first */
	size_t depth;
};

/* Returns ERR_REFUSED also if there is no such element. element_end must follow. */
int element_find(
	struct action_call *d, const struct value *bid, struct element *e) MUST_USE;
/* Finds the root element of the page. */
int element_find_root(struct action_call *d, struct element *e) MUST_USE;
/* Releases the element. Sets the error text of an error r. Returns r or ERR_REFUSED. */
int element_end(struct action_call *d, struct element *e, int r);

/*
 * Calls the function of element.js named what with the strings after it (NULL at the
 * end). word is the string that it returns. Returns ERR_REFUSED if it throws.
 */
int element_call_strings(struct action_call *d, const struct element *e, struct str *word,
	const char *what, ...) MUST_USE;
/*
 * Like element_call_strings, with the string of a value or all strings of a list as
 * arguments.
 */
int element_call_value(struct action_call *d, const struct element *e, const char *what,
	const struct value *v, struct str *word) MUST_USE;
/* Like element_call_strings, with arguments in JSON. */
int element_call_json(struct action_call *d, struct str object, struct str args,
	struct str *word) MUST_USE;

/*
 * Repeats attempt with pauses until it is done or d->deadline has passed. attempt
 * returns 0; positive: not yet, the log has the reason; or a negative error. verb is for
 * the log.
 */
typedef int element_attempt_fn(
	struct action_call *d, struct element *e, void *arg, unsigned nth);
int element_retry(struct action_call *d, struct element *e, const char *verb,
	element_attempt_fn *attempt, void *arg) MUST_USE;
/*
 * Checks that the element has these states; NULL for none. Returns 0; positive: not yet,
 * logged; or a negative error.
 */
int element_check_states(struct action_call *d, struct element *e, const char *a,
	const char *b, const char *c) MUST_USE;
/* Reads a result of element.js. Returns 0; positive: not yet, the log has the reason. */
int element_log_verdict(struct action_call *d, struct str word);

/* A point of an element that the mouse can reach, in the viewport. */
struct point {
	double x, y;
};
/*
 * An attempt for element_retry. Checks that the element is visible, stable from one
 * frame to the next and, if required, enabled; scrolls to it; checks that a click at the
 * point reaches it. Returns 0; positive: not yet; or a negative error.
 */
int element_find_point(struct action_call *d, struct element *e, bool enabled,
	unsigned nth, struct point *out) MUST_USE;

#endif
