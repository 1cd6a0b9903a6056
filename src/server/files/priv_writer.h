/*
 * The privileged writer: a process with the server's rights that writes files for one
 * upload job. It writes only below the working directory.
 *
 * A backend expects to replace files that root of the host has put into the working
 * directory. The sandbox user cannot do this, and the job has the rights of that user. So
 * the job sends requests to this process, which parses no content and takes only paths
 * and modes:
 *
 * - A path is below the working directory and on its file system. The server gives the
 * working directory to the user when it starts.
 * - No symbolic link is followed, in any part of the path.
 * - No existing file is opened or written to. A new inode replaces the name by rename(2).
 * - New files belong to the sandbox user.
 */
#ifndef SERVER_FILES_PRIV_WRITER_H
#define SERVER_FILES_PRIV_WRITER_H

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

/* As a mode: the mode of the old file, or 0644. */
#define PRIV_WRITER_MODE_SAME ((mode_t)-1)

struct priv_writer_conf {
	const char *top; /* the working directory, absolute */
	uid_t uid;       /* of the sandbox user */
	gid_t gid;
};

/*
 * Starts the process. The caller is a job that still has the server's rights. If the
 * process cannot be started, each call below returns -EACCES.
 */
void priv_writer_start(const struct priv_writer_conf *c);
/* Ends the process and waits for it. */
void priv_writer_end(void);

/*
 * Makes the folder at an absolute path, and missing folders above it. It may exist.
 * Returns 0; -EACCES: the path is not below the working directory; -ENOTDIR: a part of it
 * is a link or a file; -EXDEV: it is on another file system; -errno.
 */
int priv_writer_make_folder(const char *path) MUST_USE;
/*
 * Begins a file at an absolute path. Returns an fd for its content, errors as above,
 * -EISDIR, or -EEXIST if the path is neither a file nor a link. At most one file is open
 * at a time.
 */
int priv_writer_open(const char *path) MUST_USE;
/*
 * Gives the open file its owner, mode and name. Returns 0, or -errno: the old file is
 * unchanged.
 */
int priv_writer_commit(mode_t mode, bool sync) MUST_USE;

#endif
