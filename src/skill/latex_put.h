/* Text that macros make something else of. For skill/latex*. All append to out. */
#ifndef SKILL_LATEX_PUT_H
#define SKILL_LATEX_PUT_H

#include "base/buf.h"

void latex_put_capitals(struct buf *out, struct str text);

/*
 * Each character of text with an accent, as one character where there is one. accent
 * is the combining character, and then pairs: a letter, and the same with it.
 */
void latex_put_accented(struct buf *out, struct str text, struct str accent);

/* Letters out of the mathematical alphabet that is given by its capital A and small a. */
void latex_put_styled(struct buf *out, struct str text, struct str alphabet);

/* A formula on lines of its own. */
void latex_put_block(struct buf *out, struct str text);

#endif
