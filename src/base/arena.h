/*
 * Memory for one request: many small pieces, freed together.
 * The sum of all pieces has a maximum given at birth.
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
/* The same for what was secret: its memory is wiped before. */
void arena_wipe(struct arena *a);
/* arena_reset, but it may keep one small chunk for the pieces to come. */
void arena_rewind(struct arena *a);

/* n bytes, zeroed, aligned for any type; NULL when the cap or memory ends. */
void *arena_alloc(struct arena *a, size_t n) MUST_USE;
/* n objects of size bytes each; the product is checked. */
void *arena_array(struct arena *a, size_t n, size_t size) MUST_USE;
/* A NUL-terminated copy of s (which may itself hold NUL); NULL as above. */
char *arena_cstr(struct arena *a, struct str s) MUST_USE;

#endif
