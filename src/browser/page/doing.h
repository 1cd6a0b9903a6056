/*
 * The state of one call of an action while it runs, for the primitives and their
 * helpers.
 */
#ifndef BROWSER_PAGE_DOING_H
#define BROWSER_PAGE_DOING_H

#include "browser/action/primitives.h"
#include "browser/page/browser.h"
#include "browser/page/calllog.h"

/* The timeout of the contract for an element to reach the required state. */
enum { DOING_TRY_MS = 500 };

struct element;

struct doing {
	struct browser *browser;
	struct tab *tab;
	struct arena *arena;
	struct buf *error;
	const char *api; /* the API name in error messages */
	struct calllog log;
	const struct element *element; /* the element of the call, or NULL */
	uint64_t deadline;             /* for elements to reach the required state */
	uint64_t patience;             /* for pages to answer; later than deadline */
};

/* Starts the timeouts and an empty call log. */
void doing_begin(struct doing *d);

/* Sets the whole text of the error. Returns ERR_REFUSED. */
int doing_refuse(struct doing *d, const char *fmt, ...) PRINTF(2, 3);
/* Sets the error "CLASS: API: words", followed by the call log. Returns ERR_REFUSED. */
int doing_fail(struct doing *d, const char *kind, const char *fmt, ...) PRINTF(3, 4);
/* Sets the error of a timeout. Returns ERR_REFUSED. */
int doing_late(struct doing *d, unsigned ms);
/* Sets the error text for r if there is none yet. Returns r or ERR_REFUSED. */
int doing_explain(struct doing *d, int r);
/* Whether r means that the document is gone. Another document may have replaced it. */
bool doing_gone(const struct doing *d, int r);

/*
 * Read an argument of that type, or return ERR_REFUSED. doing_given: whether there is a
 * value; NULL and None are none.
 */
int doing_string(struct doing *d, const char *param, const struct value *v,
	struct str *out) MUST_USE;
int doing_number(
	struct doing *d, const char *param, const struct value *v, double *out) MUST_USE;
bool doing_given(const struct value *v);
/* The name of the value's type in JavaScript (typeof). */
const char *doing_typeof(const struct value *v);

#endif
