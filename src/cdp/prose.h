/*
 * Lines of Markdown: words with one blank between them, blocks with an empty line. What
 * separates is written when something follows it, so that none is too much.
 */
#ifndef CDP_PROSE_H
#define CDP_PROSE_H

#include "base/buf.h"

struct prose {
	struct buf *out;
	size_t start;      /* of the text in out */
	unsigned newlines; /* due, 0 to 2 */
	bool blank;        /* due */
	bool swallow;      /* a sign waits for its words; blanks go in front of it */
	size_t sign;       /* where it begins, and those right before it */
	unsigned quotes;   /* blockquotes around what comes... */
	unsigned quoted;   /* ...and around what came last */
	bool pre;          /* blanks and line ends are kept, lines are indented */
};

void prose_init(struct prose *p, struct buf *out);
/* At least so many newlines before what comes next: 1 for a line, 2 for a block. */
void prose_break(struct prose *p, unsigned newlines);
/* A line's end of the page's own, within a block. */
void prose_line(struct prose *p);
/* Text of the page; escape: it must not look like the number of a list. */
void prose_words(struct prose *p, struct str text, bool escape);
/* A sign of ours, as it is. */
void prose_sign(struct prose *p, struct str sign);
/* The same, and the words that follow stick to it. */
void prose_open(struct prose *p, struct str sign);
/* One that belongs to what came last, in front of what is due. */
void prose_close(struct prose *p, struct str sign);
/* Ends the last line. */
void prose_end(struct prose *p);

#endif
