/*
 * Cells that do nothing but call skills, understood without a Python: an engine that
 * takes the text of a cell apart into steps.
 *
 * Understood are comments, imports of the skills, calls of one with literal arguments
 * (strings, whole numbers, None, True, False, lists of numbers, **{...}), print of such
 * a call and print of a string. All else is refused: nobody shall take a part of a
 * program for the whole.
 */
#ifndef KERNEL_CALLS_H
#define KERNEL_CALLS_H

#include "base/buf.h"

/* What is shown of a skill's text. */
enum calls_show {
	CALLS_TEXT,      /* all of it */
	CALLS_TEXT_NONE, /* and the None that it returns, printed */
	CALLS_REPR,      /* as the result of a cell */
	CALLS_NOTHING,
};

enum calls_kind {
	CALLS_SKILL, /* a skill is to be called */
	CALLS_PRINT, /* text is to be shown */
	CALLS_ERROR, /* the same, and the cell ends there */
};

struct calls_step {
	enum calls_kind kind;
	const char *skill; /* SKILL: its name */
	enum calls_show show;
	struct str text; /* its arguments as an object of JSON; or what is shown */
};

struct calls {
	struct str rest;
	struct buf text;   /* of the present step */
	struct buf piece;  /* a string of it */
	struct buf values; /* its arguments, each in JSON */
};

/* code stays the caller's. */
void calls_init(struct calls *c, struct str code);
void calls_free(struct calls *c);

/*
 * The next step, borrowed until the next call. 0; positive: there are no more;
 * ERR_SYNTAX: what follows is not understood; ERR_LIMIT, -ENOMEM.
 */
int calls_next(struct calls *c, struct calls_step *step) MUST_USE;
/* Whether all of the cell is understood: 0, or as above. */
int calls_check(struct str code) MUST_USE;

/* Appends text as Python's repr shows a string of ASCII. */
void calls_put_repr(struct buf *out, struct str text);

#endif
