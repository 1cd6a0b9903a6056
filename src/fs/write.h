/*
 * The write action on plain files.
 *
 * Runs in a job, see fs/put.h.
 */
#ifndef FS_WRITE_H
#define FS_WRITE_H

#include "fs/replace.h"
#include "fs/textfile.h"

struct write_req {
	const struct file_path *path;
	struct line_range range; /* start 0 and end -1 replaces the whole file */
	struct str content;      /* may hold NUL */
};

/*
 * Writes content and one LF. An existing file keeps its lines outside of the range (see
 * text_find_splice) byte for byte, its mode and its owner; it must be UTF-8 throughout. A
 * new file has mode 0664, and missing folders are created. If the path is a symlink,
 * its target is written.
 *
 * 0 with *how, or an error with the wire contract's message in why. After an error the
 * file is unchanged, unless the message reports that it may be damaged, or that a new
 * file is complete but could not be given its mode.
 */
int file_write(const struct write_req *q, enum put_how *how, struct buf *why) MUST_USE;

#endif
