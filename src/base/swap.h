/*
 * New content for a file by a neighbour that takes its name: whoever opens the
 * file sees all of the old text or all of the new, and a failure (disk full,
 * quota, read-only) leaves the old file as it was.
 */
#ifndef BASE_SWAP_H
#define BASE_SWAP_H

#include "base/str.h"

#include <sys/types.h>

/* What the new file shall look like; mode holds permission bits only. */
struct swap_attr {
	mode_t mode;
	uid_t uid;
	gid_t gid;
};

/*
 * Writes the n parts, one after the other, into a new file in the folder dir
 * and renames it to name, which may exist as a file or not at all. 0 or -errno
 * with nothing changed and nothing left behind.
 *
 * Owner and mode that cannot be set (the caller lacks the right, or the file
 * system has none) are a failure like any other when attr_err is NULL; else
 * the file is put in place all the same and *attr_err holds 0 or the -errno.
 */
int swap_file(int dir, const char *name, const struct swap_attr *attr,
	const struct str *parts, size_t n, int *attr_err) MUST_USE;

#endif
