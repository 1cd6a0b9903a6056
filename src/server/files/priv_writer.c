#include "server/files/priv_writer.h"

#include "base/atomic_file.h"
#include "base/fd.h"
#include "base/log.h"
#include "fs/root.h"
#include "limits.h"
#include "proc/companion.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

enum { MODE_BITS = 0777, MODE_FILE = 0644, MODE_FOLDER = 0755 };

enum writer_op { WRITER_FOLDER, WRITER_OPEN, WRITER_COMMIT };

struct writer_request {
	enum writer_op op;
	mode_t mode;
	bool sync;
	char path[FILE_PATH_MAX];
};

/* The writer process. Its only input is the socket. */
struct writer {
	const struct priv_writer_conf *conf;
	int sock;
	dev_t dev; /* of the working directory */
	bool open; /* a file was begun; it has the members below */
	struct atomic_file swap;
	int dir;
	mode_t mode;
	char name[NAME_MAX + 1];
};

/* --- Folders ---------------------------------------------------------------------- */

static int priv_writer_open_dir(int dir, const char *name)
{
	int fd = fd_openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);

	return fd == -ELOOP ? -ENOTDIR : fd;
}

static bool priv_writer_is_empty(int fd)
{
	DIR *list = NULL;
	size_t n = 0;

	if (root_list(fd, ".", &list))
		return false;
	while (n < 3 && readdir(list))
		n++;
	closedir(list);
	return n == 2;
}

/*
 * Makes a folder and gives it to the user. If the parent folder belongs to the user, the
 * user can replace the new folder before it is opened. This gains nothing: only an empty
 * folder is given away, and the user could make one there.
 */
static int priv_writer_create_dir(const struct writer *w, int dir, const char *name)
{
	int made = mkdirat(dir, name, MODE_FOLDER) < 0 ? -errno : 0;
	int fd = made && made != -EEXIST ? made : priv_writer_open_dir(dir, name);

	if (!made && fd >= 0 && priv_writer_is_empty(fd) &&
		fchown(fd, w->conf->uid, w->conf->gid) < 0) {
		made = -errno;
		fd_close(&fd);
		return made;
	}
	return fd;
}

/* Opens or makes the next folder of a path, on the same file system. */
static int priv_writer_open_next(const struct writer *w, int dir, struct str part)
{
	char name[NAME_MAX + 1];
	struct stat st;
	int fd;

	if (part.n >= sizeof(name))
		return -ENAMETOOLONG;
	memcpy(name, part.p, part.n);
	name[part.n] = '\0';
	fd = priv_writer_open_dir(dir, name);
	if (fd == -ENOENT)
		fd = priv_writer_create_dir(w, dir, name);
	if (fd >= 0 && (fstat(fd, &st) < 0 || st.st_dev != w->dev)) {
		fd_close(&fd);
		return -EXDEV;
	}
	return fd;
}

/* Normalizes an absolute path, without its first "/". "/" itself is refused. */
static int priv_writer_clean_path(const char *path, char out[FILE_PATH_MAX])
{
	int r = path[0] == '/'
		? root_normalize(str_skip(str_c(path), 1), out, FILE_PATH_MAX)
		: ERR_SYNTAX;

	return r == -ENAMETOOLONG ? r : r ? -EACCES : 0;
}

/* Opens the working directory; clean is its path without the first "/". */
static int priv_writer_open_top(struct writer *w, const char *clean)
{
	int above = fd_open("/", O_PATH | O_DIRECTORY, 0);
	int fd = above < 0 ? above : root_open(above, clean, NULL);
	struct stat top, root;

	if (fd >= 0 &&
		(fstat(fd, &top) < 0 || fstat(above, &root) < 0 ||
			(top.st_dev == root.st_dev && top.st_ino == root.st_ino)))
		fd_close(&fd);
	else if (fd >= 0)
		w->dev = top.st_dev;
	fd_close(&above);
	return fd == -1 ? -EACCES : fd;
}

/*
 * Opens the folder that holds the last part of path, which is *base. If base is NULL,
 * opens the folder path itself. Missing folders are made.
 */
static int priv_writer_open_path(
	struct writer *w, const char *path, char room[FILE_PATH_MAX], const char **base)
{
	char top[FILE_PATH_MAX];
	struct str rest;
	size_t n;
	int r = priv_writer_clean_path(w->conf->top, top);
	int at;

	if (!r)
		r = priv_writer_clean_path(path, room);
	if (r)
		return r;
	n = strlen(top);
	if (strncmp(room, top, n) != 0 || (room[n] && room[n] != '/'))
		return -EACCES;
	if (base && !room[n])
		return -EISDIR;
	rest = str_c(room + n + (room[n] == '/'));
	if (base) {
		*base = strrchr(room, '/') + 1;
		rest.n = *base > rest.p ? (size_t)(*base - rest.p) - 1 : 0;
	}
	at = priv_writer_open_top(w, top);
	while (at >= 0 && rest.n) {
		int below = priv_writer_open_next(w, at, str_cut(&rest, '/'));

		fd_close(&at);
		at = below;
	}
	return at;
}

/* --- Requests --------------------------------------------------------------------- */

