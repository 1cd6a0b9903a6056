/* Text as the skills see it, which is as Python sees it. */
#ifndef SKILL_TEXT_H
#define SKILL_TEXT_H

#include "base/buf.h"

/*
 * Appends the text of a regular file, line ends as LF. ignore: bytes that are not
 * UTF-8 are left out; without it they are ERR_UTF8. ERR_TYPE: no regular file;
 * ERR_LIMIT: above SKILL_FILE_MAX; -errno.
 */
int skill_text(int dir, const char *path, bool ignore, struct buf *out) MUST_USE;

/* Cuts the first line off *rest, its LF included. */
struct str skill_line(struct str *rest);

/*
 * The same where lines also end as in Python's splitlines: at VT, FF, FS, GS, RS, NEL,
 * U+2028 and U+2029.
 */
struct str skill_split(struct str *rest);

#endif
