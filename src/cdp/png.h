/* Pictures in PNG (ISO/IEC 15948): those that a browser makes, and our own. */
#ifndef CDP_PNG_H
#define CDP_PNG_H

#include "base/buf.h"

enum { PNG_PIXEL = 3 }; /* bytes: red, green, blue */

struct png {
	uint32_t width, height;
	struct buf pixels; /* row by row, from the top */
};

/*
 * Reads a picture of 8-bit RGB with or without alpha, which is left out, and without
 * interlacing. 0, with a picture that png_free has to follow; ERR_SYNTAX: it is broken;
 * ERR_TYPE: a kind that browsers do not make; ERR_LIMIT; -ENOMEM.
 */
int png_decode(struct png *p, struct str file) MUST_USE;
void png_free(struct png *p);

/* Appends the file. 0, -ENOMEM or the buf's error. */
int png_encode(const struct png *p, struct buf *out) MUST_USE;

#endif
