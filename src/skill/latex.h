/*
 * Converts LaTeX to plain text without its layout. Accents and symbols become
 * characters, sections get a sign, formulas stay on their lines. Nothing is executed:
 * macros that the document defines are ignored.
 */
#ifndef SKILL_LATEX_H
#define SKILL_LATEX_H

#include "base/buf.h"

enum {
	LATEX_DEPTH_MAX = 256,  /* groups in groups; a formula has ten */
	LATEX_TITLE_MAX = 4096, /* bytes of the title of a document, and of its authors */
};

/*
 * Appends the text of source, which is valid UTF-8 with LF as line ends. today is the
 * text of \today. Malformed input is skipped. Returns 0; ERR_DEPTH: groups are nested
 * more deeply than LATEX_DEPTH_MAX. If the text does not fit, out->err is set.
 */
int latex_put_text(struct str source, struct str today, struct buf *out) MUST_USE;

#endif
