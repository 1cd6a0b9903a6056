#include "fs/put.h"

#include "base/fd.h"
#include "limits.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { XATTR_NAMES = 4096, XATTR_VALUE = 65536 };

/*
 * Whether an error means that a new inode cannot be made or take the name, but that the
 * old one may be writable.
 */
static bool put_is_replace_error(int err)
{
	return err == -EACCES || err == -EPERM || err == -EROFS || err == -EBUSY ||
		err == -EXDEV || err == -EINVAL;
}

/* --- Attributes ------------------------------------------------------------------- */

/* Attributes that the folder gives or that every write removes. */
static bool put_is_skipped_attr(const char *name)
{
	return strcmp(name, "security.selinux") == 0 ||
		strcmp(name, "security.capability") == 0;
}

static int put_copy_attr(int from, int to, const char *name)
{
	static char value[XATTR_VALUE];
	ssize_t n = fgetxattr(from, name, value, sizeof(value));

	if (n < 0)
		return errno == ENODATA ? 0 : -errno;
	return fsetxattr(to, name, value, (size_t)n, 0) < 0 ? -errno : 0;
}

/*
 * Copies the extended attributes of the old inode and removes the ACL inherited from
 * the folder.
 */
static int put_copy_all_attrs(int from, int to)
{
	char names[XATTR_NAMES];
	ssize_t n = flistxattr(from, names, sizeof(names));
	int r = 0;

	if (fremovexattr(to, "system.posix_acl_access") < 0 && errno != ENODATA &&
		errno != ENOTSUP)
		return -errno;
	if (n < 0)
		return errno == ENOTSUP ? 0 : -errno;
	for (const char *at = names; at < names + n && !r; at += strlen(at) + 1)
		if (!put_is_skipped_attr(at))
			r = put_copy_attr(from, to, at);
	return r;
}

/* Opens the old file, which other processes may have replaced by any kind of file. */
static int put_open_old(const struct put *p, int flags)
{
	struct stat st;
	int fd = fd_openat(p->dir, p->name, flags | O_NOFOLLOW | O_NONBLOCK, 0);

	if (fd < 0 || (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)))
		return fd;
	fd_close(&fd);
	return -EEXIST;
}

/* --- In place --------------------------------------------------------------------- */

/* Copies n bytes at offset from of one file to offset at of another. */
static int put_copy_range(int to_fd, off_t at, int from_fd, off_t from, off_t n)
{
	static char piece[TRANSFER_PIECE];

	while (n > 0) {
		size_t want = n < (off_t)sizeof(piece) ? (size_t)n : sizeof(piece);
		ssize_t got = pread(from_fd, piece, want, from);
		ssize_t put = got > 0 ? pwrite(to_fd, piece, (size_t)got, at) : got;

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return put < 0 ? -errno : -EIO;
		from += put;
		at += put;
		n -= put;
	}
	return 0;
}

static int put_truncate(int fd, off_t n)
{
	int r;

	do
		r = ftruncate(fd, n);
	while (r < 0 && errno == EINTR);
	return r < 0 ? -errno : 0;
}

/*
 * Writes the bytes beyond the old size first: if the disk is full, truncating the file
 * restores it.
 */
static int put_write_over(struct put *p, off_t old, off_t new, bool *touched)
{
	off_t common = old < new ? old : new;
	int r = put_copy_range(p->target, old, p->swap.fd, old, new - old);

	if (r)
		return r;
	*touched = true;
	r = put_copy_range(p->target, 0, p->swap.fd, 0, common);
	if (!r)
		r = put_truncate(p->target, new);
	if (!r && p->sync && fsync(p->target) < 0)
		r = -errno;
	return r ? r : fd_flush(p->target);
}

/*
 * Overwrites the old file. A copy of its bytes is kept after the new ones in the spool,
 * to restore them after an error.
 */
static int put_overwrite(struct put *p)
{
	struct stat old, new;
	bool known = false, touched = false;
	int r;

	if (fstat(p->target, &old) < 0 || fstat(p->swap.fd, &new) < 0)
		return -errno;
	if (old.st_size <= PUT_UNDO_MAX) {
		r = put_copy_range(p->swap.fd, new.st_size, p->target, 0, old.st_size);
		/* A file that is writable but not readable has no copy. */
		known = r == 0;
		if (r && r != -EBADF)
			return r;
	}
	r = put_write_over(p, old.st_size, new.st_size, &touched);
	if (!r)
		return 0;
	p->damaged = (touched &&
			     (!known ||
				     put_copy_range(p->target, 0, p->swap.fd, new.st_size,
					     old.st_size))) ||
		put_truncate(p->target, old.st_size);
	return r;
}

static int put_open_target(struct put *p)
{
	if (p->target < 0)
		p->target = put_open_old(p, O_RDWR);
	if (p->target == -EACCES)
		p->target = put_open_old(p, O_WRONLY);
	return p->target < 0 ? p->target : 0;
}

