/*
 * The privileged writer: a process with the server's rights that writes files for one
 * upload job, below the working directory alone.
 *
 * A backend expects to replace files that the host's root has put into the working
 * directory. The sandbox user cannot, and the job has his rights. So the job asks this
 * process, which parses nothing and takes only paths and modes from it:
 *
 * - A path is below the working directory, and on its file system: what the server gives
 *   to the user when it starts.
 * - No symbolic link is followed, in any part of the path.
 * - No existing file is opened or written to. A new inode takes the name by a rename.
 * - What is new belongs to the sandbox user.
 */
#ifndef SRV_PRIV_WRITER_H
#define SRV_PRIV_WRITER_H

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

/* As a mode: that of the old file, or 0644. */
#define PRIV_WRITER_MODE_KEPT ((mode_t)-1)

struct priv_writer_conf {
	const char *top; /* the working directory, absolute */
	uid_t uid;       /* of the sandbox user */
	gid_t gid;
};

/*
 * Starts the process. The caller is a job that still has the server's rights. Without a
 * process each call below returns -EACCES.
 */
void priv_writer_start(const struct priv_writer_conf *c);
/* Ends it and waits for it. */
void priv_writer_end(void);

/*
 * Makes the folder at an absolute path, with those above it; it may be there. 0; -EACCES
 * for a path that is not below the working directory; -ENOTDIR where a link or a file is
 * in the way; -EXDEV on another file system; -errno.
 */
int priv_writer_make_folder(const char *path) MUST_USE;
/*
 * Begins a file at an absolute path: an fd to write its content to. Errors as above;
 * -EISDIR; -EEXIST for what is neither a file nor a link. One file at a time.
 */
int priv_writer_open(const char *path) MUST_USE;
/* Gives that file its owner, mode and name. 0; -errno, and the old file is as it was. */
int priv_writer_commit(mode_t mode, bool sync) MUST_USE;

#endif
