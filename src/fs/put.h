/*
 * Replaces the content of a file, written in pieces: readers see the old or the new
 * file under its name, never a part. Runs with the rights of the calling process, and
 * in a job, as it may wait for a slow disk. The caller must ignore SIGXFSZ, so that a
 * file size limit is an error and does not kill the process.
 *
 * An old file keeps its owner and its extended attributes, ACLs included. Capabilities
 * are lost: the kernel removes them on a write.
 */
#ifndef FS_PUT_H
#define FS_PUT_H

#include "base/atomic_file.h"
#include "proc/cleanup_guard.h"

#include <sys/stat.h>

enum put_how {
	PUT_NEW,      /* the file did not exist */
	PUT_REPLACED, /* a new inode under the old name */
	/*
	 * The old inode was overwritten, since it is a mount point, has an owner or
	 * attributes that cannot be given to a new file, or is in a folder where no
	 * file can be made. A crash or a concurrent read may see a mixture of old and
	 * new. An error leaves no mixture, unless restoring the old bytes fails as
	 * well.
	 */
	PUT_IN_PLACE,
};

struct put {
	/* The caller may change these members up to put_commit. */
	mode_t mode;   /* the old one without set-id bits; else put_get_new_mode */
	bool in_place; /* overwrite the old file and keep its inode */
	bool sync;     /* sync to disk before success */
	/*
	 * Replace a file even if its owner cannot be kept and it may not be
	 * overwritten: the new file then belongs to the calling process.
	 */
	bool replace_foreign;

	struct atomic_file swap; /* the caller owns its over and old */
	int dir;
	const char *name;
	int target; /* the old file if it is to be overwritten, else -1 */
	bool exists;
	struct stat old; /* of the old file */
	struct cleanup_guard broom;
	bool damaged; /* after an error: old and new content may be mixed */
};

/*
 * Begins a file called name, a single part, in the folder dir; both must outlive p. 0;
 * -EISDIR, or -EEXIST if name is neither a regular file nor a symbolic link, which is
 * replaced and not followed; -errno. After an error put_end is not needed.
 */
int put_begin(struct put *p, int dir, const char *name) MUST_USE;
/* For slow input: removes the unfinished file if this process is killed. */
void put_guard(struct put *p);
int put_data(struct put *p, struct str piece) MUST_USE;
/*
 * Gives the new file its name. 0 with *how; -errno: the old file is unchanged, unless
 * p->damaged is set. attr_err and the errors of p->swap.over are those of
 * atomic_file_commit.
 */
int put_commit(struct put *p, enum put_how *how, int *attr_err) MUST_USE;
void put_end(struct put *p);

/* Opens a spool without a name in a folder for temporary files. 0 or -errno. */
int put_open_spool(struct atomic_file *s) MUST_USE;

/* The default mode of a new file: 0666 less the umask. */
mode_t put_get_new_mode(void);

#endif
