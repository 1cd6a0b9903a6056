/*
 * New content for a file, old or new: by a neighbour that takes its name where this
 * keeps owner, mode, links and attributes, else in place.
 *
 * Runs with the rights of the calling process, and in a job, as it may wait for a slow
 * disk. SIGXFSZ must be ignored, so that a file size limit is an error and no death.
 */
#ifndef FILE_REPLACE_H
#define FILE_REPLACE_H

#include "file/path.h"

#include <sys/stat.h>

/* A file that is about to change. */
struct replace {
	int dir;                  /* where it really is */
	char base[FILE_PATH_MAX]; /* and its name there, no symlink */
	int old;                  /* open for both; -1 when there is none yet */
	struct stat st;           /* of the old file */
};

enum replace_how {
	REPLACE_NEW,     /* the file was not there before */
	REPLACE_SWAPPED, /* a new inode under the old name: old text or new, always */
	/*
	 * The old inode was overwritten, since it has several names, extended
	 * attributes or an owner that cannot be given, is a mount point or stands
	 * in a folder where nothing can be made. A crash or a read in between may
	 * meet a mixture of old and new; an error does not leave one behind, unless
	 * putting the old bytes back fails as well.
	 */
	REPLACE_IN_PLACE,
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
	struct str before; /* all old bytes; empty where they are not known */
	mode_t mode;       /* of a file that is new; the umask has no part in it */
};

/*
 * Gives the file its new bytes. Its owner and mode stay, but for set-id bits, which
 * the kernel takes from what others than root write. -errno, and the file is as it
 * was, or *damaged is set. *attr is 0, or why a new file could not be given its mode.
 */
int replace_put(const struct replace *f, const struct replace_new *to,
	enum replace_how *how, int *attr, bool *damaged) MUST_USE;

/*
 * What to do about an error of the disk or of rights: a sentence, or "".
 */
const char *replace_advice(int err);

#endif
