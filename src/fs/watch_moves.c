#include "fs/watch_moves.h"

uint32_t watch_moves_hash_place(int wd, const char *name)
{
	/* The watch is hashed, too, since different folders often hold equal names. */
	uint32_t h = (0x811c9dc5 ^ (uint32_t)wd) * 0x9e3779b1;

	/* FNV-1a. */
	for (; *name; name++)
		h = (h ^ (uint8_t)*name) * 0x01000193;
	return h | 1;
}

void watch_moves_add_from(struct watch_moves *m, uint32_t cookie, uint32_t from)
{
	m->ring[m->n++ % WATCH_MOVES] =
		(struct watch_move){.cookie = cookie, .from = from};
}

void watch_moves_add_to(struct watch_moves *m, uint32_t cookie, uint32_t to)
{
	for (unsigned i = 0; i < WATCH_MOVES; i++)
		if (m->ring[i].from && m->ring[i].cookie == cookie)
			m->ring[i].to = to;
}

bool watch_moves_is_return(const struct watch_moves *m, uint32_t from, uint32_t to)
{
	for (unsigned i = 0; i < WATCH_MOVES; i++)
		if (m->ring[i].to == from && m->ring[i].from == to)
			return true;
	return false;
}
