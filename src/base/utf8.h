/* UTF-8 (RFC 3629): no surrogates, nothing above U+10FFFF, shortest forms. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include "base/buf.h"

enum { UTF8_REPLACEMENT = 0xfffd };

/* Length of the valid part at the front: s.n when all of it is valid. */
size_t utf8_prefix(struct str s);
bool utf8_is_valid(struct str s);

/*
 * Takes the first character off *s and returns its code point. Invalid bytes
 * give UTF8_REPLACEMENT and take the maximal invalid part (Unicode 3.9, best
 * practice), at least one byte. *s must not be empty.
 */
uint32_t utf8_next(struct str *s);

/* Code points, each invalid part counted as one. */
size_t utf8_count(struct str s);
/* The offset behind the first n code points, or s.n. */
size_t utf8_offset(struct str s, size_t n);

/* Length of an unfinished but so far valid character at the end: 0 to 3. */
size_t utf8_unfinished_length(struct str s);

/* Encodes cp (which is a legal code point) into out; returns 1 to 4. */
size_t utf8_encode(uint32_t cp, char out[4]);

/* Appends s with every invalid part replaced by U+FFFD. */
void utf8_repair(struct buf *out, struct str s);

#endif
