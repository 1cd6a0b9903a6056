/*
 * Finds the calls in the text of a browser action. It does no I/O. The text is searched,
 * not parsed as a whole: prose, fences and assignments around a call have no meaning,
 * and comments hide their contents. Arguments are literals of Python.
 */
#ifndef BROWSER_ACTION_GRAMMAR_H
#define BROWSER_ACTION_GRAMMAR_H

#include "base/arena.h"
#include "base/buf.h"

enum value_kind {
	VALUE_NONE,
	VALUE_FALSE,
	VALUE_TRUE,
	VALUE_INT,
	VALUE_FLOAT,
	VALUE_STRING,
	VALUE_LIST,
	VALUE_TUPLE,
	VALUE_DICT,
};

struct value {
	enum value_kind kind;
	struct str name; /* of a keyword argument; else empty */
	struct str text; /* STRING: its bytes; INT, FLOAT: as written, with a NUL */
	size_t count;    /* of values in a container */
	struct value *first, *last;
	struct value *next; /* in its container; or the next argument */
	struct value *parent;
	struct value *chain; /* for grammar.c only */
};

struct call {
	struct str name;
	struct value *args;
};

struct grammar {
	struct str rest;
	struct arena *arena;
	struct value *pending_values; /* values that may become a call */
	struct value *free_values;    /* values of failed attempts, to be used again */
	struct buf piece;
};

/* text and arena must outlive the calls. */
void grammar_init(struct grammar *g, struct str text, struct arena *a);
void grammar_free(struct grammar *g);
/* Finds the next call. Returns 0; positive: there is none; -ENOMEM. */
int grammar_next(struct grammar *g, struct call *out) MUST_USE;

/* The number of an int, a float or a bool, never infinite; ERR_TYPE for other types. */
int value_read_double(const struct value *v, double *out) MUST_USE;
/* Appends v as Python's repr() prints it. */
void value_put_repr(struct buf *out, const struct value *v);
/* The name of v's type in Python. */
const char *value_type_name(const struct value *v);

#endif
