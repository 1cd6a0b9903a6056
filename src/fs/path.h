/* Paths as a client sends them. */
#ifndef FS_PATH_H
#define FS_PATH_H

#include "base/buf.h"
#include "limits.h"

/* An absolute path without empty parts or "."; ".." is left to the kernel. */
struct file_path {
	char abs[FILE_PATH_MAX];
	size_t n;
};

/*
 * Makes an absolute path of sent, which is relative to cwd unless it starts with a
 * slash. An unknown cwd (empty or relative) counts as "/". 0; -EINVAL for a NUL byte;
 * -ENAMETOOLONG; both with a message for the user in why.
 */
int file_path_make(
	struct file_path *p, struct str cwd, struct str sent, struct buf *why) MUST_USE;

/* The last part of the path; empty for "/". */
struct str file_path_base(const struct file_path *p);

/* The extension: the text after the last dot of the last part, or empty. */
struct str file_path_ext(const struct file_path *p);

/*
 * Whether the wire contract treats a file of that name as binary, whatever its content.
 */
bool file_path_is_binary(const struct file_path *p);

/*
 * Opens the folder that really holds the file, following symlinks of the last part as
 * well, even dangling ones. *dir is an fd (O_PATH) that the caller closes, base the
 * name in it, which is no symlink. -errno; ELOOP after FILE_LINKS_MAX links, EISDIR for
 * a path that can only be a folder.
 */
int file_path_open_dir(
	const struct file_path *p, int *dir, char base[FILE_PATH_MAX]) MUST_USE;

#endif
