/*
 * Pictures in PNG (ISO/IEC 15948): reads those that a browser produces and writes our
 * own.
 */
#ifndef CODEC_PNG_H
#define CODEC_PNG_H

#include "base/buf.h"

enum { PNG_PIXELS_MAX = 4 << 20 }; /* the viewport has a million */

enum { PNG_PIXEL = 3 }; /* bytes: red, green, blue */

struct png {
	uint32_t width, height;
	struct buf pixels; /* row by row, from the top */
};

/*
 * Reads a picture of 8-bit RGB, or RGBA whose alpha is dropped, without interlacing.
 * Returns 0 with a picture that must be freed by png_free; ERR_SYNTAX: the file is
 * corrupt; ERR_TYPE: a kind that browsers do not produce; ERR_LIMIT; -ENOMEM.
 */
int png_decode(struct png *p, struct str file) MUST_USE;
void png_free(struct png *p);

/* Appends the PNG file. Returns 0, -ENOMEM or the error of the buffer. */
int png_encode(const struct png *p, struct buf *out) MUST_USE;

#endif
