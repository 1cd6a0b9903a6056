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

int root_clean(struct str path, char *out, size_t room)
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
static int step(int dir, const char *name, uint64_t *made)
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
static int walk(int dir, struct str path, uint64_t *made)
{
	int at = fd_dup(dir, 0);

	while (at >= 0 && path.n) {
		struct str part = str_cut(&path, '/');
		char name[NAME_MAX + 1];
		int below = -ENAMETOOLONG;

		if (part.n < sizeof(name)) {
			memcpy(name, part.p, part.n);
			name[part.n] = '\0';
			below = step(at, name, made);
		}
		fd_close(&at);
		at = below;
	}
	return at;
}

static int open_below(int dir, struct str path, uint64_t *made)
{
	char whole[FILE_PATH_MAX];
	int fd = -ENOSYS;

	if (path.n >= sizeof(whole))
		return -ENAMETOOLONG;
	memcpy(whole, path.p, path.n);
	whole[path.n] = '\0';
	/* A single part needs only one step of walk. */
	if (path.n && str_find_byte(path, '/') < path.n)
		fd = fd_open_beneath(dir, whole, O_PATH | O_DIRECTORY);
	return fd >= 0 ? fd : walk(dir, path, made);
}

int root_open(int dir, const char *path, uint64_t *made)
{
	return open_below(dir, str_c(path), made);
}

int root_open_parent(int dir, const char *path, uint64_t *made, const char **base)
{
	const char *slash = strrchr(path, '/');
	struct str folder = {path, slash ? (size_t)(slash - path) : 0};
	int fd = open_below(dir, folder, made);

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

bool root_is_made_up(int fd)
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
	bool again;      /* a folder was moved to the top: list it again */
};

static int push(struct removal *m, int dir, const char *name)
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

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/*
 * Each level needs a descriptor: folders below the limit are moved to the top and
 * emptied there.
 */
static int lift(struct removal *m, int at, const char *name)
{
	char to[32];

	snprintf(to, sizeof(to), ".od-deep-%u", m->lifted);
	if (renameat(at, name, dirfd(m->levels[0].list), to) < 0)
		return errno == EXDEV ? ERR_DEPTH : -errno;
	m->lifted++;
	m->again = true;
	return 0;
}

/* Removes one name from the deepest level: 0, 1 if the level is empty, -errno. */
static int remove_one(struct removal *m)
{
	struct level *l = &m->levels[m->depth - 1];
	struct dirent *e;
	int at = dirfd(l->list);

	do {
		errno = 0;
		e = readdir(l->list);
	} while (e && is_dots(e->d_name));
	if (!e && !errno && m->depth == 1 && m->again) {
		m->again = false;
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
		return lift(m, at, e->d_name);
	/* An empty folder that is not readable can still be removed. */
	if (push(m, at, e->d_name) < 0 && unlinkat(at, e->d_name, AT_REMOVEDIR) < 0)
		return -errno;
	return 0;
}

/* Removes the deepest level, which is empty. */
static int pop(struct removal *m, int dir)
{
	struct level *l = &m->levels[--m->depth];
	int above = m->depth ? dirfd(m->levels[m->depth - 1].list) : dir;

	closedir(l->list);
	return unlinkat(above, l->name, AT_REMOVEDIR) < 0 ? -errno : 0;
}

static struct level *levels_new(void)
{
	return calloc(ARCHIVE_DEPTH_MAX, sizeof(struct level));
}

static int remove_tree(int dir, const char *name)
{
	struct removal m = {.levels = levels_new()};
	int r = m.levels ? push(&m, dir, name) : -ENOMEM;

	while (m.depth && r >= 0) {
		r = remove_one(&m);
		if (r == 1)
			r = pop(&m, dir);
	}
	while (m.depth)
		closedir(m.levels[--m.depth].list);
	free(m.levels);
	return r;
}

int root_remove(int dir, const char *name)
{
	/* "." and ".." name folders outside of this one or in use. */
	if (is_dots(name))
		return -EINVAL;
	if (unlinkat(dir, name, 0) == 0)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -errno;
	return remove_tree(dir, name);
}
