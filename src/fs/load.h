/* Reads from files of unknown kind without ever blocking. */
#ifndef FS_LOAD_H
#define FS_LOAD_H

#include "base/buf.h"
#include "fs/textfile.h"

#include <sys/stat.h>

/*
 * Opens name in the folder dir (AT_FDCWD for a path) with flags if it is a regular
 * file; a device, pipe or socket is not opened at all. Returns the fd, with *st filled
 * in; ERR_TYPE if it is no regular file, or -errno. The fd is non-blocking for those
 * files of /proc that would block.
 */
int load_open(int dir, const char *name, int flags, struct stat *st) MUST_USE;

/* The kind of a file that is not regular: "a directory", "a named pipe"... */
const char *load_describe_kind(int dir, const char *name);

/*
 * Appends the bytes of fd from offset at on: max of them, or all up to the end. -errno,
 * or the error of out if it is full.
 */
int load_read_part(int fd, uint64_t at, size_t max, struct buf *out) MUST_USE;

/*
 * Finds a range of lines (as text_scan does) in a file of any size, reading it in small
 * pieces and no further than needed. The bytes read must be UTF-8. ERR_UTF8; ERR_LIMIT
 * for a range of more than most bytes or a file that continues after byte limit;
 * -errno.
 */
int load_find_lines(int fd, struct line_range range, uint64_t most, uint64_t limit,
	struct text_slice *out) MUST_USE;

#endif
