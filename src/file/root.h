/*
 * Folders below a folder: a walk that never leaves it. Names come from archives and
 * requests, and what stands on the disk may change between any two calls.
 */
#ifndef FILE_ROOT_H
#define FILE_ROOT_H

#include "base/str.h"

#include <dirent.h>
#include <sys/stat.h>

/*
 * The parts of a relative path without empty ones and ".", joined by slashes and with
 * a NUL behind, in out. 0; 1 when no part is left; ERR_SYNTAX: absolute, with a ".."
 * or a NUL byte; -ENAMETOOLONG.
 */
int root_clean(struct str path, char *out, size_t room) MUST_USE;

/*
 * Opens the folder at path, which is clean, below the folder dir; "" is dir itself.
 * No symbolic link is followed, whoever puts one there meanwhile. Missing folders are
 * made, with mode 0755, and added to *made, unless that is NULL. The fd (O_PATH),
 * -errno; -ENOTDIR where there is something else, a link too.
 */
int root_open(int dir, const char *path, uint64_t *made) MUST_USE;

/* The same for the folder that holds the last part of path, which is *base then. */
int root_open_parent(
	int dir, const char *path, uint64_t *made, const char **base) MUST_USE;

/*
 * Opens a folder for reading its names; a link is not followed. 0, with *list for
 * closedir; -errno.
 */
int root_list(int dir, const char *name, DIR **list) MUST_USE;

/*
 * Whether the file or folder is on a file system that the kernel makes up, /proc or
 * /sys for instance: without an end, and different each time.
 */
bool root_is_made_up(int fd);

/*
 * Removes name from the folder dir, with all that is below it, however deep. 0 or -errno;
 * -EINVAL for "." and "..", and nothing is done; ERR_DEPTH for a disk mounted too deep.
 */
int root_remove(int dir, const char *name) MUST_USE;

#endif
