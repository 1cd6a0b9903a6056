/*
 * Changes to JSON of others that leave the rest of it as it is, byte for byte: what
 * this program does not know it does not lose. Without state and without I/O.
 */
#ifndef INJECT_EDIT_H
#define INJECT_EDIT_H

#include "base/buf.h"
#include "base/json.h"

struct edit {
	const char *key;        /* of a member; letters only */
	struct str value;       /* the new one, as JSON; p is NULL to take it away */
	const struct buf *text; /* where the value is, unless NULL */
	bool keep;              /* as it is, after all */
};

/*
 * Appends the object with the members changed: a member that is there keeps its place,
 * new ones follow in the order of the edits. An absent or null object counts as an
 * empty one. An error of a text becomes that of out.
 */
void edit_object(
	struct buf *out, struct json_val object, const struct edit *edits, size_t n);

/*
 * Appends the array without its element number skip (none for SIZE_MAX) and with one
 * more at its end, as JSON, unless its p is NULL.
 */
void edit_array(struct buf *out, struct json_val array, size_t skip, struct str more);

#endif
