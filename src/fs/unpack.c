#include "fs/unpack.h"

#include "base/fd.h"
#include "base/hash.h"
#include "fs/put.h"
#include "fs/root.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MODE_BITS = 0777, SALT = 8 };

/* Removes the stage after a kill. If this fails, the user has to remove it. */
static void unpack_remove_stage(int dest, const char *name, const void *arg)
{
	(void)arg;
	(void)!root_remove(dest, name);
}

int unpack_begin(struct unpack *u, int dest)
{
	uint8_t salt[SALT];
	char hex[2 * SALT + 1];
	int r = random_bytes(salt, sizeof(salt));

	*u = (struct unpack){.dest = dest,
		.stage = -1,
		.parent = -1,
		.entries_max = ARCHIVE_ENTRIES_MAX};
	buf_init(&u->where, FILE_WORDS_MAX);
	if (r)
		return r;
	/* The modes of an archive are used unchanged. */
	umask(0);
	hex_encode(salt, sizeof(salt), hex);
	snprintf(u->stage_name, sizeof(u->stage_name), ".od-unpack-%s", hex);
	cleanup_guard_begin(&u->broom, dest, u->stage_name, unpack_remove_stage, NULL);
	r = mkdirat(dest, u->stage_name, 0700) < 0 ? -errno : 0;
	if (!r)
		u->stage = root_open(dest, u->stage_name, NULL);
	if (u->stage >= 0)
		return 0;
	if (!r)
		unlinkat(dest, u->stage_name, AT_REMOVEDIR);
	cleanup_guard_end(&u->broom, true);
	return r ? r : u->stage;
}

void unpack_end(struct unpack *u)
{
	bool done = u->stage < 0 || root_remove(u->dest, u->stage_name) == 0;

	fd_close(&u->parent);
	fd_close(&u->stage);
	cleanup_guard_end(&u->broom, done);
	buf_free(&u->where);
}

/* The folder of the entry, created if missing; *base is the entry's name in it. */
static int unpack_open_parent(struct unpack *u, char *path, const char **base)
{
	const char *slash = strrchr(path, '/');
	size_t n = slash ? (size_t)(slash - path) : 0;
	int fd;

	*base = slash ? slash + 1 : path;
	if (u->parent >= 0 && strlen(u->parent_path) == n &&
		memcmp(u->parent_path, path, n) == 0)
		return u->parent;
	/*
	 * Folders above an entry count as entries: a single name can create 2,000 of
	 * them.
	 */
	fd = root_open_parent(u->stage, path, &u->entries, base);
	if (fd < 0)
		return fd;
	fd_close(&u->parent);
	u->parent = fd;
	memcpy(u->parent_path, path, n);
	u->parent_path[n] = '\0';
	return fd;
}

/*
 * Like unpack_open_parent, for a name in the archive; -EISDIR for the destination
 * itself.
 */
static int unpack_open_name(
	struct unpack *u, struct str name, char path[FILE_PATH_MAX], const char **base)
{
	int r;

	if (++u->entries > u->entries_max)
		return ERR_LIMIT;
	r = root_normalize(name, path, FILE_PATH_MAX);
	if (r)
		return r < 0 ? r : -EISDIR;
	return unpack_open_parent(u, path, base);
}

