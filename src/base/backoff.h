/* The pause before what has failed is tried again. */
#ifndef BASE_BACKOFF_H
#define BASE_BACKOFF_H

#include <stdint.h>

/*
 * The pause that follows one of last (0: there was none, or it has been good since):
 * first, then twice as much each time, up to most. Any unit.
 */
static inline uint64_t backoff(uint64_t last, uint64_t first, uint64_t most)
{
	uint64_t next = last ? last * 2 : first;

	return next < most ? next : most;
}

#endif
