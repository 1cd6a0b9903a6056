/*
 * The picture of a page with its marks: a dashed box around each element that one may
 * act on, and its bid on a label.
 */
#ifndef CDP_MARKS_H
#define CDP_MARKS_H

#include "cdp/png.h"
#include "cdp/props.h"

void marks_draw(struct png *picture, const struct props *p);
/* Appends a PNG that is another one with marks. As png_decode and png_encode. */
int marks_put(struct str picture, const struct props *p, struct buf *out) MUST_USE;

#endif
