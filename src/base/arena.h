/*
 * Memory for one request: many small pieces, freed together. arena_init sets the maximum
 * of their sum.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "base/str.h"

struct arena_chunk;

struct arena {
	struct arena_chunk *head;
	size_t used; /* bytes handed out, alignment included */
	size_t max;
};

void arena_init(struct arena *a, size_t max);
/* Frees every piece; the arena can be used again. */
void arena_reset(struct arena *a);
/* As arena_reset for secret content: the memory is wiped before it is freed. */
void arena_wipe(struct arena *a);
/* arena_reset, but it may keep one small chunk for the pieces to come. */
void arena_rewind(struct arena *a);

/* n bytes, zeroed, aligned for any type; NULL at the maximum or out of memory. */
void *arena_alloc(struct arena *a, size_t n) MUST_USE;
/* n objects of size bytes each; the product is checked. */
void *arena_array(struct arena *a, size_t n, size_t size) MUST_USE;
/* A NUL-terminated copy of s (which may itself hold NUL); NULL as above. */
char *arena_cstr(struct arena *a, struct str s) MUST_USE;

#endif
