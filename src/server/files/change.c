/* POST /v1/files/mkdir and mv, DELETE /v1/files, in their jobs. */
#include "server/files/file_jobs.h"

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
static int change_reply_path(
	struct transfer_io *io, unsigned status, const struct file_path *p)
{
	struct jw w;

	jw_init(&w, &io->buf);
	jw_object(&w);
	jw_key(&w, "path");
	jw_str(&w, str_make(p->abs, p->n));
	jw_end(&w);
	return transfer_reply_json(io, status);
}

int change_mkdir(struct transfer_io *io, const struct transfer_request *ask)
{
	struct file_path p;
	int fd, r;

	if (!file_jobs_check_path(io, ask->path, &p, &r))
		return r;
	if (!ask->parents) {
		if (mkdir(p.abs, MODE_FOLDER) < 0)
			return file_jobs_fail(io, -errno, ask->path);
		return change_reply_path(io, 201, &p);
	}
	fd = file_jobs_open_folder(p.abs, false);
	if (fd < 0)
		return file_jobs_fail(io, fd, ask->path);
	fd_close(&fd);
	return change_reply_path(io, 201, &p);
}

static int change_rename_path(const char *from, const char *to, bool replace)
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
static int change_fail_rename(
	struct transfer_io *io, const struct transfer_request *ask, int err)
{
	struct buf both = BUF_INIT(FILE_WORDS_MAX);
	int r;

	if (err == -EEXIST)
		return file_jobs_fail(io, err, ask->to);
	buf_fmt(&both, "%.*s to %.*s", STR_ARG(ask->path), STR_ARG(ask->to));
	r = file_jobs_fail(io, err, buf_view(&both));
	buf_free(&both);
	return r;
}

int change_move(struct transfer_io *io, const struct transfer_request *ask)
{
	struct file_path p, to;
	int r;

	if (!file_jobs_check_path(io, ask->path, &p, &r) ||
		!file_jobs_check_path(io, ask->to, &to, &r))
		return r;
	r = change_rename_path(p.abs, to.abs, ask->replace);
	return r ? change_fail_rename(io, ask, r) : change_reply_path(io, 200, &to);
}

int change_remove(struct transfer_io *io, const struct transfer_request *ask)
{
	char folder[FILE_PATH_MAX];
	struct file_path p;
	struct stat st;
	int dir, r;

	if (!file_jobs_check_path(io, ask->path, &p, &r))
		return r;
	if (lstat(p.abs, &st) < 0)
		return file_jobs_fail(io, -errno, ask->path);
	if (!ask->tree) {
		r = S_ISDIR(st.st_mode) ? rmdir(p.abs) : unlink(p.abs);
		return r < 0 ? file_jobs_fail(io, -errno, ask->path)
			     : change_reply_path(io, 200, &p);
	}
	memcpy(folder, p.abs, p.n + 1);
	*strrchr(folder, '/') = '\0';
	dir = fd_open(folder[0] ? folder : "/", O_PATH | O_DIRECTORY, 0);
	if (dir < 0)
		return file_jobs_fail(io, dir, ask->path);
	r = p.n > 1 ? root_remove(dir, file_path_base(&p).p) : -EBUSY;
	fd_close(&dir);
	return r ? file_jobs_fail(io, r, ask->path) : change_reply_path(io, 200, &p);
}
