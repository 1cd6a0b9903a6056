/*
 * The write action on plain files.
 *
 * Runs with the rights of the calling process, as file_read does. SIGXFSZ must
 * be ignored, so that a file size limit is an error and no death.
 */
#ifndef FILE_WRITE_H
#define FILE_WRITE_H

#include "file/path.h"
#include "file/textfile.h"

#include <sys/types.h>

struct write_req {
	const struct file_path *path;
	struct line_range range; /* start 0 and end -1 replaces everything */
	struct str content;      /* may hold NUL */
	uid_t uid;               /* owner of what is new, folders too */
	gid_t gid;
};

enum write_how {
	WRITE_NEW,      /* the file was not there before */
	WRITE_REPLACED, /* a new inode under the old name: old text or new, always */
	/*
	 * The old inode was overwritten, since it has several names, extended
	 * attributes or an owner that cannot be given, is a mount point or stands
	 * in a folder where nothing can be made. A crash or a read in between may
	 * meet a mixture of old and new.
	 */
	WRITE_IN_PLACE,
};

/*
 * Writes content and one LF. An old file keeps its lines outside of the range
 * (text_splice tells which) byte for byte, its mode and its owner; it must be
 * UTF-8 throughout. A new file has mode 0664 and the given owner, and missing
 * folders are made. A symlink stays and what it leads to is written.
 *
 * 0 with *how, or an error with its words, those of the wire contract, in why.
 * The old file is then as it was; the words say so when that may be untrue, or
 * when a new file is complete but could not be given to its owner.
 */
int file_write(const struct write_req *q, enum write_how *how, struct buf *why) MUST_USE;

#endif
