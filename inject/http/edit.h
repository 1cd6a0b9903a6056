/*
 * Edits of a JSON object or array that was received from another program. All bytes
 * outside the edited members stay as they are, unknown members included. Without state
 * and without I/O.
 */
#ifndef INJECT_HTTP_EDIT_H
#define INJECT_HTTP_EDIT_H

#include "base/buf.h"
#include "base/json.h"

struct edit {
	const char *key;  /* name of the member; letters only */
	struct str value; /* the new value, as JSON; p is NULL to remove the member */
	const struct buf *text; /* the buffer that holds the value, unless NULL */
	bool keep;              /* leaves the member as it is */
};

/*
 * Appends the object with the members changed. An existing member keeps its position; new
 * members follow in the order of the edits. An absent or null object counts as an empty
 * object. An error of an edit's text becomes the error of out.
 */
void edit_object(
	struct buf *out, struct json_val object, const struct edit *edits, size_t n);

/*
 * Appends the array without its element number skip (SIZE_MAX: with all elements). If the
 * p of more is not NULL, appends more, as JSON, as the last element.
 */
void edit_array(struct buf *out, struct json_val array, size_t skip, struct str more);

#endif
