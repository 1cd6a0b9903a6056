/*
 * LaTeX as plain text: what is written, without what it should look like. Accents and
 * symbols become characters, sections get a sign, formulas stay on their lines.
 * Nothing is ever executed: a macro that the document defines is not known.
 */
#ifndef SKILL_LATEX_H
#define SKILL_LATEX_H

#include "base/buf.h"

/*
 * Appends the text of source, which is valid UTF-8 with LF as line ends; today is what
 * \today says. Whatever is malformed is passed over. 0; ERR_DEPTH: groups are nested
 * more deeply than LATEX_DEPTH_MAX; otherwise out->err tells.
 */
int latex_put_text(struct str source, struct str today, struct buf *out) MUST_USE;

#endif
