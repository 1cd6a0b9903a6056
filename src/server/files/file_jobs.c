#include "server/files/file_jobs.h"

#include "base/fd.h"
#include "fs/load.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

/* REASON_MAX: the space for a reason after the path. */
enum { MODE_FOLDER = 0777, WHY_MAX = 256 };

static unsigned file_jobs_map_status(int err)
{
	switch (err) {
	case -ENOENT:
		return 404;
	case -EACCES:
	case -EPERM:
	case -EROFS:
		return 403;
	case -EEXIST:
	case -EISDIR:
	case -ENOTDIR:
	case -ENOTEMPTY:
	case -EXDEV:
	case -EBUSY:
	case -ELOOP:
	case ERR_TYPE:
		return 409;
	case -ENOSPC:
	case -EDQUOT:
	case -EFBIG:
		return 507;
	case -ENAMETOOLONG:
	case -EINVAL:
		return 422;
	case -ENOMEM:
		return 503;
	default:
		return 500;
	}
}

int file_jobs_fail(struct transfer_io *io, int err, struct str path)
{
	struct buf words = BUF_INIT(FILE_WORDS_MAX);
	int r;

	buf_fmt(&words, "%.*s: %s", STR_ARG(path),
		err == ERR_TYPE ? "is no regular file" : err_text(err));
	r = transfer_fail(io, file_jobs_map_status(err), buf_view(&words));
	buf_free(&words);
	return r;
}

bool file_jobs_check_path(
	struct transfer_io *io, struct str sent, struct file_path *p, int *r)
{
	struct buf why = BUF_INIT(FILE_WORDS_MAX);
	int err = file_path_make(p, STR("/"), sent, &why);

	if (err)
		*r = transfer_fail(io, 422, buf_view(&why));
	buf_free(&why);
	return !err;
}

/* Makes a folder. With sync, waits until its name is on disk. */
static int file_jobs_make_folder(const char *path, bool sync)
{
	char above[FILE_PATH_MAX];

	if (mkdir(path, MODE_FOLDER) < 0)
		return -errno;
	if (!sync)
		return 0;
	snprintf(above, sizeof(above), "%.*s/", (int)(strrchr(path, '/') - path), path);
	return fd_sync_folder(AT_FDCWD, above);
}

int file_jobs_open_folder(const char *path, bool sync)
{
	char part[FILE_PATH_MAX];
	int fd = fd_open(path, O_PATH | O_DIRECTORY, 0);
	int r;

	if (fd != -ENOENT)
		return fd;
	for (const char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
		memcpy(part, path, (size_t)(at - path));
		part[at - path] = '\0';
		r = file_jobs_make_folder(part, sync);
		if (r && r != -EEXIST && r != -EROFS)
			return r;
	}
	r = file_jobs_make_folder(path, sync);
	return r && r != -EEXIST ? r : fd_open(path, O_PATH | O_DIRECTORY, 0);
}

int file_jobs_open_top(const char *path, struct stat *st)
{
	int fd = load_open(AT_FDCWD, path, O_RDONLY, st);

	if (fd != ERR_TYPE)
		return fd;
	fd = fd_open(path, O_RDONLY | O_DIRECTORY, 0);
	if (fd >= 0 && fstat(fd, st) < 0) {
		int r = -errno;

		fd_close(&fd);
		return r;
	}
	return fd == -ENOTDIR ? ERR_TYPE : fd;
}

void file_jobs_add_omitted(struct buf *words, struct str path, const char *why)
{
	if (path.n + WHY_MAX < words->max - words->n)
		buf_fmt(words, "%.*s: %s\n", STR_ARG(path), why);
}

const char *file_jobs_get_error(const struct tree_item *i)
{
	return i->err == -EXDEV ? "a file system of the kernel's" : err_text(i->err);
}
