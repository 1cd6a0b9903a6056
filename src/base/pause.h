/* The only sleep of the program: for a condition that the kernel reports by no event. */
#ifndef BASE_PAUSE_H
#define BASE_PAUSE_H

#include <stdint.h>

enum { PAUSE_MAX_MS = 5 };

/*
 * Waits, PAUSE_MAX_MS at most, and never beyond deadline, in monotonic ms. The caller
 * then reads its condition again. tools/lint names the files that may call this.
 */
void pause_until(uint64_t deadline);

#endif
