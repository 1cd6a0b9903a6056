/*
 * Replaces the text of a file and keeps owner, mode, links and attributes. A file with
 * several hard links is overwritten in place, and so are the cases of PUT_IN_PLACE.
 *
 * Runs in a job, see fs/put.h.
 */
#ifndef FS_REPLACE_H
#define FS_REPLACE_H

#include "fs/path.h"
#include "fs/put.h"

/* A file to be changed. */
struct replace {
	int dir;                  /* the folder that really holds it */
	char base[FILE_PATH_MAX]; /* its name there, no symlink */
	int old;                  /* open read-write; -1 if the file does not exist */
	int refused;    /* 0, or why it is not writable: old is open for reading */
	struct stat st; /* of the old file */
};

/*
 * Finds the file. 0; ERR_TYPE or -EISDIR if it is no regular file; -errno. Call
 * replace_close in either case.
 */
int replace_open(struct replace *f, const struct file_path *path) MUST_USE;
void replace_close(struct replace *f);

struct replace_new {
	const struct str *parts; /* the new bytes, in n parts */
	size_t n;
	mode_t mode; /* of a new file; the umask is not applied */
};

/*
 * Writes the new bytes. Owner and mode are kept, except set-id bits, which the kernel
 * clears if a process other than root writes. -errno: the file is unchanged, or
 * *damaged is set. *attr is 0, or why a new file could not be given its mode.
 */
int replace_put(const struct replace *f, const struct replace_new *to, enum put_how *how,
	int *attr, bool *damaged) MUST_USE;

/* Advice on an error of the disk or of permissions: a sentence, or "". */
const char *replace_get_advice(int err);

#endif
