/* What is in a folder, two levels deep, as the editor shows it. */
#ifndef FILE_OUTLINE_H
#define FILE_OUTLINE_H

#include "file/path.h"

/*
 * Appends the entries of the folder and of the folders in it, by their full paths and
 * in the order of their bytes, folders with a slash behind; symlinks count as what they
 * lead to. Names that start with a dot are left out, and counted in the first level. A
 * list of more than EDIT_SHOWN_CHARS is cut, and says so. -errno, -ENOMEM.
 */
int outline_write(const struct file_path *folder, struct buf *out) MUST_USE;

#endif
