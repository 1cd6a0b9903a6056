/*
 * Parses names and literals of Python at the front of a text. All functions remove what
 * they parse from the text.
 */
#ifndef BASE_LITERAL_H
#define BASE_LITERAL_H

#include "base/buf.h"

/* Skips blanks but no line ends. */
void literal_skip_blanks(struct str *s);
/* Skips a comment that begins here, up to the end of its line. */
void literal_skip_comment(struct str *s);
/* Skips blanks, comments and line ends: all text without a meaning within brackets. */
void literal_skip_space(struct str *s);
/* After such space, takes c if it comes next; otherwise takes nothing. */
bool literal_accept(struct str *s, char c);
/* Takes letters, digits, and the byte extra if it is not NUL; empty if no name begins. */
struct str literal_parse_name(struct str *s, char extra);

bool literal_is_string(struct str s);
enum literal_kind {
	LITERAL_TEXT, /* no halves of surrogate pairs, which Python cannot write either */
	LITERAL_SURROGATES, /* a pair is a character, a lone surrogate U+FFFD */
	LITERAL_RAW,        /* a backslash stands for itself */
};
/*
 * Appends the value of the string that begins at this quote, without a prefix, and moves
 * *s behind it. ERR_SYNTAX: it does not end, or is not valid Unicode; ERR_TYPE: it names
 * a character (\N{...}), which is not supported.
 */
int literal_parse_quoted(struct str *s, enum literal_kind kind, struct buf *out) MUST_USE;
/*
 * Replaces the content of out by the value of adjacent strings. ERR_SYNTAX: there is
 * none, or it is bytes, or formatted, or not valid Unicode, or names a character.
 */
int literal_parse_string(struct str *s, struct buf *out) MUST_USE;
/*
 * Appends the JSON of a string, a whole number, None, True, False or a list of numbers.
 * number: a number is expected, so that True and False become 1 and 0, and any other
 * value becomes a string that is no number. piece is a scratch buf. ERR_SYNTAX for all
 * else.
 */
int literal_parse_value(
	struct str *s, bool number, struct buf *piece, struct buf *out) MUST_USE;

#endif
