/*
 * The read action on plain files: text, or a data URL for images, PDF and video.
 *
 * Runs with the rights of the calling process and may wait for a slow disk. A caller
 * that must not block, or that has more rights than the user, calls it in a child
 * process.
 */
#ifndef FS_READ_H
#define FS_READ_H

#include "fs/path.h"
#include "fs/textfile.h"

/*
 * Appends the file's content: the lines of range (see text_scan_init; start 0 and end
 * -1 is all) with LF as line ends, or images, PDF and video as a whole as a data URL.
 * cwd is only used in the error message.
 *
 * The text must be UTF-8 throughout; of a file above FILE_READ_MAX only the lines up to
 * the range are checked. A buffer of FILE_CONTENT_MAX is large enough for every result.
 * 0, or an error with the wire contract's message in why; content is then undefined:
 * -ENOENT, ERR_TYPE (binary, or no regular file), ERR_UTF8, ERR_LIMIT (the range has
 * more than FILE_READ_MAX bytes), -errno.
 */
int file_read(const struct file_path *p, struct str cwd, struct line_range range,
	struct buf *content, struct buf *why) MUST_USE;

#endif
