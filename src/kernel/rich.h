/*
 * What a cell shows beyond texts and PNG images: HTML, SVG, LaTeX, JSON, by MIME type.
 * The wire contract's observation has no place for it. An engine: JSON in, JSON out.
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
/* to gets what from has, which is empty then. */
void rich_move(struct rich *to, struct rich *from);

/*
 * Adds the members of data, a checked object, but for text/plain and image/png. texts:
 * JSON in it stands as a text, to be decoded there; NULL: it does not.
 */
void rich_put(struct rich *r, struct json_val data, struct arena *texts);
/* Writes the members "outputs", a list of objects, and "left_out", a number. */
void rich_write(const struct rich *r, struct jw *w);

#endif
