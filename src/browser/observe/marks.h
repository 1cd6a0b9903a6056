/*
 * Draws marks on the picture of a page: a dashed box around each element that can be
 * acted on, and a label with its bid.
 */
#ifndef BROWSER_OBSERVE_MARKS_H
#define BROWSER_OBSERVE_MARKS_H

#include "browser/observe/props.h"
#include "codec/png.h"

void marks_draw(struct png *picture, const struct props *p);
/* Appends the PNG picture with marks. Returns the errors of png_decode and png_encode. */
int marks_put_png(struct str picture, const struct props *p, struct buf *out) MUST_USE;

#endif
