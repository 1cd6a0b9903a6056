#include "file/replace.h"

#include "base/fd.h"
#include "base/swap.h"
#include "file/load.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { XATTR_NAMES = 1024, MODE_BITS = 07777 };

int replace_open(struct replace *f, const struct file_path *path)
{
	int r;

	*f = (struct replace){.dir = -1, .old = -1};
	r = file_path_open_dir(path, &f->dir, f->base);
	if (r)
		return r;
	r = load_open(f->dir, f->base, O_RDWR | O_NOFOLLOW, &f->st);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	f->old = r;
	return 0;
}

void replace_close(struct replace *f)
{
	fd_close(&f->dir);
	fd_close(&f->old);
}

/*
 * Attributes that a new inode would lack: ACLs, capabilities, the user's own.
 * The SELinux label comes with the folder.
 */
static bool has_xattrs(int fd)
{
	char names[XATTR_NAMES];
	ssize_t n = flistxattr(fd, names, sizeof(names));
	struct str rest;

	if (n < 0)
		return errno == ERANGE;
	rest = str_make(names, (size_t)n);
	while (rest.n)
		if (!str_eq(str_cut(&rest, '\0'), STR("security.selinux")))
			return true;
	return false;
}

static int put_at(int fd, struct str s, uint64_t at)
{
	while (s.n) {
		ssize_t put = pwrite(fd, s.p, s.n, (off_t)at);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -errno;
		s = str_skip(s, (size_t)put);
		at += (size_t)put;
	}
	return 0;
}

/* Writes the bytes from..to of the parts to where they belong. */
static int put_range(
	const struct replace *f, const struct replace_new *n, uint64_t from, uint64_t to)
{
	uint64_t at = 0;
	int r = 0;

	for (size_t i = 0; i < n->n && at < to && !r; i++) {
		struct str s = n->parts[i];
		uint64_t begin = at;

		at += s.n;
		if (at > to)
			s.n = (size_t)(to - begin);
		if (begin < from) {
			s = str_skip(
				s, from - begin < s.n ? (size_t)(from - begin) : s.n);
			begin = from;
		}
		r = put_at(f->old, s, begin);
	}
	return r;
}

/* Puts the old bytes back; true if that did not work. */
static bool restore(const struct replace *f, const struct replace_new *n, bool changed)
{
	bool known = n->before.n == (uint64_t)f->st.st_size;

	if (changed && (!known || put_at(f->old, n->before, 0) < 0))
		return true;
	return ftruncate(f->old, f->st.st_size) < 0;
}

/*
 * Overwrites the old file. What needs new room on the disk goes first, behind
 * the old text: when there is none, cutting it off restores the old file.
 */
static int overwrite(const struct replace *f, const struct replace_new *n, bool *damaged)
{
	uint64_t old = (uint64_t)f->st.st_size;
	uint64_t all = 0;
	bool changed = false;
	int r;

	for (size_t i = 0; i < n->n; i++)
		all += n->parts[i].n;
	r = put_range(f, n, old, all);
	if (!r) {
		changed = true;
		r = put_range(f, n, 0, all < old ? all : old);
	}
	if (!r && ftruncate(f->old, (off_t)all) < 0)
		r = -errno;
	if (r)
		*damaged = restore(f, n, changed);
	return r;
}

/* The neighbour cannot be made or take the name, but the old file is open. */
static bool is_in_the_way(int err)
{
	return err == -EACCES || err == -EPERM || err == -EROFS || err == -EBUSY ||
		err == -EXDEV || err == -EINVAL;
}

/* As a write by others than root leaves it. */
static mode_t written_mode(mode_t mode)
{
	mode &= MODE_BITS;
	if (geteuid() == 0)
		return mode;
	return mode & ~(mode_t)(S_ISUID | (mode & S_IXGRP ? S_ISGID : 0));
}

static int change_old(const struct replace *f, const struct replace_new *n,
	enum replace_how *how, bool *damaged)
{
	struct swap_attr attr = {written_mode(f->st.st_mode), f->st.st_uid, f->st.st_gid};
	int r = -EBUSY;

	if (f->st.st_nlink == 1 && !has_xattrs(f->old))
		r = swap_file(f->dir, f->base, &attr, n->parts, n->n, NULL);
	if (!r) {
		*how = REPLACE_SWAPPED;
	} else if (is_in_the_way(r)) {
		r = overwrite(f, n, damaged);
		if (!r)
			*how = REPLACE_IN_PLACE;
	}
	return r;
}

int replace_put(const struct replace *f, const struct replace_new *to,
	enum replace_how *how, int *attr, bool *damaged)
{
	/* The folder may give its own group to what is made in it. */
	struct swap_attr mine = {to->mode, (uid_t)-1, (gid_t)-1};
	int r;

	*attr = 0;
	*damaged = false;
	if (f->old >= 0)
		return change_old(f, to, how, damaged);
	r = swap_file(f->dir, f->base, &mine, to->parts, to->n, attr);
	if (!r)
		*how = REPLACE_NEW;
	return r;
}

const char *replace_advice(int err)
{
	switch (err) {
	case -ENOSPC:
		return "Free some space on that disk (`df -h` and `df -i` tell which is "
		       "full), then try again.";
	case -EDQUOT:
		return "The user's quota on that disk is used up: remove files of his, "
		       "then try again.";
	case -EROFS:
		return "That file system is read-only: write to another folder.";
	case -EIO:
		return "The disk has failed to read or to write: try again, or use "
		       "another disk.";
	case -EFBIG:
		return "It is larger than files may be here (`ulimit -f`).";
	case -EACCES:
	case -EPERM:
		return "The sandbox user lacks the right: `ls -ld` and `lsattr` tell who "
		       "has it.";
	default:
		return "";
	}
}
