#include "base/arena.h"

#include <stdalign.h>
#include <stdlib.h>

enum { CHUNK_MIN = 4096 };

struct arena_chunk {
	struct arena_chunk *next;
	size_t n;
	size_t cap;
	alignas(max_align_t) char bytes[];
};

void arena_init(struct arena *a, size_t max)
{
	*a = (struct arena){.max = max};
}

void arena_reset(struct arena *a)
{
	while (a->head) {
		struct arena_chunk *next = a->head->next;

		free(a->head);
		a->head = next;
	}
	a->used = 0;
}

void arena_wipe(struct arena *a)
{
	for (struct arena_chunk *c = a->head; c; c = c->next)
		explicit_bzero(c->bytes, c->n);
	arena_reset(a);
}

void arena_rewind(struct arena *a)
{
	struct arena_chunk *keep = a->head;

	if (!keep || keep->cap > CHUNK_MIN) {
		arena_reset(a);
		return;
	}
	a->head = keep->next;
	arena_reset(a);
	memset(keep->bytes, 0, keep->n);
	keep->n = 0;
	keep->next = NULL;
	a->head = keep;
}

static struct arena_chunk *arena_add_chunk(struct arena *a, size_t n)
{
	size_t cap = n > CHUNK_MIN ? n : CHUNK_MIN;
	struct arena_chunk *c = calloc(1, sizeof(*c) + cap);

	if (!c)
		return NULL;
	c->cap = cap;
	c->next = a->head;
	a->head = c;
	return c;
}

void *arena_alloc(struct arena *a, size_t n)
{
	const size_t align = alignof(max_align_t);
	struct arena_chunk *c = a->head;
	void *p;

	if (n > a->max - a->used || n > SIZE_MAX / 2)
		return NULL;
	n = (n + align - 1) & ~(align - 1);
	if (n > a->max - a->used)
		return NULL;
	if (!c || n > c->cap - c->n)
		c = arena_add_chunk(a, n);
	if (!c)
		return NULL;
	p = c->bytes + c->n;
	c->n += n;
	a->used += n;
	return p;
}

void *arena_array(struct arena *a, size_t n, size_t size)
{
	size_t total;

	if (__builtin_mul_overflow(n, size, &total))
		return NULL;
	return arena_alloc(a, total);
}

char *arena_cstr(struct arena *a, struct str s)
{
	char *p = s.n < SIZE_MAX ? arena_alloc(a, s.n + 1) : NULL;

	if (p && s.n)
		memcpy(p, s.p, s.n);
	return p;
}
