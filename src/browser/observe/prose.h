/*
 * Lines of Markdown: one blank between words, an empty line between blocks. A separator
 * is written only when text follows it, so that there are none at the end.
 */
#ifndef BROWSER_OBSERVE_PROSE_H
#define BROWSER_OBSERVE_PROSE_H

#include "base/buf.h"

struct prose {
	struct buf *out;
	size_t start;      /* of the text in out */
	unsigned newlines; /* pending, 0 to 2 */
	bool blank;        /* a blank is pending */
	bool sign_open;    /* a sign waits for its text; blanks go before the sign */
	size_t sign;       /* where that sign starts, with the signs right before it */
	unsigned quotes;   /* blockquotes around the next text */
	unsigned quoted;   /* blockquotes around the last text */
	bool pre;          /* keep blanks and line ends, indent lines */
};

void prose_init(struct prose *p, struct buf *out);
/* At least so many newlines before the next text: 1 for a line, 2 for a block. */
void prose_break(struct prose *p, unsigned newlines);
/* A line break of the page within a block. */
void prose_break_line(struct prose *p);
/* Text of the page. escape: escape words that look like the number of a list. */
void prose_put_text(struct prose *p, struct str text, bool escape);
/* Writes a Markdown sign unchanged. */
void prose_put_sign(struct prose *p, struct str sign);
/* Writes a Markdown sign; the next words follow it without a blank. */
void prose_open_sign(struct prose *p, struct str sign);
/* Writes a Markdown sign right after the last text, before pending separators. */
void prose_close_sign(struct prose *p, struct str sign);
/* Ends the last line. */
void prose_end(struct prose *p);

#endif
