/*
 * The text of a page as Markdown: the whole DOM with its frames, hidden elements
 * included, without scripts and the like.
 */
#ifndef BROWSER_OBSERVE_TEXT_H
#define BROWSER_OBSERVE_TEXT_H

#include "base/buf.h"
#include "browser/observe/snapshot.h"

/*
 * Appends the text, with a newline after the last line if there is any. The arena holds
 * temporary data. Returns 0, -ENOMEM, or the error of the buffer.
 */
int page_text_print(const struct snapshot *s, struct buf *out, struct arena *a) MUST_USE;

#endif
