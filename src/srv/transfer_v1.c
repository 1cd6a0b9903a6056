#include "srv/transfer_v1.h"

#include "base/fd.h"
#include "file/root.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MODE_FOLDER = 0777 };

static unsigned status_of(int err)
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

int v1_fail(struct transfer_io *io, int err, struct str path)
{
	struct buf words = BUF_INIT(FILE_WORDS_MAX);
	int r;

	buf_fmt(&words, "%.*s: %s", STR_ARG(path),
		err == ERR_TYPE ? "is no regular file" : err_text(err));
	r = transfer_fail(io, status_of(err), buf_view(&words));
	buf_free(&words);
	return r;
}

bool v1_path(struct transfer_io *io, struct str sent, struct file_path *p, int *r)
{
	struct buf why = BUF_INIT(FILE_WORDS_MAX);
	int err = file_path_make(p, STR("/"), sent, &why);

	if (err)
		*r = transfer_fail(io, 422, buf_view(&why));
	buf_free(&why);
	return !err;
}

int v1_open_folder(const char *path)
{
	char part[FILE_PATH_MAX];
	int fd = fd_open(path, O_PATH | O_DIRECTORY, 0);

	if (fd != -ENOENT)
		return fd;
	for (const char *at = path; at; at = strchr(at + 1, '/')) {
		if (at == path)
			continue;
		memcpy(part, path, (size_t)(at - path));
		part[at - path] = '\0';
		if (mkdir(part, MODE_FOLDER) < 0 && errno != EEXIST && errno != EROFS)
			return -errno;
	}
	if (mkdir(path, MODE_FOLDER) < 0 && errno != EEXIST)
		return -errno;
	return fd_open(path, O_PATH | O_DIRECTORY, 0);
}

static const char *type_of(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return "file";
	case S_IFDIR:
		return "directory";
	case S_IFLNK:
		return "symlink";
	case S_IFIFO:
		return "pipe";
	case S_IFSOCK:
		return "socket";
	default:
		return "device";
	}
}

/* Disks know years beyond 2262, when the nanoseconds need more than 64 bits. */
static int64_t nanoseconds(const struct timespec *t)
{
	int64_t ns;

	if (__builtin_mul_overflow((int64_t)t->tv_sec, 1000000000, &ns) ||
		__builtin_add_overflow(ns, (int64_t)t->tv_nsec, &ns))
		return t->tv_sec < 0 ? INT64_MIN : INT64_MAX;
	return ns;
}

static void put_stat(struct jw *w, const struct file_path *p, const struct stat *st)
{
	char text[FILE_PATH_MAX];
	ssize_t n;

	jw_key(w, "path");
	jw_str(w, str_make(p->abs, p->n));
	jw_key(w, "type");
	jw_cstr(w, type_of(st->st_mode));
	jw_key(w, "size");
	jw_int(w, st->st_size);
	snprintf(text, sizeof(text), "%04o", st->st_mode & 07777);
	jw_key(w, "mode");
	jw_cstr(w, text);
	jw_key(w, "uid");
	jw_uint(w, st->st_uid);
	jw_key(w, "gid");
	jw_uint(w, st->st_gid);
	jw_key(w, "links");
	jw_uint(w, st->st_nlink);
	jw_key(w, "mtime_ns");
	jw_int(w, nanoseconds(&st->st_mtim));
	n = S_ISLNK(st->st_mode) ? readlink(p->abs, text, sizeof(text)) : -1;
	if (n >= 0) {
		jw_key(w, "target");
		jw_str(w, str_make(text, (size_t)n));
	}
}

int v1_stat(struct transfer_io *io, const struct transfer_ask *ask)
{
	struct file_path p;
	struct stat st;
	struct jw w;
	int r;

	if (!v1_path(io, ask->path, &p, &r))
		return r;
	if (lstat(p.abs, &st) < 0)
		return v1_fail(io, -errno, ask->path);
	jw_init(&w, &io->buf);
	jw_object(&w);
	put_stat(&w, &p, &st);
	jw_end(&w);
	return transfer_json(io, 200);
}

/* What was done is told by the path alone. */
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

int v1_mkdir(struct transfer_io *io, const struct transfer_ask *ask)
{
	struct file_path p;
	int fd, r;

	if (!v1_path(io, ask->path, &p, &r))
		return r;
	if (!ask->recursive) {
		if (mkdir(p.abs, MODE_FOLDER) < 0)
			return v1_fail(io, -errno, ask->path);
		return done(io, 201, &p);
	}
	fd = v1_open_folder(p.abs);
	if (fd < 0)
		return v1_fail(io, fd, ask->path);
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

/* Both paths, as the kernel does not say which of them it means. */
static int move_fail(struct transfer_io *io, const struct transfer_ask *ask, int err)
{
	struct buf both = BUF_INIT(FILE_WORDS_MAX);
	int r;

	if (err == -EEXIST)
		return v1_fail(io, err, ask->to);
	buf_fmt(&both, "%.*s to %.*s", STR_ARG(ask->path), STR_ARG(ask->to));
	r = v1_fail(io, err, buf_view(&both));
	buf_free(&both);
	return r;
}

int v1_move(struct transfer_io *io, const struct transfer_ask *ask)
{
	struct file_path p, to;
	int r;

	if (!v1_path(io, ask->path, &p, &r) || !v1_path(io, ask->to, &to, &r))
		return r;
	r = move(p.abs, to.abs, ask->recursive);
	return r ? move_fail(io, ask, r) : done(io, 200, &to);
}

int v1_remove(struct transfer_io *io, const struct transfer_ask *ask)
{
	char folder[FILE_PATH_MAX];
	struct file_path p;
	struct stat st;
	int dir, r;

	if (!v1_path(io, ask->path, &p, &r))
		return r;
	if (lstat(p.abs, &st) < 0)
		return v1_fail(io, -errno, ask->path);
	if (!ask->recursive) {
		r = S_ISDIR(st.st_mode) ? rmdir(p.abs) : unlink(p.abs);
		return r < 0 ? v1_fail(io, -errno, ask->path) : done(io, 200, &p);
	}
	memcpy(folder, p.abs, p.n + 1);
	*strrchr(folder, '/') = '\0';
	dir = fd_open(folder[0] ? folder : "/", O_PATH | O_DIRECTORY, 0);
	if (dir < 0)
		return v1_fail(io, dir, ask->path);
	r = p.n > 1 ? root_remove(dir, file_path_base(&p).p) : -EBUSY;
	fd_close(&dir);
	return r ? v1_fail(io, r, ask->path) : done(io, 200, &p);
}
