/*
 * The write action on plain files.
 *
 * Runs in a job, as file/replace.h tells.
 */
#ifndef FILE_WRITE_H
#define FILE_WRITE_H

#include "file/replace.h"
#include "file/textfile.h"

struct write_req {
	const struct file_path *path;
	struct line_range range; /* start 0 and end -1 replaces everything */
	struct str content;      /* may hold NUL */
};

/*
 * Writes content and one LF. An old file keeps its lines outside of the range
 * (text_splice tells which) byte for byte, its mode and its owner; it must be
 * UTF-8 throughout. A new file has mode 0664, and missing folders are made. A
 * symlink stays and what it leads to is written.
 *
 * 0 with *how, or an error with its words, those of the wire contract, in why.
 * The old file is then as it was; the words say so when that may be untrue, or
 * when a new file is complete but could not be given its mode.
 */
int file_write(const struct write_req *q, enum put_how *how, struct buf *why) MUST_USE;

#endif
