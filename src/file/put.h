/*
 * One file, received in pieces: the old file or the new one is there under its name,
 * never a part. Runs with the rights of the calling process.
 */
#ifndef FILE_PUT_H
#define FILE_PUT_H

#include "base/swap.h"

#include <sys/stat.h>

enum put_how {
	PUT_NEW,
	PUT_REPLACED,
	/*
	 * The old inode was overwritten, since it is a mount point or belongs to
	 * somebody else: a crash or a read in between may meet a mixture.
	 */
	PUT_IN_PLACE,
};

struct put {
	struct swap swap;
	int dir;
	const char *name;
	bool exists;
	struct stat old; /* of the old file */
};

/*
 * Begins a file called name, a single part, in the folder dir; both must stay. 0;
 * -EISDIR, or -EEXIST for what is neither a regular file nor a symbolic link, which
 * would be replaced and not followed; -errno. Not 0: there is nothing to end.
 */
int put_begin(struct put *p, int dir, const char *name) MUST_USE;
int put_data(struct put *p, struct str piece) MUST_USE;
/*
 * Gives it its name; mode is that of a file that was not there, an old one keeps its
 * own without set-id bits. sync: and waits until the disk has it. 0 with *how, or
 * -errno with the old file as it was, unless *damaged is set.
 */
int put_commit(
	struct put *p, mode_t mode, bool sync, enum put_how *how, bool *damaged) MUST_USE;
void put_end(struct put *p);

/* Overwrites the file name in dir by the content of the file from. -errno. */
int put_in_place(int dir, const char *name, int from, bool *damaged) MUST_USE;

#endif
