/*
 * Output of a cell other than texts and PNG images: HTML, SVG, LaTeX, JSON, by MIME
 * type. The wire contract's observation has no member for it. Without I/O: JSON in,
 * JSON out.
 */
#ifndef KERNEL_RICH_H
#define KERNEL_RICH_H

#include "base/json.h"
#include "base/jw.h"

struct rich {
	struct buf list;   /* objects with commas between, CELL_RICH_MAX bytes at most */
	uint64_t left_out; /* objects */
};

void rich_init(struct rich *r);
void rich_free(struct rich *r);
/* Moves the output of from to to; from is empty afterwards. */
void rich_move(struct rich *to, struct rich *from);

/*
 * Adds the members of data, a checked object, except text/plain and image/png. If texts
 * is not NULL, JSON values come as strings, which are decoded in that arena.
 */
void rich_put(struct rich *r, struct json_val data, struct arena *texts);
/* Writes the members "outputs", a list of objects, and "left_out", a number. */
void rich_write(const struct rich *r, struct jw *w);

#endif
