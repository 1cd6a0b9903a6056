#include "file/put.h"

#include "base/fd.h"
#include "limits.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int put_begin(struct put *p, int dir, const char *name)
{
	struct put made = {.dir = dir, .name = name, .exists = true};
	int r;

	if (fstatat(dir, name, &made.old, AT_SYMLINK_NOFOLLOW) < 0) {
		if (errno != ENOENT)
			return -errno;
		made.exists = false;
	} else if (S_ISDIR(made.old.st_mode)) {
		return -EISDIR;
	} else if (S_ISLNK(made.old.st_mode)) {
		made.exists = false;
	} else if (!S_ISREG(made.old.st_mode)) {
		return -EEXIST;
	}
	r = swap_begin(&made.swap, dir);
	if (!r)
		*p = made;
	return r;
}

int put_data(struct put *p, struct str piece)
{
	return fd_write_all(p->swap.fd, piece.p, piece.n);
}

/* Bytes from..to of one file to the same place in another. */
static int copy_range(int to_fd, int from_fd, off_t from, off_t to)
{
	static char piece[TRANSFER_PIECE];

	while (from < to) {
		size_t n = to - from < (off_t)sizeof(piece) ? (size_t)(to - from)
							    : sizeof(piece);
		ssize_t got = pread(from_fd, piece, n, from);
		ssize_t put = got > 0 ? pwrite(to_fd, piece, (size_t)got, from) : got;

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return put < 0 ? -errno : -EIO;
		from += put;
	}
	return 0;
}

int put_in_place(int dir, const char *name, int from, bool *damaged)
{
	int fd = fd_openat(dir, name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK, 0);
	struct stat old = {0}, new = {0};
	off_t common;
	int r = 0;

	if (fd < 0)
		return fd;
	if (fstat(fd, &old) < 0 || fstat(from, &new) < 0)
		r = -errno;
	else if (!S_ISREG(old.st_mode))
		r = -EEXIST;
	if (r)
		goto out;
	common = new.st_size < old.st_size ? new.st_size : old.st_size;
	/* What needs room on the disk goes first: cut off, the old file is back. */
	r = copy_range(fd, from, old.st_size, new.st_size);
	if (r) {
		*damaged = ftruncate(fd, old.st_size) < 0;
		goto out;
	}
	*damaged = true;
	r = copy_range(fd, from, 0, common);
	if (!r && ftruncate(fd, new.st_size) < 0)
		r = -errno;
	if (!r)
		*damaged = false;
out:
	fd_close(&fd);
	return r;
}

/* The neighbour becomes the content of the old inode. */
static int overwrite(struct put *p, enum put_how *how, bool *damaged)
{
	int from = fd_openat(p->dir, p->swap.name, O_RDONLY | O_NOFOLLOW, 0);
	int r = from < 0 ? from : put_in_place(p->dir, p->name, from, damaged);

	fd_close(&from);
	if (!r)
		*how = PUT_IN_PLACE;
	return r;
}

/* The entry in the folder has to be on the disk, too. */
static int sync_folder(int dir)
{
	int fd = fd_openat(dir, ".", O_RDONLY | O_DIRECTORY, 0);
	int r = fd < 0 ? fd : fsync(fd) < 0 ? -errno : 0;

	fd_close(&fd);
	return r;
}

int put_commit(struct put *p, mode_t mode, bool sync, enum put_how *how, bool *damaged)
{
	struct swap_attr attr = {mode, geteuid(), getegid()};
	int r;

	*damaged = false;
	if (p->exists)
		attr = (struct swap_attr){
			p->old.st_mode & 0777, p->old.st_uid, p->old.st_gid};
	if (sync && fsync(p->swap.fd) < 0)
		return -errno;
	r = swap_commit(&p->swap, p->name, &attr, NULL);
	if (r == 0)
		*how = p->exists ? PUT_REPLACED : PUT_NEW;
	else if (p->exists && (r == -EBUSY || r == -EPERM))
		r = overwrite(p, how, damaged);
	if (!r && sync)
		r = sync_folder(p->dir);
	return r;
}

void put_end(struct put *p)
{
	swap_end(&p->swap);
}
