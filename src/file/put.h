/*
 * New content for a file, in pieces: the old file or the new one is there under its
 * name, never a part. Runs with the rights of the calling process, and in a job, as it
 * may wait for a slow disk. SIGXFSZ must be ignored, so that a file size limit is an
 * error and no death.
 *
 * An old file keeps its owner and its extended attributes, ACLs among them, but for
 * capabilities, which the kernel takes from what is written to.
 */
#ifndef FILE_PUT_H
#define FILE_PUT_H

#include "base/swap.h"
#include "proc/broom.h"

#include <sys/stat.h>

enum put_how {
	PUT_NEW,      /* there was nothing */
	PUT_REPLACED, /* a new inode under the old name */
	/*
	 * The old inode was overwritten, since it is a mount point, has an owner or
	 * attributes that cannot be given, or stands in a folder where nothing can
	 * be made. A crash or a read in between may meet a mixture of old and new;
	 * an error does not leave one behind, unless putting the old bytes back
	 * fails as well.
	 */
	PUT_IN_PLACE,
};

struct put {
	/* What the caller may change up to put_commit. */
	mode_t mode;   /* its own without set-id bits; of a new file, put_new_mode */
	bool in_place; /* overwrite the old file, whose inode is wanted */
	bool sync;     /* wait until the disk has it */
	/*
	 * Replace a file even if its owner cannot be kept and it may not be overwritten:
	 * the new one belongs to the calling process.
	 */
	bool take_over;

	struct swap swap; /* over and old in it are the caller's, too */
	int dir;
	const char *name;
	int target; /* the old file, when it is to be overwritten; else -1 */
	bool exists;
	struct stat old; /* of the old file */
	struct broom broom;
	bool damaged; /* after an error: old and new may be mixed */
};

/*
 * Begins a file called name, a single part, in the folder dir; both must stay. 0;
 * -EISDIR, or -EEXIST for what is neither a regular file nor a symbolic link, which
 * would be replaced and not followed; -errno. Not 0: there is nothing to end.
 */
int put_begin(struct put *p, int dir, const char *name) MUST_USE;
/* For what comes slowly: nothing shall stay if this process is killed meanwhile. */
void put_guard(struct put *p);
int put_data(struct put *p, struct str piece) MUST_USE;
/*
 * Gives it its name. 0 with *how, or -errno with the old file as it was, unless
 * p->damaged is set. attr_err and the errors of p->swap.over are those of swap_commit.
 */
int put_commit(struct put *p, enum put_how *how, int *attr_err) MUST_USE;
void put_end(struct put *p);

/* A spool without a name in a folder for temporary files. 0 or -errno. */
int put_spool(struct swap *s) MUST_USE;

/* Of what is new, unless somebody knows better: 0666 less the umask. */
mode_t put_new_mode(void);

#endif
