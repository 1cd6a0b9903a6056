/*
 * The call log of an action in Playwright's wording and layout: a run of lines that
 * repeats is printed once, with the number of repetitions.
 */
#ifndef BROWSER_PAGE_CALLLOG_H
#define BROWSER_PAGE_CALLLOG_H

#include "base/arena.h"
#include "base/buf.h"

enum {
	CALLLOG_LINES_MAX = 128, /* seven to an attempt */
	CALLLOG_LINE_MAX = 2048, /* bytes; an element in one line has 550 */
};

struct calllog {
	struct arena *arena;
	struct {
		unsigned depth;
		struct str text;
	} lines[CALLLOG_LINES_MAX];
	size_t n; /* further lines are dropped */
};

void calllog_init(struct calllog *l, struct arena *a);
/* Inserts a line before the line at that index. */
void calllog_insert(struct calllog *l, size_t at, unsigned depth, const char *fmt, ...)
	PRINTF(4, 5);
void calllog_add(struct calllog *l, unsigned depth, const char *fmt, ...) PRINTF(3, 4);
/* Appends "\nCall log:\n" and the lines. An empty log adds nothing. */
void calllog_put(const struct calllog *l, struct buf *out);

#endif
