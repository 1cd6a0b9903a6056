/*
 * The calls in the text of a browser action: an engine that finds them. The text is
 * searched, not parsed as a whole: prose, fences and assignments around a call have no
 * meaning, and comments hide what stands in them. Arguments are literals of Python.
 */
#ifndef CDP_GRAMMAR_H
#define CDP_GRAMMAR_H

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
	struct str name; /* of an argument; empty where its place tells which it is */
	struct str text; /* STRING: its bytes; INT, FLOAT: as written, NUL behind */
	size_t count;    /* of what is in a container */
	struct value *first, *last;
	struct value *next; /* in its container; or the next argument */
	struct value *parent;
	struct value *kept; /* of use to grammar.c alone */
};

struct call {
	struct str name;
	struct value *args;
};

struct grammar {
	struct str rest;
	struct arena *arena;
	struct value *made;  /* of what may become a call */
	struct value *spare; /* of what became none */
	struct buf piece;
};

/* text and arena must outlive what is found. */
void grammar_init(struct grammar *g, struct str text, struct arena *a);
void grammar_free(struct grammar *g);
/* The next call. 0; positive: there are no more; -ENOMEM. */
int grammar_next(struct grammar *g, struct call *out) MUST_USE;

/* The number of an int, a float or a bool; ERR_TYPE for all else. Never infinite. */
int value_double(const struct value *v, double *out) MUST_USE;
/* Appends what Python's repr shows of v. */
void value_repr(struct buf *out, const struct value *v);
/* The name of its type, as Python has it. */
const char *value_type(const struct value *v);

#endif
