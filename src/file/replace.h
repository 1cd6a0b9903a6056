/*
 * New text for a file, which keeps owner, mode, links and attributes; where it has
 * several names it is overwritten in place, and so where file/put.h has to.
 *
 * Runs as file/put.h tells.
 */
#ifndef FILE_REPLACE_H
#define FILE_REPLACE_H

#include "file/path.h"
#include "file/put.h"

/* A file that is about to change. */
struct replace {
	int dir;                  /* where it really is */
	char base[FILE_PATH_MAX]; /* and its name there, no symlink */
	int old;                  /* open for both; -1 when there is none yet */
	int refused;    /* 0, or why it may not be written to: old is open for reading */
	struct stat st; /* of the old file */
};

/*
 * Finds the file. 0; ERR_TYPE or -EISDIR for what is no regular file; -errno. To be
 * closed either way.
 */
int replace_open(struct replace *f, const struct file_path *path) MUST_USE;
void replace_close(struct replace *f);

struct replace_new {
	const struct str *parts; /* the new bytes, in so many parts */
	size_t n;
	mode_t mode; /* of a file that is new; the umask has no part in it */
};

/*
 * Gives the file its new bytes. Its owner and mode stay, but for set-id bits, which
 * the kernel takes from what others than root write. -errno, and the file is as it
 * was, or *damaged is set. *attr is 0, or why a new file could not be given its mode.
 */
int replace_put(const struct replace *f, const struct replace_new *to, enum put_how *how,
	int *attr, bool *damaged) MUST_USE;

/*
 * What to do about an error of the disk or of rights: a sentence, or "".
 */
const char *replace_advice(int err);

#endif
