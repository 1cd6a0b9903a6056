/* One call of an action while it is done: for primitives and what they are made of. */
#ifndef CDP_DOING_H
#define CDP_DOING_H

#include "cdp/browser.h"
#include "cdp/calllog.h"
#include "cdp/primitives.h"

/* Of the contract: for an element to become what it has to be. */
enum { DOING_TRY_MS = 500 };

struct element;

struct doing {
	struct browser *browser;
	struct tab *tab;
	struct arena *arena;
	struct buf *error;
	const char *api; /* what errors say it is */
	struct calllog log;
	const struct element *element; /* what it is done to; NULL */
	uint64_t deadline;             /* for elements to become what they have to be */
	uint64_t patience;             /* for pages to answer, which is longer */
};

/* The time, and the log, of what is to be done begin. */
void doing_begin(struct doing *d);

/* The error's whole text; gives ERR_REFUSED. */
int doing_refuse(struct doing *d, const char *fmt, ...) PRINTF(2, 3);
/* "CLASS: API: words" and the log; gives ERR_REFUSED. */
int doing_fail(struct doing *d, const char *kind, const char *fmt, ...) PRINTF(3, 4);
/* It took too long. */
int doing_late(struct doing *d, unsigned ms);
/* A failure, in words if it has none yet: r again, or ERR_REFUSED. */
int doing_explain(struct doing *d, int r);
/* Whether r means that the document has gone; another may have come. */
bool doing_gone(const struct doing *d, int r);

/* Arguments of a type; ERR_REFUSED. NULL and None are no value at all. */
int doing_string(struct doing *d, const char *param, const struct value *v,
	struct str *out) MUST_USE;
int doing_number(
	struct doing *d, const char *param, const struct value *v, double *out) MUST_USE;
bool doing_given(const struct value *v);
/* What JavaScript calls its type. */
const char *doing_typeof(const struct value *v);

#endif
