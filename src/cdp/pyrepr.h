/* Values as Python's repr() prints them, which is how the tree of a page shows them. */
#ifndef CDP_PYREPR_H
#define CDP_PYREPR_H

#include "base/buf.h"
#include "base/json.h"

/* Whether str.isprintable() holds; cp is a code point. */
bool pyrepr_printable(uint32_t cp);

/* Whether str.isspace() holds. */
bool pyrepr_blank(uint32_t cp);

/* s without what str.strip() takes off both ends. Invalid UTF-8 is no blank. */
struct str pyrepr_strip(struct str s);

/*
 * Appends the repr of a string: in single quotes, or in double ones where that saves a
 * backslash; what is not printable is escaped. Invalid UTF-8 is repaired.
 */
void pyrepr_text(struct buf *out, struct str s);

/*
 * Appends the repr of what a JSON value is in Python; a container stands there as its
 * JSON. a holds a decoded string. 0, ERR_TYPE for the absent value, -ENOMEM.
 */
int pyrepr_value(struct buf *out, struct json_val v, struct arena *a) MUST_USE;

#endif
