/* Everything below a folder, one by one, with little memory: for sending it. */
#ifndef FILE_TREE_H
#define FILE_TREE_H

#include "base/buf.h"

#include <sys/stat.h>

struct tree_item {
	int dir;          /* the folder it is in; open until the next call */
	const char *name; /* in that folder */
	struct str path;  /* from the top, without a slash in front */
	struct stat st;   /* not followed */
	int err;          /* 0; or why it, or what is below it, cannot be had: -errno */
};

/*
 * Everything below dir, the fd of a folder, which stays the caller's: each item goes to
 * fn, borrowed, until that returns an error. Folders come before what is in them. /proc
 * and /sys are not entered from above, symbolic links never. An item with an err is no
 * end. 0; what fn returned; -ENOMEM, or -errno of dir itself.
 */
typedef int tree_fn(void *arg, const struct tree_item *item);
int tree_each(int dir, tree_fn *fn, void *arg) MUST_USE;

#endif