int put_open_spool(struct atomic_file *s)
{
	static const char *const dirs[] = {"/tmp", "/var/tmp", "/dev/shm"};
	int r = -ENOENT;

	for (size_t i = 0; i < ARRAY_LEN(dirs) && r; i++) {
		int dir = fd_open(dirs[i], O_PATH | O_DIRECTORY, 0);

		r = dir < 0 ? dir : atomic_file_begin_unnamed(s, dir);
		fd_close(&dir);
	}
	return r;
}

static int put_begin_in_place(struct put *p, int why)
{
	int r = put_open_target(p);

	if (!r)
		/*
		 * No new file can be made next to the old one: the content goes to a
		 * spool.
		 */
		r = put_open_spool(&p->swap);
	if (!r) {
		p->in_place = true;
		return 0;
	}
	fd_close(&p->target);
	return why;
}

/* --- The whole -------------------------------------------------------------------- */

int put_begin(struct put *p, int dir, const char *name)
{
	struct put made = {.dir = dir, .name = name, .target = -1, .exists = true};
	int r;

	if (fstatat(dir, name, &made.old, AT_SYMLINK_NOFOLLOW) < 0) {
		if (errno != ENOENT)
			return -errno;
		made.exists = false;
	} else if (S_ISDIR(made.old.st_mode)) {
		return -EISDIR;
	} else if (S_ISLNK(made.old.st_mode)) {
		made.exists = false;
	} else if (S_ISREG(made.old.st_mode)) {
		made.mode = made.old.st_mode & 0777;
	} else {
		return -EEXIST;
	}
	if (!made.exists)
		made.mode = put_get_new_mode();
	r = atomic_file_begin(&made.swap, dir);
	if (made.exists && put_is_replace_error(r))
		r = put_begin_in_place(&made, r);
	/*
	 * Folders of /proc report ENOENT when a file is created: the old file cannot be
	 * replaced.
	 */
	if (made.exists && r == -ENOENT)
		r = -EPERM;
	if (!r)
		*p = made;
	return r;
}

static void put_remove_temp(int dir, const char *name, const void *arg)
{
	(void)arg;
	unlinkat(dir, name, 0);
}

void put_guard(struct put *p)
{
	if (p->swap.name[0])
		cleanup_guard_begin(
			&p->broom, p->dir, p->swap.name, put_remove_temp, NULL);
}

int put_data(struct put *p, struct str piece)
{
	return fd_write_all(p->swap.fd, piece.p, piece.n);
}

static int put_keep_attrs(struct put *p)
{
	int fd = put_open_old(p, O_RDONLY);
	int r;

	if (fd == -EACCES)
		fd = put_open_old(p, O_WRONLY);
	r = fd < 0 ? fd : put_copy_all_attrs(fd, p->swap.fd);
	fd_close(&fd);
	/* The file and its attributes no longer exist. */
	return r == -ENOENT ? 0 : r;
}

static int put_replace(struct put *p, int *attr_err)
{
	/*
	 * A new file belongs to the calling process, and in setgid folders to the
	 * folder's group.
	 */
	struct atomic_file_attr attr = {p->mode, (uid_t)-1, (gid_t)-1};

	if (p->in_place)
		return -EBUSY;
	if (p->exists) {
		attr.uid = p->old.st_uid;
		attr.gid = p->old.st_gid;
		attr_err = NULL;
		/*
		 * If the attributes cannot be copied, -EBUSY leads to overwriting in
		 * place, which keeps them.
		 */
		if (put_keep_attrs(p) < 0)
			return -EBUSY;
	}
	if (p->sync && fsync(p->swap.fd) < 0)
		return -errno;
	return atomic_file_commit(&p->swap, p->name, &attr, attr_err);
}

/*
 * If put_replace_foreign is set, gives the name to the new file with the owner of this
 * process. Only the folder's permissions matter, not the owner of the old file.
 */
static int put_replace_foreign(struct put *p, int err)
{
	const struct atomic_file_attr attr = {p->mode, (uid_t)-1, (gid_t)-1};

	if (!p->replace_foreign || p->in_place || (err != -EACCES && err != -EPERM))
		return err;
	return atomic_file_commit(&p->swap, p->name, &attr, NULL);
}

int put_commit(struct put *p, enum put_how *how, int *attr_err)
{
	enum put_how done;
	int r = put_replace(p, attr_err);

	done = p->swap.replaced ? PUT_REPLACED : PUT_NEW;
	if (p->exists && put_is_replace_error(r)) {
		done = PUT_IN_PLACE;
		r = put_open_target(p);
		if (!r)
			r = put_overwrite(p);
		else if (put_replace_foreign(p, r) == 0) {
			r = p->sync ? fd_sync_folder(p->dir, ".") : 0;
			done = PUT_REPLACED;
		}
	} else if (!r && p->sync) {
		/* The folder's entry must be on the disk, too. */
		r = fd_sync_folder(p->dir, ".");
	}
	if (!r)
		*how = done;
	return r;
}

void put_end(struct put *p)
{
	atomic_file_end(&p->swap);
	cleanup_guard_end(&p->broom, p->swap.name[0] == '\0');
	fd_close(&p->target);
}

mode_t put_get_new_mode(void)
{
	mode_t mask = umask(0);

	umask(mask);
	return 0666 & ~mask;
}
