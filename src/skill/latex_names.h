/* The meaning of LaTeX macros and environments in plain text. For skill/latex* only. */
#ifndef SKILL_LATEX_NAMES_H
#define SKILL_LATEX_NAMES_H

#include "base/str.h"

enum latex_action {
	LATEX_TEXT = 't',   /* value: text in which %1 is an argument, %^1 in capitals */
	LATEX_KEEP = 'k',   /* store the argument under the macro's name */
	LATEX_TITLE = 'T',  /* print the stored texts as a title */
	LATEX_TODAY = 'd',  /* the date */
	LATEX_ITEM = 'i',   /* item of a list; the argument replaces its mark */
	LATEX_ACCENT = 'a', /* value: the combining character, then pairs of letters */
	LATEX_STYLE = 's',  /* value: capital A of an alphabet, then its small a */
	LATEX_MATH = 'm',   /* of environments: a formula */
};

struct latex_macro {
	enum latex_action action;
	const char *args; /* '{', '[' or '*' for each argument; NULL: unknown macro */
	const char *value;
};

/* Finds the macro of that name, without its backslash; false: it is unknown. */
bool latex_macro(struct str name, struct latex_macro *out);
/*
 * Finds the environment of that name. In its value, %1 is the environment's text. Its
 * arguments are dropped.
 */
bool latex_environment(struct str name, struct latex_macro *out);
/* The character of a macro without arguments; empty: the macro is unknown. */
struct str latex_symbol(struct str name);

/* A typographic sign that is written with several characters. */
struct latex_sign {
	struct str from;
	const char *to;
};

/* The sign at the start of s, or NULL. */
const struct latex_sign *latex_sign(struct str s);

#endif
