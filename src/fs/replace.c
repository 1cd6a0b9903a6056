#include "fs/replace.h"

#include "base/fd.h"
#include "fs/load.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum { MODE_BITS = 07777 };

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
	if (r == -EACCES || r == -EPERM || r == -EROFS || r == -ETXTBSY) {
		f->refused = r;
		r = load_open(f->dir, f->base, O_RDONLY | O_NOFOLLOW, &f->st);
	}
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

/* The mode after a write by a process other than root. */
static mode_t replace_get_mode(mode_t mode)
{
	mode &= MODE_BITS;
	if (geteuid() == 0)
		return mode;
	return mode & ~(mode_t)(S_ISUID | (mode & S_IXGRP ? S_ISGID : 0));
}

int replace_put(const struct replace *f, const struct replace_new *to, enum put_how *how,
	int *attr, bool *damaged)
{
	struct put p;
	int r;

	*attr = 0;
	*damaged = false;
	if (f->refused)
		return f->refused;
	r = put_begin(&p, f->dir, f->base);
	if (r)
		return r;
	p.mode = f->old < 0 ? to->mode : replace_get_mode(f->st.st_mode);
	p.in_place |= f->old >= 0 && f->st.st_nlink > 1;
	for (size_t i = 0; i < to->n && !r; i++)
		r = put_data(&p, to->parts[i]);
	if (!r)
		r = put_commit(&p, how, attr);
	*damaged = p.damaged;
	put_end(&p);
	return r;
}

const char *replace_get_advice(int err)
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
