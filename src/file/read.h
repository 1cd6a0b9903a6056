/*
 * The read action on plain files: text, or a data URL for what is shown.
 *
 * Runs with the rights of the calling process and may wait for a slow disk;
 * who shall not wait or has too many rights calls it in a child.
 */
#ifndef FILE_READ_H
#define FILE_READ_H

#include "file/path.h"
#include "file/textfile.h"

/*
 * Appends to content what the file holds: the lines of range (text_scan_init
 * tells which; start 0 and end -1 is all) with LF as their ends, or for images,
 * PDF and video the whole as a data URL. cwd only stands in an error's words.
 *
 * The text must be UTF-8 throughout; of a file above FILE_READ_MAX only the
 * lines up to the range are looked at. A content of FILE_CONTENT_MAX takes
 * every answer. 0, or an error with its words, those of the wire contract, in
 * why and nothing of use in content: -ENOENT, ERR_TYPE (binary, or no regular
 * file), ERR_UTF8, ERR_LIMIT (more than FILE_READ_MAX asked for), -errno.
 */
int file_read(const struct file_path *p, struct str cwd, struct line_range range,
	struct buf *content, struct buf *why) MUST_USE;

#endif
