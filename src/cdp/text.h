/*
 * The text of a page, as Markdown: all of its DOM, hidden or not, with what is in its
 * frames, but without scripts and the like.
 */
#ifndef CDP_TEXT_H
#define CDP_TEXT_H

#include "base/buf.h"
#include "cdp/snapshot.h"

/*
 * Appends it, with a newline behind the last line if there is any. The arena holds what
 * is needed on the way. 0, -ENOMEM, or the buf's error.
 */
int text_print(const struct snapshot *s, struct buf *out, struct arena *a) MUST_USE;

#endif
