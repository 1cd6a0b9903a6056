/*
 * Replaces a file atomically: another inode with the new content takes its name. A
 * process that opens the file sees all of the old text or all of the new. A failure (disk
 * full, quota, read-only) leaves the old file unchanged.
 *
 * If the file system has O_TMPFILE, the inode has no name until it is complete, and a
 * killed process leaves nothing behind. Otherwise it has a temporary name in the same
 * folder, .od-....
 */
#ifndef BASE_ATOMIC_FILE_H
#define BASE_ATOMIC_FILE_H

#include "base/str.h"

#include <sys/stat.h>

/* Attributes of the new file; mode holds permission bits only. */
struct atomic_file_attr {
	mode_t mode;
	uid_t uid; /* -1: as the folder gives it */
	gid_t gid;
};

/* The file that the new file may replace. */
enum atomic_file_policy {
	ATOMIC_FILE_ANY,  /* any file, or none */
	ATOMIC_FILE_NEW,  /* -EEXIST when something is there */
	ATOMIC_FILE_SAME, /* -ESTALE unless it is still the unchanged file swap.old */
};

enum { ATOMIC_FILE_NAME = 48 };

/* New content in progress. */
struct atomic_file {
	int fd;  /* write here */
	int dir; /* the caller's */
	enum atomic_file_policy policy;
	struct stat old;
	bool replaced;               /* set by the commit: another file had the name */
	char name[ATOMIC_FILE_NAME]; /* in dir; empty if it has no name of its own */
};

/* Makes an inode of mode 0600 in the folder dir, which must stay open. 0 or -errno. */
int atomic_file_begin(struct atomic_file *s, int dir) MUST_USE;
/* As atomic_file_begin, but never with a name: for content that shall get none. */
int atomic_file_begin_unnamed(struct atomic_file *s, int dir) MUST_USE;
/*
 * Sets owner and mode, and takes the name, which may be that of a file or of nothing, as
 * s->over says (ATOMIC_FILE_ANY, unless the caller has set it). attr_err and results as
 * of atomic_file_write; after a failure the inode stays until atomic_file_end. -EBUSY:
 * name is a mount point.
 */
int atomic_file_commit(struct atomic_file *s, const char *name,
	const struct atomic_file_attr *attr, int *attr_err) MUST_USE;
/* Removes what was not committed; legal at any time after atomic_file_begin. */
void atomic_file_end(struct atomic_file *s);

/*
 * Writes the n parts, one after the other, into a new file in the folder dir
 * and gives it the name, which may be that of a file or of nothing. 0 or -errno
 * with nothing changed and nothing left behind.
 *
 * Owner and mode that cannot be set (the caller lacks the right, or the file
 * system has none) are a failure like any other when attr_err is NULL; else
 * the file is put in place all the same and *attr_err holds 0 or the -errno.
 */
int atomic_file_write(int dir, const char *name, const struct atomic_file_attr *attr,
	const struct str *parts, size_t n, int *attr_err) MUST_USE;

#endif
