/* Lists the entries of a folder, two levels deep, as the editor shows them. */
#ifndef FS_OUTLINE_H
#define FS_OUTLINE_H

#include "fs/path.h"

/*
 * Appends the entries of the folder and of its subfolders by their full paths, sorted
 * by bytes, folders with a slash at the end. A symlink counts as its target. Names that
 * start with a dot are omitted; those of the first level are counted. A list of more
 * than EDIT_SHOWN_CHARS is cut, with a note. -errno, -ENOMEM.
 */
int outline_write(const struct file_path *folder, struct buf *out) MUST_USE;

#endif
