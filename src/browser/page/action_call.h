/*
 * The state of one call of an action while it runs, for the primitives and their
 * helpers.
 */
#ifndef BROWSER_PAGE_ACTION_CALL_H
#define BROWSER_PAGE_ACTION_CALL_H

#include "browser/action/primitives.h"
#include "browser/page/browser.h"
#include "browser/page/calllog.h"

/* The timeout of the contract for an element to reach the required state. */
enum { ACTION_CALL_TRY_MS = 500 };

struct element;

struct action_call {
	struct browser *browser;
	struct tab *tab;
	struct arena *arena;
	struct buf *error;
	const char *api; /* the API name in error messages */
	struct calllog log;
	const struct element *element; /* the element of the call, or NULL */
	uint64_t deadline;             /* for elements to reach the required state */
	uint64_t answer_deadline;      /* for pages to answer; later than deadline */
};

/* Starts the timeouts and an empty call log. */
void action_call_begin(struct action_call *d);

/* Sets the whole text of the error. Returns ERR_REFUSED. */
int action_call_refuse(struct action_call *d, const char *fmt, ...) PRINTF(2, 3);
/* Sets the error "CLASS: API: words", followed by the call log. Returns ERR_REFUSED. */
int action_call_fail(struct action_call *d, const char *kind, const char *fmt, ...)
	PRINTF(3, 4);
/* Sets the error of a timeout. Returns ERR_REFUSED. */
int action_call_fail_timeout(struct action_call *d, unsigned ms);
/* Sets the error text for r if there is none yet. Returns r or ERR_REFUSED. */
int action_call_set_error(struct action_call *d, int r);
/* Whether r means that the document is gone. Another document may have replaced it. */
bool action_call_is_stale(const struct action_call *d, int r);

/*
 * Read an argument of that type, or return ERR_REFUSED. action_call_has_value: whether
 * there is a value; NULL and None are none.
 */
int action_call_read_str(struct action_call *d, const char *param, const struct value *v,
	struct str *out) MUST_USE;
int action_call_read_double(struct action_call *d, const char *param,
	const struct value *v, double *out) MUST_USE;
bool action_call_has_value(const struct value *v);
/* The name of the value's type in JavaScript (typeof). */
const char *action_call_js_type(const struct value *v);

#endif
