#include "fs/root.h"

#include "base/fd.h"
#include "limits.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { MADE_MODE = 0755 };

int root_normalize(struct str path, char *out, size_t room)
{
	size_t n = 0;

	if (str_starts(path, STR("/")) || str_find_byte(path, '\0') < path.n)
		return ERR_SYNTAX;
	while (path.n) {
		struct str part = str_cut(&path, '/');

		if (part.n == 0 || str_eq(part, STR(".")))
			continue;
		if (str_eq(part, STR("..")))
			return ERR_SYNTAX;
		if (part.n + (n != 0) + 1 > room - n)
			return -ENAMETOOLONG;
		if (n)
			out[n++] = '/';
		memcpy(out + n, part.p, part.n);
		n += part.n;
	}
	out[n] = '\0';
	return n == 0;
}

/* Opens the folder name, a single part, in dir. */
static int root_open_part(int dir, const char *name, uint64_t *made)
{
	const int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW;
	int fd = fd_openat(dir, name, flags, 0);

	if (fd != -ENOENT || !made)
		return fd == -ELOOP ? -ENOTDIR : fd;
	if (mkdirat(dir, name, MADE_MODE) == 0)
		++*made;
	else if (errno != EEXIST)
		return -errno;
	fd = fd_openat(dir, name, flags, 0);
	return fd == -ELOOP ? -ENOTDIR : fd;
}

/* Opens part by part, for systems without openat2 and to create missing folders. */
static int root_open_parts(int dir, struct str path, uint64_t *made)
{
	int at = fd_dup(dir, 0);

	while (at >= 0 && path.n) {
		struct str part = str_cut(&path, '/');
		char name[NAME_MAX + 1];
		int below = -ENAMETOOLONG;

		if (part.n < sizeof(name)) {
			memcpy(name, part.p, part.n);
			name[part.n] = '\0';
			below = root_open_part(at, name, made);
		}
		fd_close(&at);
		at = below;
	}
	return at;
}

static int root_open_below(int dir, struct str path, uint64_t *made)
{
	char whole[FILE_PATH_MAX];
	int fd = -ENOSYS;

	if (path.n >= sizeof(whole))
		return -ENAMETOOLONG;
	memcpy(whole, path.p, path.n);
	whole[path.n] = '\0';
	/* A single part needs only one step of root_open_parts. */
	if (path.n && str_find_byte(path, '/') < path.n)
		fd = fd_open_beneath(dir, whole, O_PATH | O_DIRECTORY);
	return fd >= 0 ? fd : root_open_parts(dir, path, made);
}

int root_open(int dir, const char *path, uint64_t *made)
{
	return root_open_below(dir, str_c(path), made);
}

int root_open_parent(int dir, const char *path, uint64_t *made, const char **base)
{
	const char *slash = strrchr(path, '/');
	struct str folder = {path, slash ? (size_t)(slash - path) : 0};
	int fd = root_open_below(dir, folder, made);

	if (fd >= 0)
		*base = slash ? slash + 1 : path;
	return fd;
}

int root_list(int dir, const char *name, DIR **list)
{
	int fd = fd_openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	DIR *made;

	if (fd < 0)
		return fd;
	made = fdopendir(fd);
	if (!made) {
		fd_close(&fd);
		return -ENOMEM;
	}
	*list = made;
	return 0;
}

bool root_is_synthetic(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 &&
		(fs.f_type == PROC_SUPER_MAGIC || fs.f_type == SYSFS_MAGIC ||
			fs.f_type == DEBUGFS_MAGIC || fs.f_type == TRACEFS_MAGIC);
}

/* A folder that is being emptied. The level before it is its parent. */
struct level {
	DIR *list;
	char name[NAME_MAX + 1];
};

struct removal {
	struct level *levels;
	unsigned depth;
	unsigned lifted; /* folders from below the depth limit, moved to the top */
	bool rescan;     /* a folder was moved to the top: list it again */
};

static int root_push_level(struct removal *m, int dir, const char *name)
{
	struct level *l = &m->levels[m->depth];
	DIR *list = NULL;
	int r = root_list(dir, name, &list);

	if (r)
		return r;
	l->list = list;
	memcpy(l->name, name, strlen(name) + 1);
	m->depth++;
	return 0;
}

static bool root_is_dot_entry(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/*
 * Each level needs a descriptor: folders below the limit are moved to the top and
 * emptied there.
 */
static int root_move_to_top(struct removal *m, int at, const char *name)
{
	char to[32];

	snprintf(to, sizeof(to), ".od-deep-%u", m->lifted);
	if (renameat(at, name, dirfd(m->levels[0].list), to) < 0)
		return errno == EXDEV ? ERR_DEPTH : -errno;
	m->lifted++;
	m->rescan = true;
	return 0;
}

/* Removes one name from the deepest level: 0, 1 if the level is empty, -errno. */
static int root_remove_entry(struct removal *m)
{
	struct level *l = &m->levels[m->depth - 1];
	struct dirent *e;
	int at = dirfd(l->list);

	do {
		errno = 0;
		e = readdir(l->list);
	} while (e && root_is_dot_entry(e->d_name));
	if (!e && !errno && m->depth == 1 && m->rescan) {
		m->rescan = false;
		rewinddir(l->list);
		return 0;
	}
	if (!e)
		return errno ? -errno : 1;
	if (unlinkat(at, e->d_name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -errno;
	if (m->depth == ARCHIVE_DEPTH_MAX)
		return root_move_to_top(m, at, e->d_name);
	/* An empty folder that is not readable can still be removed. */
	if (root_push_level(m, at, e->d_name) < 0 &&
		unlinkat(at, e->d_name, AT_REMOVEDIR) < 0)
		return -errno;
	return 0;
}

/* Removes the deepest level, which is empty. */
static int root_pop_level(struct removal *m, int dir)
{
	struct level *l = &m->levels[--m->depth];
	int above = m->depth ? dirfd(m->levels[m->depth - 1].list) : dir;

	closedir(l->list);
	return unlinkat(above, l->name, AT_REMOVEDIR) < 0 ? -errno : 0;
}

static struct level *root_levels_new(void)
{
	return calloc(ARCHIVE_DEPTH_MAX, sizeof(struct level));
}

static int root_remove_tree(int dir, const char *name)
{
	struct removal m = {.levels = root_levels_new()};
	int r = m.levels ? root_push_level(&m, dir, name) : -ENOMEM;

	while (m.depth && r >= 0) {
		r = root_remove_entry(&m);
		if (r == 1)
			r = root_pop_level(&m, dir);
	}
	while (m.depth)
		closedir(m.levels[--m.depth].list);
	free(m.levels);
	return r;
}

int root_remove(int dir, const char *name)
{
	/* "." and ".." name folders outside of this one or in use. */
	if (root_is_dot_entry(name))
		return -EINVAL;
	if (unlinkat(dir, name, 0) == 0)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -errno;
	return root_remove_tree(dir, name);
}
