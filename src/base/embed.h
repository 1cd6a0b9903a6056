/* Files of the source tree in the program, packed, since they are texts. */
#ifndef BASE_EMBED_H
#define BASE_EMBED_H

#include "base/str.h"

struct embed {
	const unsigned char *packed; /* by gzip */
	const uint32_t *n;
	struct str text; /* once it was needed */
};

/*
 * Makes a struct embed NAME of FILE, whose place is told from the root of the tree; the
 * Makefile has to know of it, too.
 */
#define EMBED(NAME, FILE) \
	__asm__(".pushsection .rodata\n" \
		".global " #NAME "_packed\n" \
		".global " #NAME "_n\n" #NAME "_packed:\n" \
		".incbin \"" FILE ".gz\"\n" \
		"1:\n" \
		".balign 4\n" #NAME "_n:\n" \
		".long 1b - " #NAME "_packed\n" \
		".popsection\n"); \
	extern const unsigned char NAME##_packed[]; \
	extern const uint32_t NAME##_n; \
	static struct embed NAME = {NAME##_packed, &NAME##_n, {NULL, 0}}

/*
 * The text, with a NUL behind it, which is not counted; unpacked the first time and
 * kept from then on. Out of memory: an empty one.
 */
struct str embed_text(struct embed *e);

#endif
