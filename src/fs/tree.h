/*
 * Lists everything below a folder for an archive, one item at a time, with little
 * memory.
 */
#ifndef FS_TREE_H
#define FS_TREE_H

#include "base/buf.h"

#include <sys/stat.h>

struct tree_item {
	int dir;          /* its folder; open until the next call */
	const char *name; /* in that folder */
	struct str path;  /* from the top, without a slash in front */
	struct stat st;   /* as of lstat(2) */
	int err;          /* 0, or why it or the files below it cannot be read: -errno */
};

/*
 * Calls fn for each item below dir, the fd of a folder, which the caller keeps, until
 * fn returns an error. Items are borrowed. A folder comes before its entries. /proc and
 * /sys are not entered from above, and symbolic links never. An item with an err does
 * not end the walk. 0; the result of fn; -ENOMEM, or -errno of dir itself.
 */
typedef int tree_fn(void *arg, const struct tree_item *item);
int tree_for_each(int dir, tree_fn *fn, void *arg) MUST_USE;

#endif
