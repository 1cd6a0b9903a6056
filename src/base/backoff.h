/* The pause before a failed step is tried again. */
#ifndef BASE_BACKOFF_H
#define BASE_BACKOFF_H

#include <stdint.h>

/*
 * The pause that follows a pause of last (0: there was none, or a step has succeeded
 * since): first, then doubled each time, at most most. In any unit.
 */
static inline uint64_t backoff(uint64_t last, uint64_t first, uint64_t most)
{
	uint64_t next = last ? last * 2 : first;

	return next < most ? next : most;
}

#endif
