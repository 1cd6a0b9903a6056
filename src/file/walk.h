/*
 * Walks a tree of folders by descriptors: no symlink is followed, and nothing that is
 * renamed meanwhile leads out of the tree. Folders are read when they are entered, so
 * that one is held in memory for each level and no more.
 *
 * Runs with the rights of the calling process and may wait for a slow disk.
 */
#ifndef FILE_WALK_H
#define FILE_WALK_H

#include "file/ignore.h"

#include <sys/types.h>

enum walk_order {
	WALK_SORTED, /* paths in the order of their bytes */
	WALK_FOUND,  /* as the folder has them, files before folders */
};

struct walk_conf {
	enum walk_order order;
	bool hidden; /* also what begins with a dot */
	bool ignore; /* not what .gitignore and .git/info/exclude leave out, nor .git */
	unsigned depth; /* levels below the top; 0 for WALK_DEPTH_MAX, which is most */
};

struct walk_level;

struct walk {
	struct walk_conf conf;
	struct buf path;   /* absolute; of what was found last */
	size_t top_n;      /* of the path, what leads to the top and a slash */
	struct buf levels; /* of struct walk_level */
	struct buf names;  /* of the levels, each with a NUL */
	struct buf items;  /* of struct walk_item */
	struct ignore ignore;
	bool enter;          /* what was found last is a folder to go into */
	uint64_t unreadable; /* folders that could not be read */
	uint64_t too_deep;   /* folders below the last level, or with too long a path */
};

struct walk_entry {
	struct str path; /* from the top, without a slash in front; until the next call */
	const char *name; /* its last part */
	int dir;          /* the folder that it is in; belongs to the walk */
	uint8_t type;     /* as in struct dirent; never DT_UNKNOWN */
};

/* top is absolute, and may be a symlink. -errno. walk_free accepts what open has left. */
int walk_open(struct walk *w, const char *top, const struct walk_conf *conf) MUST_USE;
void walk_free(struct walk *w);
/* The same for a folder that is open (O_RDONLY), which it takes. fd < 0: returns that. */
int walk_open_fd(
	struct walk *w, int fd, const char *top, const struct walk_conf *conf) MUST_USE;

/*
 * The next entry; a folder comes before what is in it. 0; 1 at the end; -ENOMEM, or
 * ERR_LIMIT for a folder with more than WALK_NAMES_MAX bytes of names.
 */
int walk_next(struct walk *w, struct walk_entry *entry) MUST_USE;

/* Does not go into the folder that was found last. */
void walk_skip(struct walk *w);

/*
 * Adds the rules for what is in a folder, as a walk from a top would find them. path is
 * absolute, with a slash at the end of the top, of the folder (path_n bytes), and a NUL.
 * *out: the folder itself is left out. -ENOMEM, ERR_LIMIT.
 */
int walk_rules(
	struct ignore *g, char *path, size_t top_n, size_t path_n, bool *out) MUST_USE;

#endif
