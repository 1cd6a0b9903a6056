/* What the macros and environments of LaTeX mean to plain text. For skill/latex*. */
#ifndef SKILL_LATEX_NAMES_H
#define SKILL_LATEX_NAMES_H

#include "base/str.h"

enum latex_how {
	LATEX_TEXT = 't',   /* value: text in which %1 is an argument, %^1 in capitals */
	LATEX_KEEP = 'k',   /* the argument is kept under the macro's own name */
	LATEX_TITLE = 'T',  /* what was kept, as a title */
	LATEX_TODAY = 'd',  /* the date */
	LATEX_ITEM = 'i',   /* of a list; the argument stands for the mark before it */
	LATEX_ACCENT = 'a', /* value: the combining character, then pairs of letters */
	LATEX_STYLE = 's',  /* value: the capital A of an alphabet, then its small a */
	LATEX_MATH = 'm',   /* of environments: a formula */
};

struct latex_macro {
	enum latex_how how;
	const char *args; /* '{', '[' or '*' for each argument; NULL: nothing is known */
	const char *value;
};

/* The macro of that name, without its backslash; false: it is not known. */
bool latex_macro(struct str name, struct latex_macro *out);
/* The same of environments, whose text is %1; their arguments are left out. */
bool latex_environment(struct str name, struct latex_macro *out);
/* The character of a macro without arguments; empty: it is no such macro. */
struct str latex_symbol(struct str name);

/* A typographic sign that is written with several characters. */
struct latex_sign {
	struct str from;
	const char *to;
};

/* The one that s begins with; NULL: none. */
const struct latex_sign *latex_sign(struct str s);

#endif
