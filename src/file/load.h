/* Reading from files that may be anything, without ever waiting for one. */
#ifndef FILE_LOAD_H
#define FILE_LOAD_H

#include "base/buf.h"
#include "file/textfile.h"

#include <sys/stat.h>

/*
 * Opens name in the folder dir (AT_FDCWD for a path) with flags when it is a
 * regular file; a device, pipe or socket is not even touched. The fd, which is
 * non-blocking for the files of /proc that would wait, with *st filled in;
 * ERR_TYPE for what is no regular file, or -errno.
 */
int load_open(int dir, const char *name, int flags, struct stat *st) MUST_USE;

/* What there is instead of a file: "a directory", "a named pipe"... */
const char *load_kind(int dir, const char *name);

/*
 * Appends the bytes of fd from offset at on: max of them, or all there are.
 * -errno, or what out says when it has no room.
 */
int load_part(int fd, uint64_t at, size_t max, struct buf *out) MUST_USE;

/*
 * Finds a range of lines (as text_scan does) in a file of any size, reading it
 * in small pieces and no further than needed. What is read must be UTF-8.
 * ERR_UTF8; ERR_LIMIT for a range of more than most bytes or a file that goes
 * on behind byte limit; -errno.
 */
int load_find_lines(int fd, struct line_range range, uint64_t most, uint64_t limit,
	struct text_slice *out) MUST_USE;

#endif
