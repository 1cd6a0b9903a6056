/* Locks on files that are waited for up to a deadline. */
#ifndef BASE_LOCK_H
#define BASE_LOCK_H

#include "base/err.h"

#include <stdint.h>

/*
 * An exclusive lock (flock) on an open file: 0; -EBUSY if another process has it at the
 * deadline, in monotonic ms; -errno. Uses SIGALRM while it waits.
 */
int lock_file(int fd, uint64_t deadline) MUST_USE;

#endif