int unpack_dir(struct unpack *u, struct str name, mode_t mode)
{
	char path[FILE_PATH_MAX];
	const char *base;
	struct stat st;
	int dir = unpack_open_name(u, name, path, &base);

	/* "./" is the first entry of many archives. */
	if (dir == -EISDIR)
		return 0;
	if (dir < 0)
		return dir;
	/* The owner needs access to fill the folder and to remove it. */
	mode = (mode & MODE_BITS) | 0700;
	if (mkdirat(dir, base, mode) == 0)
		return 0;
	if (errno != EEXIST)
		return -errno;
	/* The folder was created for an entry in it that came earlier. */
	if (fstatat(dir, base, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	return fchmodat(dir, base, mode, 0) < 0 ? -errno : 0;
}

int unpack_file(struct unpack *u, struct str name, mode_t mode)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
	char path[FILE_PATH_MAX];
	const char *base;
	int dir = unpack_open_name(u, name, path, &base);
	int fd;

	if (dir < 0)
		return dir;
	fd = fd_openat(dir, base, flags, mode & MODE_BITS);
	/* If an archive has a name twice, the later entry counts. */
	if (fd == -EEXIST && unlinkat(dir, base, 0) == 0)
		fd = fd_openat(dir, base, flags, mode & MODE_BITS);
	return fd;
}

/*
 * Whether target, relative to the folder of path, stays below the top. A ".." after a
 * name is refused: the name may be a link, and its parent another folder.
 */
static bool unpack_is_inside(const char *path, struct str target)
{
	size_t depth = 0;
	bool down = false;

	if (str_starts(target, STR("/")))
		return false;
	for (const char *p = path; *p; p++)
		depth += *p == '/';
	while (target.n) {
		struct str part = str_cut(&target, '/');

		if (part.n == 0 || str_eq(part, STR(".")))
			continue;
		if (!str_eq(part, STR("..")))
			down = true;
		else if (down || depth-- == 0)
			return false;
	}
	return true;
}

int unpack_symlink(struct unpack *u, struct str name, struct str target, bool any)
{
	char path[FILE_PATH_MAX], to[FILE_PATH_MAX];
	const char *base;
	int dir = unpack_open_name(u, name, path, &base);

	if (dir < 0)
		return dir;
	if (target.n == 0 || str_find_byte(target, '\0') < target.n ||
		(!any && !unpack_is_inside(path, target)))
		return ERR_SYNTAX;
	if (target.n >= sizeof(to))
		return -ENAMETOOLONG;
	memcpy(to, target.p, target.n);
	to[target.n] = '\0';
	if (symlinkat(to, dir, base) == 0)
		return 0;
	if (errno == EEXIST && unlinkat(dir, base, 0) == 0 &&
		symlinkat(to, dir, base) == 0)
		return 0;
	return -errno;
}

/*
 * A hard link puts a symbolic link into a second folder: the target must stay inside
 * from both.
 */
static bool unpack_is_link_inside(const char *path, int dir, const char *name)
{
	char target[FILE_PATH_MAX];
	ssize_t n = readlinkat(dir, name, target, sizeof(target));

	return n < 0 || unpack_is_inside(path, str_make(target, (size_t)n));
}

int unpack_hardlink(struct unpack *u, struct str name, struct str target, bool any)
{
	char path[FILE_PATH_MAX], to[FILE_PATH_MAX];
	const char *base, *to_base;
	int r = root_normalize(target, to, sizeof(to));
	int dir, from;

	if (r)
		return r < 0 ? r : -EISDIR;
	dir = unpack_open_name(u, name, path, &base);
	if (dir < 0)
		return dir;
	from = root_open_parent(u->stage, to, NULL, &to_base);
	if (from < 0)
		return from;
	if (!any && !unpack_is_link_inside(path, from, to_base))
		r = ERR_SYNTAX;
	else if (linkat(from, to_base, dir, base, 0) < 0)
		r = -errno;
	if (r == -EEXIST && unlinkat(dir, base, 0) == 0)
		r = linkat(from, to_base, dir, base, 0) < 0 ? -errno : 0;
	fd_close(&from);
	return r;
}

/* --- Into place ----------------------------------------------------------------- */

/* A folder of the destination that is merged with one of the stage. */
struct level {
	DIR *list;
	int to;
	size_t where; /* length of the path up to this folder */
};

struct move {
	struct unpack *u;
	struct level *levels;
	unsigned depth;
};

static int unpack_push_level(struct move *m, int from, int to, const char *name)
{
	struct level *l = &m->levels[m->depth];
	int r;

	if (m->depth == ARCHIVE_DEPTH_MAX)
		return ERR_DEPTH;
	l->to = root_open(to, name, NULL);
	if (l->to < 0)
		return l->to;
	/* The walk starts at the stage itself. */
	r = root_list(from, m->depth ? name : ".", &l->list);
	if (r) {
		fd_close(&l->to);
		return r;
	}
	l->where = m->u->where.n;
	m->depth++;
	return 0;
}

static void unpack_pop_level(struct move *m)
{
	struct level *l = &m->levels[--m->depth];

	closedir(l->list);
	fd_close(&l->to);
}

/* Copies a file onto a mount point or into a folder of another file system. */
static int unpack_copy_file(
	struct move *m, int from, int to, const char *name, mode_t mode)
{
	static char piece[TRANSFER_PIECE];
	int fd = fd_openat(from, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
	enum put_how how = PUT_NEW;
	struct put p;
	ssize_t n;
	int r = fd < 0 ? fd : put_begin(&p, to, name);

	if (r < 0) {
		fd_close(&fd);
		return r;
	}
	if (!p.exists)
		p.mode = mode & MODE_BITS;
	p.sync = m->u->sync;
	while (!r && (n = read(fd, piece, sizeof(piece))) != 0)
		r = n < 0 ? -errno : put_data(&p, str_make(piece, (size_t)n));
	if (!r)
		r = put_commit(&p, &how, NULL);
	m->u->in_place += how == PUT_IN_PLACE;
	m->u->damaged |= p.damaged;
	put_end(&p);
	fd_close(&fd);
	return r;
}

static int unpack_copy_entry(
	struct move *m, int from, int to, const char *name, mode_t mode)
{
	char target[FILE_PATH_MAX];
	ssize_t n;

	if (S_ISREG(mode))
		return unpack_copy_file(m, from, to, name, mode);
	if (S_ISDIR(mode)) {
		if (mkdirat(to, name, mode & MODE_BITS) < 0)
			return -errno;
		return unpack_push_level(m, from, to, name);
	}
	n = readlinkat(from, name, target, sizeof(target) - 1);
	if (n < 0)
		return -errno;
	target[n] = '\0';
	if (unlinkat(to, name, 0) < 0 && errno != ENOENT)
		return -errno;
	return symlinkat(target, to, name) < 0 ? -errno : 0;
}

/* Whether new can replace old. Both are modes; old is 0 if the name is free. */
static int unpack_check_kind(mode_t new, mode_t old)
{
	if (S_ISDIR(old) && !S_ISDIR(new))
		return -EISDIR;
	return S_ISDIR(new) && old && !S_ISDIR(old) ? -ENOTDIR : 0;
}

/* Reads the modes of the new and the old file and checks whether new can replace old. */
static int unpack_read_modes(int from, int to, const char *name, mode_t *new, mode_t *old)
{
	struct stat st;

	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	*new = st.st_mode;
	*old = fstatat(to, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ? 0 : st.st_mode;
	return unpack_check_kind(*new, *old);
}

/* Moves onto an existing name. */
static int unpack_move_onto(struct move *m, int from, int to, const char *name)
{
	mode_t new = 0, old = 0;
	int r = unpack_read_modes(from, to, name, &new, &old);

	if (r)
		return r;
	if (S_ISDIR(new) && S_ISDIR(old))
		return unpack_push_level(m, from, to, name);
	if (renameat(from, name, to, name) == 0)
		return 0;
	if (errno == EXDEV || (errno == EBUSY && S_ISREG(new)))
		return unpack_copy_entry(m, from, to, name, new);
	return -errno;
}

/* Checks one entry for obstacles before the first move. */
static int unpack_check_entry(struct move *m, int from, int to, const char *name)
{
	mode_t new = 0, old = 0;
	int r = unpack_read_modes(from, to, name, &new, &old);

	if (r)
		return r;
	if (S_ISDIR(new) && S_ISDIR(old))
		return unpack_push_level(m, from, to, name);
	return faccessat(to, ".", W_OK | X_OK, 0) < 0 ? -errno : 0;
}

static int unpack_move_entry(struct move *m, int from, int to, const char *name)
{
#ifdef SYS_renameat2
	/* If the name is free, a folder moves as a whole. */
	if (syscall(SYS_renameat2, from, name, to, name, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno == ENOSPC || errno == EDQUOT || errno == EROFS || errno == EIO)
		return -errno;
#endif
	return unpack_move_onto(m, from, to, name);
}

typedef int step_fn(struct move *m, int from, int to, const char *name);

static int unpack_walk_stage(struct move *m, step_fn *step)
{
	int r = unpack_push_level(m, m->u->stage, m->u->dest, "");

	while (r == 0 && m->depth) {
		struct level *l = &m->levels[m->depth - 1];
		struct dirent *e;

		errno = 0;
		e = readdir(l->list);
		if (!e && errno)
			r = -errno;
		else if (!e)
			unpack_pop_level(m);
		if (!e || strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		m->u->where.n = l->where;
		buf_fmt(&m->u->where, "%s%s", l->where ? "/" : "", e->d_name);
		r = step(m, dirfd(l->list), l->to, e->d_name);
	}
	while (m->depth)
		unpack_pop_level(m);
	return r;
}

/* Syncs the whole file system: to sync files one by one takes much longer. */
static int unpack_sync_disk(const struct unpack *u)
{
	int fd = fd_openat(u->stage, ".", O_RDONLY | O_DIRECTORY, 0);
	int r = fd < 0 ? fd : syncfs(fd) < 0 ? -errno : 0;

	fd_close(&fd);
	return r;
}

static struct level *unpack_levels_new(void)
{
	return calloc(ARCHIVE_DEPTH_MAX, sizeof(struct level));
}

int unpack_commit(struct unpack *u)
{
	struct move m = {.u = u};
	int r = -ENOMEM;

	buf_reset(&u->where);
	m.levels = unpack_levels_new();
	if (m.levels)
		r = unpack_walk_stage(&m, unpack_check_entry);
	if (!r) {
		buf_reset(&u->where);
		r = unpack_walk_stage(&m, unpack_move_entry);
	}
	free(m.levels);
	return r || !u->sync ? r : unpack_sync_disk(u);
}
