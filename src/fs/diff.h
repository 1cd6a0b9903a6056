/* The difference of two texts, as a unified diff without context lines. */
#ifndef FS_DIFF_H
#define FS_DIFF_H

#include "base/buf.h"

/*
 * Appends the diff of two texts, split at LF (a text that ends in LF has an empty last
 * line): "--- PATH", "+++ PATH", then a hunk for each run of changed lines. Blanks at
 * the ends of lines and the last LF are omitted. Equal texts append nothing.
 *
 * The edit script is a shortest one (Myers, 1986) if it has at most DIFF_COST_MAX
 * lines. Otherwise all lines between the first and the last difference are one hunk.
 * -ENOMEM.
 */
int diff_unified(
	struct buf *out, struct str path, struct str before, struct str after) MUST_USE;

#endif
