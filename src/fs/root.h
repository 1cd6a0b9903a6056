/*
 * Opens folders below a folder and never leaves it. Names come from archives and
 * requests, and the files on the disk may change between any two calls.
 */
#ifndef FS_ROOT_H
#define FS_ROOT_H

#include "base/str.h"

#include <dirent.h>
#include <sys/stat.h>

/*
 * Normalizes a relative path: its parts without empty ones and ".", joined by slashes
 * and terminated by NUL, in out. 0; 1 if no part is left; ERR_SYNTAX: absolute, with a
 * ".." or a NUL byte; -ENAMETOOLONG.
 */
int root_normalize(struct str path, char *out, size_t room) MUST_USE;

/*
 * Opens the folder at path, a result of root_normalize, below the folder dir; "" is dir
 * itself. No symbolic link is followed, even if one is created during the call. If made
 * is not NULL, missing folders are created with mode 0755 and added to *made. Returns
 * the fd (O_PATH); -errno; -ENOTDIR if a part is no folder, for example a link.
 */
int root_open(int dir, const char *path, uint64_t *made) MUST_USE;

/* Like root_open for the folder that holds the last part of path; *base is that part. */
int root_open_parent(
	int dir, const char *path, uint64_t *made, const char **base) MUST_USE;

/*
 * Opens a folder to list its names; a link is not followed. 0, with *list for closedir;
 * -errno.
 */
int root_list(int dir, const char *name, DIR **list) MUST_USE;

/*
 * Whether the file or folder is on a synthetic file system such as /proc or /sys, whose
 * files may be endless and differ at each read.
 */
bool root_is_synthetic(int fd);

/*
 * Removes name from the folder dir with everything below it, at any depth. 0 or -errno;
 * -EINVAL for "." and "..", without an effect; ERR_DEPTH if a file system is mounted
 * below the depth limit.
 */
int root_remove(int dir, const char *name) MUST_USE;

#endif
