/* The difference of two texts, as a unified diff without context lines. */
#ifndef FS_DIFF_H
#define FS_DIFF_H

#include "base/buf.h"

enum {
	DIFF_COST_MAX = 1000,       /* 2 MB of rows and 5 ms; beyond, one hunk */
	DIFF_LINES_MAX = 100000,    /* lines of one side, between the common ends */
	DIFF_MEMORY_MAX = 16 << 20, /* bytes of both sides and the rows */
};

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
