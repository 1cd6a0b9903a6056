#include "inject/sandbox/copy/copy_space.h"

#include <errno.h>
#include <sys/statvfs.h>

enum { RESERVE_PART = 100, FIRST_ENTRIES = 1000, STEP_ENTRIES = 10000 };
enum { FIRST_BYTES = 16 << 20, STEP_BYTES = 64 << 20, RESERVE_BYTES = 1 << 30 };
enum { RESERVE_ENTRIES = 100000 };
enum { ENTRY_BYTES = 4096 }; /* a folder takes a block */

void copy_space_init(struct copy_space *s)
{
	*s = (struct copy_space){.bytes = FIRST_BYTES, .entries = FIRST_ENTRIES};
}

uint64_t copy_space_allowed(
	uint64_t free, uint64_t total, uint64_t reserve_max, uint64_t step)
{
	uint64_t reserve = total / RESERVE_PART;

	reserve = reserve < reserve_max ? reserve : reserve_max;
	free = free > reserve ? free - reserve : 0;
	return free < step ? free : step;
}

static int copy_space_look(struct copy_space *s, int dir)
{
	struct statvfs v;

	if (fstatvfs(dir, &v) < 0)
		return -errno;
	s->bytes = copy_space_allowed(v.f_bavail * v.f_frsize, v.f_blocks * v.f_frsize,
		RESERVE_BYTES, STEP_BYTES);
	/* Some file systems report no number of inodes. */
	s->entries = v.f_files
		? copy_space_allowed(v.f_favail, v.f_files, RESERVE_ENTRIES, STEP_ENTRIES)
		: STEP_ENTRIES;
	if (s->entries > s->bytes / ENTRY_BYTES)
		s->entries = s->bytes / ENTRY_BYTES;
	return 0;
}

int copy_space_skip(struct copy_space *s, int dir, uint64_t bytes)
{
	struct statvfs v;

	s->holes += bytes;
	if (!s->holes_max && s->holes > FIRST_BYTES) {
		if (fstatvfs(dir, &v) < 0)
			return -errno;
		s->holes_max = v.f_blocks * v.f_frsize;
	}
	return s->holes_max && s->holes > s->holes_max ? -ENOSPC : 0;
}

int copy_space_reserve(struct copy_space *s, int dir, uint64_t bytes, uint64_t entries)
{
	if (bytes > s->bytes || entries > s->entries) {
		int r = copy_space_look(s, dir);

		if (r)
			return r;
		if (bytes > s->bytes || entries > s->entries)
			return -ENOSPC;
	}
	s->bytes -= bytes;
	s->entries -= entries;
	return 0;
}
