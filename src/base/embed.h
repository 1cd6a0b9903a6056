/* Files of the source tree inside the program, compressed, since they are texts. */
#ifndef BASE_EMBED_H
#define BASE_EMBED_H

#include "base/str.h"

struct embed {
	const unsigned char *packed; /* gzip */
	const uint32_t *n;
	struct str text; /* set at the first use */
};

/*
 * Makes a struct embed NAME of FILE, a path relative to the root of the tree. The
 * Makefile must list the file, too.
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
 * The text, with a NUL behind it, which is not counted; unpacked at the first call and
 * kept from then on. Out of memory: an empty text.
 */
struct str embed_text(struct embed *e);

#endif
