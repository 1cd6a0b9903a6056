/* Text files, read as Python reads them. */
#ifndef SKILL_TEXT_H
#define SKILL_TEXT_H

#include "base/buf.h"

/*
 * Appends the text of a regular file with LF as line ends. ignore: bytes that are not
 * UTF-8 are dropped; else they are ERR_UTF8. Returns 0; ERR_TYPE: not a regular file;
 * ERR_LIMIT: larger than SKILL_FILE_MAX; -errno.
 */
int skill_read_text(int dir, const char *path, bool ignore, struct buf *out) MUST_USE;

/* Removes the first line from *rest and returns it with its LF. */
struct str skill_cut_line(struct str *rest);

/*
 * Like skill_cut_line, with the line ends of Python's splitlines: also VT, FF, FS, GS,
 * RS, NEL, U+2028 and U+2029.
 */
struct str skill_cut_split_line(struct str *rest);

#endif