static void priv_writer_close_file(struct writer *w)
{
	if (!w->open)
		return;
	atomic_file_end(&w->swap);
	fd_close(&w->dir);
	w->open = false;
}

static int priv_writer_make_path(struct writer *w, const char *path)
{
	char room[FILE_PATH_MAX];
	int fd = priv_writer_open_path(w, path, room, NULL);

	if (fd < 0)
		return fd;
	fd_close(&fd);
	return 0;
}

/* Checks that the name is free or has a file or link, which may be replaced. */
static int priv_writer_check_target(struct writer *w)
{
	struct stat st;

	w->mode = MODE_FILE;
	if (fstatat(w->dir, w->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (S_ISREG(st.st_mode))
		w->mode = st.st_mode & MODE_BITS;
	return S_ISREG(st.st_mode) || S_ISLNK(st.st_mode) ? 0
		: S_ISDIR(st.st_mode)                     ? -EISDIR
							  : -EEXIST;
}

static int priv_writer_begin_file(struct writer *w, const char *path)
{
	char room[FILE_PATH_MAX];
	const char *base = "";
	int r;

	priv_writer_close_file(w);
	w->dir = priv_writer_open_path(w, path, room, &base);
	if (w->dir < 0)
		return w->dir;
	r = strlen(base) < sizeof(w->name) ? 0 : -ENAMETOOLONG;
	if (!r) {
		memcpy(w->name, base, strlen(base) + 1);
		r = priv_writer_check_target(w);
	}
	if (!r)
		r = atomic_file_begin(&w->swap, w->dir);
	if (r)
		fd_close(&w->dir);
	w->open = !r;
	return r;
}

static int priv_writer_commit_file(struct writer *w, mode_t mode, bool sync)
{
	struct atomic_file_attr attr = {
		.mode = mode == PRIV_WRITER_MODE_SAME ? w->mode : mode & MODE_BITS,
		.uid = w->conf->uid,
		.gid = w->conf->gid,
	};
	int r = w->open ? 0 : -EINVAL;

	if (!r && sync && fsync(w->swap.fd) < 0)
		r = -errno;
	if (!r)
		r = atomic_file_commit(&w->swap, w->name, &attr, NULL);
	if (!r && sync)
		r = fd_sync_folder(w->dir, ".");
	priv_writer_close_file(w);
	return r;
}

static int priv_writer_handle(struct writer *w, struct writer_request *q)
{
	q->path[sizeof(q->path) - 1] = '\0';
	switch (q->op) {
	case WRITER_FOLDER:
		return priv_writer_make_path(w, q->path);
	case WRITER_OPEN:
		return priv_writer_begin_file(w, q->path);
	case WRITER_COMMIT:
		return priv_writer_commit_file(w, q->mode, q->sync);
	}
	return -EINVAL;
}

static void priv_writer_run(int sock, const void *arg)
{
	static struct writer_request q;
	struct writer w = {.conf = arg, .sock = sock, .dir = -1};
	int none = -1, r;

	while (fd_recv_record(w.sock, &q, sizeof(q), &none) == (ssize_t)sizeof(q)) {
		fd_close(&none);
		r = priv_writer_handle(&w, &q);
		if (fd_send_record(w.sock, &r, sizeof(r), w.open ? w.swap.fd : -1) < 0)
			break;
	}
	priv_writer_close_file(&w);
}

/* --- The side of the job ---------------------------------------------------------- */

static struct companion companion = {.sock = -1};

void priv_writer_start(const struct priv_writer_conf *c)
{
	int r = companion_begin(&companion, priv_writer_run, c);

	if (r)
		log_warn("an upload cannot start the privileged writer, and is done with "
			 "the rights of the sandbox user: %s",
			err_text(r));
}

void priv_writer_end(void)
{
	companion_end(&companion);
}

/* Sends a request. Returns 0 or its error. *fd is the fd of the reply, or -1. */
static int priv_writer_call(
	enum writer_op op, const char *path, mode_t mode, bool sync, int *fd)
{
	static struct writer_request q;
	ssize_t n;
	int r = -EACCES, err;

	*fd = -1;
	if (companion.sock < 0)
		return r;
	if (strlen(path) >= sizeof(q.path))
		return -ENAMETOOLONG;
	q.op = op;
	q.mode = mode;
	q.sync = sync;
	memcpy(q.path, path, strlen(path) + 1);
	err = fd_send_record(companion.sock, &q, sizeof(q), -1);
	n = err ? err : fd_recv_record(companion.sock, &r, sizeof(r), fd);
	return n < 0 ? (int)n : n == (ssize_t)sizeof(r) ? r : -EIO;
}

int priv_writer_make_folder(const char *path)
{
	int fd;
	int r = priv_writer_call(WRITER_FOLDER, path, 0, false, &fd);

	fd_close(&fd);
	return r;
}

int priv_writer_open(const char *path)
{
	int fd;
	int r = priv_writer_call(WRITER_OPEN, path, 0, false, &fd);

	return r ? r : fd < 0 ? -EIO : fd;
}

int priv_writer_commit(mode_t mode, bool sync)
{
	int fd;
	int r = priv_writer_call(WRITER_COMMIT, "", mode, sync, &fd);

	fd_close(&fd);
	return r;
}
