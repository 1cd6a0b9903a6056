/*
 * Draws marks on the picture of a page: a dashed box around each element that can be
 * acted on, and a label with its bid.
 */
#ifndef CDP_MARKS_H
#define CDP_MARKS_H

#include "cdp/png.h"
#include "cdp/props.h"

void marks_draw(struct png *picture, const struct props *p);
/* Appends the PNG picture with marks. Returns the errors of png_decode and png_encode. */
int marks_put(struct str picture, const struct props *p, struct buf *out) MUST_USE;

#endif
