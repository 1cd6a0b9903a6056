/*
 * The watched folders: found by watch, by place, and as a tree that gives the path of
 * each folder, also after folders above it were renamed. For fs/watch.
 */
#ifndef FS_WATCH_TREE_H
#define FS_WATCH_TREE_H

#include "base/buf.h"
#include "base/list.h"

#include <sys/types.h>

enum { WATCH_LOST = -1, WATCH_HASH = 4096 };

struct watch_folder {
	struct watch_folder *parent; /* NULL: the top */
	struct list children, node;
	struct watch_folder *same_wd, *same_name; /* next entries in the hash tables */
	int wd; /* WATCH_LOST: exists, but was not found at its place */
	unsigned tried;
	dev_t dev;
	ino_t ino;
	char name[];
};

struct watch_tree {
	struct watch_folder *top;
	size_t count, lost;
	struct watch_folder *by_wd[WATCH_HASH], *by_name[WATCH_HASH];
};

/* The folder of a watch, or of a name in another folder; NULL if there is none. */
struct watch_folder *watch_tree_find_wd(const struct watch_tree *t, int wd);
struct watch_folder *watch_tree_find_child(
	const struct watch_tree *t, const struct watch_folder *parent, const char *name);

/* Adds an empty folder; its place must be free. NULL: out of memory. */
struct watch_folder *watch_tree_add(struct watch_tree *t, struct watch_folder *parent,
	const char *name, int wd) MUST_USE;
/*
 * Moves the folder with all below it to another place, which must be free and not
 * inside of the folder. Returns the folder, which may be another object now; NULL: out
 * of memory, and nothing has moved.
 */
struct watch_folder *watch_tree_move(struct watch_tree *t, struct watch_folder *f,
	struct watch_folder *parent, const char *name) MUST_USE;

/*
 * Removes a folder without children. To remove a tree, remove watch_tree_find_leaf until
 * it is f.
 */
void watch_tree_drop(struct watch_tree *t, struct watch_folder *f);
struct watch_folder *watch_tree_find_leaf(struct watch_folder *f);

/* Iterates over f and all below it, f first, in no order; NULL at the end. */
struct watch_folder *watch_tree_next(
	const struct watch_folder *f, struct watch_folder *at);

/* Whether f is inner itself or above it. */
bool watch_tree_contains(const struct watch_folder *f, const struct watch_folder *inner);

/* Appends the path from the top, without a slash at its ends; nothing for the top. */
void watch_tree_put_path(const struct watch_folder *f, struct buf *out);

#endif
