/* Everything below a folder, one by one, with little memory: for sending it. */
#ifndef FILE_TREE_H
#define FILE_TREE_H

#include "base/buf.h"

#include <sys/stat.h>

struct tree_level;

struct tree_item {
	int dir;          /* the folder it is in; open until the next call */
	const char *name; /* in that folder */
	struct str path;  /* from the top, without a slash in front */
	struct stat st;   /* not followed */
	int err;          /* 0; or why it, or what is below it, cannot be had: -errno */
};

/* Made by tree_walk_begin; a descriptor and some memory for each level, up to the end. */
struct tree_walk {
	struct tree_level *levels;
	unsigned depth;
	struct buf path;
	dev_t dev;
	int entered; /* 0; 1: the last item is a folder, to be entered; -errno */
	char name[256];
};

/*
 * dir is the fd of a folder, which stays the caller's. Folders come before what is in
 * them. /proc and /sys are not entered from above, symbolic links never. 0 or -errno.
 */
int tree_walk_begin(struct tree_walk *w, int dir) MUST_USE;
/*
 * 1 with the next item, which is borrowed until the next call; 0 at the end; -ENOMEM. An
 * item with an err is no end.
 */
int tree_walk_next(struct tree_walk *w, struct tree_item *item) MUST_USE;
/* Frees it, at its end or before; once begin has succeeded. */
void tree_walk_end(struct tree_walk *w);

/* All of a walk: each item goes to fn, until that returns an error. 0 or that. */
typedef int tree_fn(void *arg, const struct tree_item *item);
int tree_each(int dir, tree_fn *fn, void *arg) MUST_USE;

#endif
