/*
 * Transformations of text by macros. For skill/latex* only. All functions append to out.
 */
#ifndef SKILL_LATEX_PUT_H
#define SKILL_LATEX_PUT_H

#include "base/buf.h"

void latex_put_capitals(struct buf *out, struct str text);

/*
 * Appends each character of text with an accent, as one character if Unicode has one.
 * accent is the combining character, followed by pairs: a letter, and that letter with
 * the accent.
 */
void latex_put_accented(struct buf *out, struct str text, struct str accent);

/* Appends text in a mathematical alphabet. alphabet is its capital A and its small a. */
void latex_put_styled(struct buf *out, struct str text, struct str alphabet);

/* Appends a formula on lines of its own. */
void latex_put_block(struct buf *out, struct str text);

#endif
