#include "fs/tree.h"

#include "fs/root.h"
#include "limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

struct tree_level {
	DIR *list;
	size_t path_n; /* of the folder, with its slash */
	dev_t dev;
};

/* A stack of levels, each with a descriptor and some memory. */
struct tree_walk {
	struct tree_level *levels;
	unsigned depth;
	struct buf path;
	int entered; /* 0; 1: the last item is a folder, to be entered; -errno */
	char name[256];
};

static int tree_walk_push(struct tree_walk *w, int dir, const char *name)
{
	struct tree_level *l = &w->levels[w->depth];
	struct stat st;
	int r;

	if (w->depth == ARCHIVE_DEPTH_MAX)
		return ERR_DEPTH;
	r = root_list(dir, name, &l->list);
	if (r)
		return r;
	if (fstat(dirfd(l->list), &st) < 0)
		r = -errno;
	else if (w->depth && st.st_dev != l[-1].dev && root_is_synthetic(dirfd(l->list)))
		r = -EXDEV;
	if (r) {
		closedir(l->list);
		return r;
	}
	l->dev = st.st_dev;
	l->path_n = w->path.n;
	w->depth++;
	return 0;
}

static void tree_walk_pop(struct tree_walk *w)
{
	struct tree_level *l = &w->levels[--w->depth];

	if (l->list)
		closedir(l->list);
	l->list = NULL;
}

static struct tree_level *tree_walk_levels_new(void)
{
	return calloc(ARCHIVE_DEPTH_MAX, sizeof(struct tree_level));
}

/* Ends a walk, finished or not, for which begin succeeded. */
static void tree_walk_end(struct tree_walk *w)
{
	while (w->levels && w->depth)
		tree_walk_pop(w);
	free(w->levels);
	w->levels = NULL;
	buf_free(&w->path);
}

static int tree_walk_begin(struct tree_walk *w, int dir)
{
	int r;

	*w = (struct tree_walk){.depth = 0};
	buf_init(&w->path, ARCHIVE_DEPTH_MAX * (sizeof(w->name) + 1) + 1);
	w->levels = tree_walk_levels_new();
	if (!w->levels)
		return -ENOMEM;
	r = tree_walk_push(w, dir, ".");
	if (r)
		tree_walk_end(w);
	return r;
}

/* Finds the next name in the deepest folder that has one: 1; 0 at the end; -errno. */
static int tree_walk_next_name(struct tree_walk *w)
{
	while (w->depth) {
		struct tree_level *l = &w->levels[w->depth - 1];
		struct dirent *e;

		errno = 0;
		e = readdir(l->list);
		w->path.n = l->path_n;
		/*
		 * An error is reported: the folder's other entries must not be omitted
		 * silently.
		 */
		if (!e && errno)
			return -errno;
		if (!e) {
			tree_walk_pop(w);
		} else if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) {
			memcpy(w->name, e->d_name, strlen(e->d_name) + 1);
			buf_puts(&w->path, w->name);
			return w->path.err ? -ENOMEM : 1;
		}
	}
	return 0;
}

static void tree_walk_enter(struct tree_walk *w)
{
	buf_putc(&w->path, '/');
	w->entered = tree_walk_push(w, dirfd(w->levels[w->depth - 1].list), w->name);
}

/* 1 with the next item; 0 at the end; -ENOMEM or -errno. */
static int tree_walk_next(struct tree_walk *w, struct tree_item *item)
{
	struct tree_item found = {.name = w->name};
	int r = 1;

	if (w->entered == 1) {
		tree_walk_enter(w);
		/*
		 * A folder that cannot be entered is reported a second time, with the
		 * reason.
		 */
		found.err = w->entered;
	}
	w->entered = 0;
	if (!found.err)
		r = tree_walk_next_name(w);
	if (r != 1)
		return r;
	found.dir = dirfd(w->levels[w->depth - 1].list);
	found.path = buf_view(&w->path);
	if (fstatat(found.dir, w->name, &found.st, AT_SYMLINK_NOFOLLOW) < 0 && !found.err)
		found.err = -errno;
	if (!found.err && S_ISDIR(found.st.st_mode))
		w->entered = 1;
	*item = found;
	return 1;
}

int tree_for_each(int dir, tree_fn *fn, void *arg)
{
	struct tree_walk w;
	struct tree_item i;
	int r = tree_walk_begin(&w, dir);

	if (r)
		return r;
	while ((r = tree_walk_next(&w, &i)) == 1) {
		r = fn(arg, &i);
		if (r)
			break;
	}
	tree_walk_end(&w);
	return r;
}
