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

enum { SWAP_NAME = 48 };

/* New content that is being written into such a neighbour. */
struct swap {
	int fd; /* write here; -1 once it is closed */
	int dir;
	char name[SWAP_NAME]; /* in dir; empty when it is there no more */
};

/* The neighbour, mode 0600, in the folder dir, which must stay open. 0 or -errno. */
int swap_begin(struct swap *s, int dir) MUST_USE;
/*
 * Gives it owner and mode and the name, which may be that of a file or of nothing.
 * attr_err and results as of swap_file; after a failure the neighbour is still there
 * until swap_end. -EBUSY: name is a mount point.
 */
int swap_commit(struct swap *s, const char *name, const struct swap_attr *attr,
	int *attr_err) MUST_USE;
/* Removes what was not committed; legal at any time after swap_begin. */
void swap_end(struct swap *s);

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
