/*
 * What an action has tried, in the words and the layout that agents know: repeated
 * runs of lines are told once, with their number.
 */
#ifndef CDP_CALLLOG_H
#define CDP_CALLLOG_H

#include "base/arena.h"
#include "base/buf.h"
#include "limits.h"

struct calllog {
	struct arena *arena;
	struct {
		unsigned depth;
		struct str text;
	} lines[CALLLOG_LINES_MAX];
	size_t n; /* what does not fit is left out */
};

void calllog_init(struct calllog *l, struct arena *a);
/* A line in front of the one at that place. */
void calllog_insert(struct calllog *l, size_t at, unsigned depth, const char *fmt, ...)
	PRINTF(4, 5);
void calllog_add(struct calllog *l, unsigned depth, const char *fmt, ...) PRINTF(3, 4);
/* Appends "\nCall log:\n" and the lines, if there are any. */
void calllog_put(const struct calllog *l, struct buf *out);

#endif
