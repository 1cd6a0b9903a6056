/*
 * Limits how much a copy from a sandbox may write here. docker cp has no limit, so a
 * sandbox that never ends its archive fills the disk, and other programs fail first.
 * Here a copy ends while 1 % of the disk, or 1 GiB, is free: bytes and inodes. The first
 * 16 MiB and 1,000 entries are never refused, so that small copies work on a full disk.
 */
#ifndef INJECT_SANDBOX_COPY_COPY_SPACE_H
#define INJECT_SANDBOX_COPY_COPY_SPACE_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct copy_space {
	uint64_t bytes, entries; /* that may be written before the next statvfs */
	uint64_t holes;          /* bytes skipped so far */
	uint64_t holes_max;      /* the size of the disk; 0: not read yet */
};

void copy_space_init(struct copy_space *s);

/*
 * Called before bytes and entries are written to the file system of the folder dir. 0;
 * -ENOSPC: it would be nearly full then; -errno.
 */
int copy_space_reserve(
	struct copy_space *s, int dir, uint64_t bytes, uint64_t entries) MUST_USE;

/*
 * Called before zeros are skipped. They take no space, but an archive of zeros may have
 * no end: all skipped zeros together are at most as many as the disk has bytes. Errors
 * as above.
 */
int copy_space_skip(struct copy_space *s, int dir, uint64_t bytes) MUST_USE;

/*
 * The part of free, of total, that may be written before free is read again; 0: nothing.
 * reserve_max limits the part that stays free, step the part that is granted at a time.
 */
uint64_t copy_space_allowed(
	uint64_t free, uint64_t total, uint64_t reserve_max, uint64_t step);

#endif
