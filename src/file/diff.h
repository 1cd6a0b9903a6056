/* The difference of two texts, as a unified diff without context lines. */
#ifndef FILE_DIFF_H
#define FILE_DIFF_H

#include "base/buf.h"

/*
 * Appends the diff of two texts, split at LF (a text that ends in LF has an empty last
 * line): "--- PATH", "+++ PATH", then a hunk for each run of changed lines. Blanks at
 * the ends of lines are left out, and so is the last LF. Nothing for equal texts.
 *
 * The script is a shortest one (Myers, 1986) while it has at most DIFF_COST_MAX lines;
 * else what lies between the first and the last difference is one hunk. -ENOMEM.
 */
int diff_unified(
	struct buf *out, struct str path, struct str before, struct str after) MUST_USE;

#endif
