/*
 * Parses cells that only call skills, without a Python: splits the text of a cell into
 * steps, without I/O.
 *
 * It accepts comments, imports of the skills, calls of a skill with literal arguments
 * (strings, integers, None, True, False, lists of numbers, **{...}), print of such a
 * call and print of a string. All other code is refused, so that no part of a larger
 * program is taken for the whole.
 */
#ifndef KERNEL_CALLS_H
#define KERNEL_CALLS_H

#include "base/buf.h"

/* How a skill's text is shown. */
enum calls_show {
	CALLS_TEXT,      /* all of it */
	CALLS_TEXT_NONE, /* all of it and then None, the printed return value */
	CALLS_REPR,      /* as repr, the result of a cell */
	CALLS_NOTHING,
};

enum calls_kind {
	CALLS_SKILL, /* call a skill */
	CALLS_PRINT, /* show text */
	CALLS_ERROR, /* show text and end the cell */
};

struct calls_step {
	enum calls_kind kind;
	const char *skill; /* SKILL: its name */
	enum calls_show show;
	struct str text; /* SKILL: the arguments as a JSON object; otherwise the text */
};

struct calls {
	struct str rest;
	struct buf text;   /* of the current step */
	struct buf piece;  /* a string of the current step */
	struct buf values; /* the arguments, each in JSON */
};

/* code is borrowed. */
void calls_init(struct calls *c, struct str code);
void calls_free(struct calls *c);

/*
 * The next step, borrowed until the next call. 0; positive: end of the cell;
 * ERR_SYNTAX: the next statement is not accepted; ERR_LIMIT, -ENOMEM.
 */
int calls_next(struct calls *c, struct calls_step *step) MUST_USE;
/* Whether the whole cell is accepted: 0, or an error as above. */
int calls_check(struct str code) MUST_USE;

/* Appends text as Python's repr prints an ASCII string. */
void calls_put_repr(struct buf *out, struct str text);

#endif
