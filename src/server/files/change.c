/* POST /v1/files/mkdir and mv, DELETE /v1/files, in their jobs. */
#include "server/files/works.h"

#include "base/fd.h"
#include "fs/root.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MODE_FOLDER = 0777 };

/* Replies with the path. */
static int done(struct transfer_io *io, unsigned status, const struct file_path *p)
{
	struct jw w;

	jw_init(&w, &io->buf);
	jw_object(&w);
	jw_key(&w, "path");
	jw_str(&w, str_make(p->abs, p->n));
	jw_end(&w);
	return transfer_json(io, status);
}

int change_mkdir(struct transfer_io *io, const struct transfer_ask *ask)
{
	struct file_path p;
	int fd, r;

	if (!work_path(io, ask->path, &p, &r))
		return r;
	if (!ask->parents) {
		if (mkdir(p.abs, MODE_FOLDER) < 0)
			return work_fail(io, -errno, ask->path);
		return done(io, 201, &p);
	}
	fd = work_open_folder(p.abs, false);
	if (fd < 0)
		return work_fail(io, fd, ask->path);
	fd_close(&fd);
	return done(io, 201, &p);
}

static int move(const char *from, const char *to, bool replace)
{
	struct stat st;

	if (replace)
		return rename(from, to) < 0 ? -errno : 0;
#ifdef SYS_renameat2
	if (syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != ENOSYS && errno != EINVAL && errno != EPERM)
		return -errno;
#endif
	if (lstat(to, &st) == 0)
		return -EEXIST;
	return rename(from, to) < 0 ? -errno : 0;
}

/* The message has both paths, because the kernel does not report which path failed. */
static int move_fail(struct transfer_io *io, const struct transfer_ask *ask, int err)
{
	struct buf both = BUF_INIT(FILE_WORDS_MAX);
	int r;

	if (err == -EEXIST)
		return work_fail(io, err, ask->to);
	buf_fmt(&both, "%.*s to %.*s", STR_ARG(ask->path), STR_ARG(ask->to));
	r = work_fail(io, err, buf_view(&both));
	buf_free(&both);
	return r;
}

int change_move(struct transfer_io *io, const struct transfer_ask *ask)
{
	struct file_path p, to;
	int r;

	if (!work_path(io, ask->path, &p, &r) || !work_path(io, ask->to, &to, &r))
		return r;
	r = move(p.abs, to.abs, ask->replace);
	return r ? move_fail(io, ask, r) : done(io, 200, &to);
}

int change_remove(struct transfer_io *io, const struct transfer_ask *ask)
{
	char folder[FILE_PATH_MAX];
	struct file_path p;
	struct stat st;
	int dir, r;

	if (!work_path(io, ask->path, &p, &r))
		return r;
	if (lstat(p.abs, &st) < 0)
		return work_fail(io, -errno, ask->path);
	if (!ask->tree) {
		r = S_ISDIR(st.st_mode) ? rmdir(p.abs) : unlink(p.abs);
		return r < 0 ? work_fail(io, -errno, ask->path) : done(io, 200, &p);
	}
	memcpy(folder, p.abs, p.n + 1);
	*strrchr(folder, '/') = '\0';
	dir = fd_open(folder[0] ? folder : "/", O_PATH | O_DIRECTORY, 0);
	if (dir < 0)
		return work_fail(io, dir, ask->path);
	r = p.n > 1 ? root_remove(dir, file_path_base(&p).p) : -EBUSY;
	fd_close(&dir);
	return r ? work_fail(io, r, ask->path) : done(io, 200, &p);
}
