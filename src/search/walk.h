/*
 * Walks a tree of folders by descriptors: no symlink is followed, and no concurrent
 * rename leads out of the tree. A folder is read when it is entered, so that memory
 * holds one folder per level.
 *
 * Runs with the rights of the calling process and may wait for a slow disk.
 */
#ifndef SEARCH_WALK_H
#define SEARCH_WALK_H

#include "search/ignore.h"

#include <sys/types.h>

/* Bytes of the names of all open folders: two million in one. */
enum { WALK_NAMES_MAX = 64 << 20 };

enum walk_order {
	WALK_SORTED, /* paths in the order of their bytes */
	WALK_FOUND,  /* unsorted, files before folders */
};

struct walk_conf {
	enum walk_order order;
	bool hidden;    /* also names that begin with a dot */
	bool ignore;    /* omit .git and what .gitignore or .git/info/exclude exclude */
	unsigned depth; /* levels below the top; 0 for WALK_DEPTH_MAX, the maximum */
};

struct walk_level;

struct walk {
	struct walk_conf conf;
	struct buf path;   /* absolute; of the last entry */
	size_t top_n;      /* length of the path up to the top and a slash */
	struct buf levels; /* of struct walk_level */
	struct buf names;  /* of the levels, each with a NUL */
	struct buf items;  /* of struct walk_item */
	struct ignore ignore;
	bool enter;          /* the last entry is a folder to enter */
	uint64_t unreadable; /* folders that could not be read */
	uint64_t too_deep;   /* folders below the last level, or with too long a path */
};

struct walk_entry {
	struct str path;  /* relative to the top; until the next call */
	const char *name; /* its last part */
	int dir;          /* its folder; owned by the walk */
	uint8_t type;     /* as in struct dirent; never DT_UNKNOWN */
};

/*
 * top is absolute, and may be a symlink. -errno. walk_free accepts the object after a
 * failed open.
 */
int walk_open(struct walk *w, const char *top, const struct walk_conf *conf) MUST_USE;
void walk_free(struct walk *w);
/*
 * Like walk_open for an open folder (O_RDONLY), whose fd it owns from now on. A
 * negative fd is returned unchanged.
 */
int walk_open_fd(
	struct walk *w, int fd, const char *top, const struct walk_conf *conf) MUST_USE;

/*
 * The next entry; a folder comes before its entries. 0; 1 at the end; -ENOMEM, or
 * ERR_LIMIT for a folder with more than WALK_NAMES_MAX bytes of names.
 */
int walk_next(struct walk *w, struct walk_entry *entry) MUST_USE;

/* Does not enter the folder that was the last entry. */
void walk_skip(struct walk *w);

/*
 * Adds the ignore rules for the entries of a folder, as a walk from a top applies them.
 * path is absolute and ends with a NUL. The first top_n bytes are the top and a slash,
 * the first path_n bytes are the folder and a slash. *out: the folder itself is
 * ignored. -ENOMEM, ERR_LIMIT.
 */
int walk_add_rules(
	struct ignore *g, char *path, size_t top_n, size_t path_n, bool *out) MUST_USE;

#endif
