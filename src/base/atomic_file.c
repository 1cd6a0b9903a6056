#include "base/atomic_file.h"

#include "base/clock.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ATOMIC_FILE_TRIES = 16, PROC_FD = 32 };

/* --- Names ---------------------------------------------------------------------- */

/*
 * Calls make with a temporary name, and again with another if it is taken. An attacker
 * gains nothing by guessing the name: make never opens an existing file.
 */
static int atomic_file_make_temp(
	struct atomic_file *s, int (*make)(struct atomic_file *s, const char *name))
{
	uint64_t salt = clock_us();
	char name[ATOMIC_FILE_NAME];
	int r = -EEXIST;

	for (unsigned i = 0; i < ATOMIC_FILE_TRIES && r == -EEXIST; i++) {
		snprintf(name, sizeof(name), ".od-%d-%llx", (int)getpid(),
			(unsigned long long)(salt + i));
		r = make(s, name);
	}
	if (r >= 0)
		memcpy(s->name, name, sizeof(name));
	return r;
}

static int atomic_file_create(struct atomic_file *s, const char *name)
{
	s->fd = fd_openat(s->dir, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
	return s->fd;
}

static void atomic_file_format_path(char path[PROC_FD], int fd)
{
	snprintf(path, PROC_FD, "/proc/self/fd/%d", fd);
}

/* Gives the nameless file a name, unless the name is taken. */
static int atomic_file_link(struct atomic_file *s, const char *name)
{
	char path[PROC_FD];

	atomic_file_format_path(path, s->fd);
	return linkat(AT_FDCWD, path, s->dir, name, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

static int atomic_file_rename(
	const struct atomic_file *s, const char *name, unsigned flags)
{
#ifdef SYS_renameat2
	if (syscall(SYS_renameat2, s->dir, s->name, s->dir, name, flags) == 0)
		return 0;
	return -errno;
#else
	(void)s, (void)name, (void)flags;
	return -ENOSYS;
#endif
}

/* The kernel, its file system or a seccomp filter does not support the call. */
static bool atomic_file_is_unsupported(int err)
{
	return err == -ENOSYS || err == -EINVAL || err == -EPERM;
}

/* Takes the name if it is free, as far as this file system can check it. */
static int atomic_file_place_new(struct atomic_file *s, const char *name)
{
	struct stat st;
	int r;

	if (!s->name[0])
		return atomic_file_link(s, name);
	r = atomic_file_rename(s, name, RENAME_NOREPLACE);
	if (atomic_file_is_unsupported(r) &&
		linkat(s->dir, s->name, s->dir, name, 0) == 0) {
		unlinkat(s->dir, s->name, 0);
		r = 0;
	} else if (atomic_file_is_unsupported(r)) {
		/* The file system has no hard links either. */
		if (errno == EEXIST ||
			fstatat(s->dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			return -EEXIST;
		r = renameat(s->dir, s->name, s->dir, name) < 0 ? -errno : 0;
	}
	if (!r)
		s->name[0] = '\0';
	return r;
}

static bool atomic_file_is_same_stat(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
		a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
		a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static bool atomic_file_is_unchanged(const struct atomic_file *s, const char *name)
{
	struct stat st;

	return fstatat(s->dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		atomic_file_is_same_stat(&st, &s->old);
}

static int atomic_file_replace(struct atomic_file *s, const char *name)
{
	if (renameat(s->dir, s->name, s->dir, name) < 0)
		return -errno;
	s->name[0] = '\0';
	return 0;
}

/* Exchanges the names, and exchanges them back if the old file has changed meanwhile. */
static int atomic_file_exchange(struct atomic_file *s, const char *name)
{
	int r = atomic_file_is_unchanged(s, name)
		? atomic_file_rename(s, name, RENAME_EXCHANGE)
		: -ESTALE;

	if (atomic_file_is_unsupported(r))
		return atomic_file_replace(s, name);
	if (r)
		return r == -ENOENT ? -ESTALE : r;
	if (!atomic_file_is_unchanged(s, s->name)) {
		r = atomic_file_rename(s, name, RENAME_EXCHANGE);
		return r ? r : -ESTALE;
	}
	return 0;
}

static int atomic_file_place(struct atomic_file *s, const char *name)
{
	int r = s->policy == ATOMIC_FILE_SAME ? -EEXIST : atomic_file_place_new(s, name);

	if (r != -EEXIST || s->policy == ATOMIC_FILE_NEW)
		return r;
	if (!s->name[0])
		r = atomic_file_make_temp(s, atomic_file_link);
	else
		r = 0;
	if (!r)
		r = s->policy == ATOMIC_FILE_SAME ? atomic_file_exchange(s, name)
						  : atomic_file_replace(s, name);
	s->replaced = r == 0;
	return r;
}

/* --- Content -------------------------------------------------------------------- */

static int atomic_file_open_tmpfile(struct atomic_file *s)
{
	char path[PROC_FD];

	s->fd = fd_openat(s->dir, ".", O_TMPFILE | O_RDWR, 0600);
	if (s->fd < 0)
		return s->fd;
	atomic_file_format_path(path, s->fd);
	if (access(path, F_OK) == 0)
		return 0;
	/* Without /proc the file could not be given a name. */
	fd_close(&s->fd);
	return -ENOSYS;
}

int atomic_file_begin(struct atomic_file *s, int dir)
{
	struct atomic_file made = {.fd = -1, .dir = dir};
	int r = atomic_file_open_tmpfile(&made);

	/* The error is ignored: the fallback below reports its own. */
	if (r < 0)
		r = atomic_file_make_temp(&made, atomic_file_create);
	if (r < 0)
		return r;
	*s = made;
	return 0;
}

int atomic_file_begin_unnamed(struct atomic_file *s, int dir)
{
	int r = atomic_file_begin(s, dir);

	if (!r && s->name[0] && unlinkat(dir, s->name, 0) == 0)
		s->name[0] = '\0';
	return r;
}

/* The owner is set first: chown clears the set-id bits. */
static int atomic_file_set_attr(int fd, const struct atomic_file_attr *attr)
{
	uid_t uid = attr->uid;
	gid_t gid = attr->gid;
	struct stat st;
	int r = 0;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (((uid != (uid_t)-1 && st.st_uid != uid) ||
		    (gid != (gid_t)-1 && st.st_gid != gid)) &&
		fchown(fd, uid, gid) < 0)
		r = -errno;
	if (fchmod(fd, attr->mode) < 0 && !r)
		r = -errno;
	return r;
}

static int atomic_file_write_parts(int fd, const struct str *parts, size_t n)
{
	int r = 0;

	for (size_t i = 0; i < n && !r; i++)
		r = fd_write_all(fd, parts[i].p, parts[i].n);
	return r;
}

int atomic_file_commit(struct atomic_file *s, const char *name,
	const struct atomic_file_attr *attr, int *attr_err)
{
	int dressed = atomic_file_set_attr(s->fd, attr);
	int r;

	if (dressed && !attr_err)
		return dressed;
	r = fd_flush(s->fd);
	if (!r)
		r = atomic_file_place(s, name);
	if (!r && attr_err)
		*attr_err = dressed;
	return r;
}

void atomic_file_end(struct atomic_file *s)
{
	if (s->name[0] && (unlinkat(s->dir, s->name, 0) == 0 || errno == ENOENT))
		s->name[0] = '\0';
	fd_close(&s->fd);
}

int atomic_file_write(int dir, const char *name, const struct atomic_file_attr *attr,
	const struct str *parts, size_t n, int *attr_err)
{
	struct atomic_file s;
	int r = atomic_file_begin(&s, dir);

	if (r)
		return r;
	r = atomic_file_write_parts(s.fd, parts, n);
	if (!r)
		r = atomic_file_commit(&s, name, attr, attr_err);
	atomic_file_end(&s);
	return r;
}
