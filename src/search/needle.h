/* Searches for bytes in long texts, sixteen positions at a time. */
#ifndef SEARCH_NEEDLE_H
#define SEARCH_NEEDLE_H

#include "base/str.h"

enum { NEEDLE_MAX = 64 };

/*
 * A literal, searched by its two bytes that are rarest in typical text. Where fold is
 * 0x20 the case of an ASCII letter is ignored.
 */
struct needle {
	uint8_t text[NEEDLE_MAX];
	uint8_t fold[NEEDLE_MAX];
	size_t n;
	size_t rare[2]; /* places in text */
};

/* s has 1 to NEEDLE_MAX bytes. */
void needle_init(struct needle *n, struct str s, bool nocase);

/* The offset of the first occurrence in s; s.n if there is none. */
size_t needle_find(const struct needle *n, struct str s);

/* The offset of the first byte that is one of the three; s.n if there is none. */
size_t needle_find_bytes(struct str s, const uint8_t any[3]);

#endif
