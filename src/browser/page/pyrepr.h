/*
 * Values as Python's repr() prints them. The text of an accessibility tree uses this
 * form.
 */
#ifndef BROWSER_PAGE_PYREPR_H
#define BROWSER_PAGE_PYREPR_H

#include "base/buf.h"
#include "base/json.h"

/* Whether str.isprintable() holds; cp is a code point. */
bool pyrepr_is_printable(uint32_t cp);

/* Whether str.isspace() holds. */
bool pyrepr_is_blank(uint32_t cp);

/* s without the characters that str.strip() removes. Invalid UTF-8 is not removed. */
struct str pyrepr_strip(struct str s);

/*
 * Appends the repr of a string: in single quotes, or in double quotes if that saves a
 * backslash. Characters that are not printable are escaped. Invalid UTF-8 is repaired.
 */
void pyrepr_put_str(struct buf *out, struct str s);

/*
 * Appends the repr of a JSON value as a Python value. A container is printed as its
 * JSON. a holds a decoded string. Returns 0, -ENOMEM, or ERR_TYPE for the absent value.
 */
int pyrepr_put_value(struct buf *out, struct json_val v, struct arena *a) MUST_USE;

#endif
