/*
 * Words and literals of Python, taken off the front of a text. All of them leave it
 * where they stop.
 */
#ifndef BASE_LITERAL_H
#define BASE_LITERAL_H

#include "base/buf.h"

/* Blanks but line ends. */
void literal_skip_blanks(struct str *s);
/* A comment that begins here, up to the end of its line. */
void literal_skip_comment(struct str *s);
/* Blanks, comments, line ends: all that has no meaning within brackets. */
void literal_skip_space(struct str *s);
/* Takes c if it is what follows such space; else nothing. */
bool literal_take(struct str *s, char c);
/* Letters and digits, and the byte extra if it is not NUL; empty where none begins. */
struct str literal_take_name(struct str *s, char extra);

bool literal_is_string(struct str s);
enum literal_kind {
	LITERAL_TEXT, /* no halves of surrogate pairs, which Python cannot write either */
	LITERAL_HALVES, /* two of them are a character, one that stands alone is U+FFFD */
	LITERAL_RAW,    /* a backslash stands for itself */
};
/*
 * Appends the value of the one string that begins at this quote, without a prefix, and
 * leaves *s behind it. ERR_SYNTAX: it does not end, or is no Unicode; ERR_TYPE: it names
 * a character (\N{...}), and what these are called is not known here.
 */
int literal_take_quoted(struct str *s, enum literal_kind kind, struct buf *out) MUST_USE;
/*
 * Puts the value of one or more strings side by side in place of what is in out.
 * ERR_SYNTAX: it is none, or bytes, or formatted, or no Unicode, or names a character.
 */
int literal_take_string(struct str *s, struct buf *out) MUST_USE;
/*
 * Appends the JSON of a string, a whole number, None, True, False or a list of numbers.
 * number: what is none stands there as a string that is none either. piece is
 * a buf to work with. ERR_SYNTAX for all else.
 */
int literal_take_value(
	struct str *s, bool number, struct buf *piece, struct buf *out) MUST_USE;

#endif
