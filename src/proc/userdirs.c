#include "proc/userdirs.h"

#include "base/clock.h"
#include "base/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* Entries between two checks of the clock. */
enum { CLOCK_STRIDE = 256 };

/* Whether the mode gives the bits (of 07) to the user. */
static bool userdirs_mode_allows(const struct user *u, const struct stat *st, mode_t bits)
{
	mode_t given = st->st_mode & 07;

	if (st->st_uid == u->uid) {
		given = st->st_mode >> 6 & 07;
	} else {
		for (size_t i = 0; i < u->groups_n; i++)
			if (u->groups[i] == st->st_gid)
				given = st->st_mode >> 3 & 07;
	}
	return (given & bits) == bits;
}

bool userdirs_can_write(const struct user *u, const char *path)
{
	char part[FILE_PATH_MAX];
	struct stat st;
	size_t n = strlen(path);

	/*
	 * access(2) covers what concerns our own identity as well, such as a read-only
	 * file system. AT_EACCESS is not used: libc has no fallback if a seccomp filter
	 * forbids the call.
	 */
	if (*path != '/' || n >= sizeof(part) || stat(path, &st) < 0 ||
		!S_ISDIR(st.st_mode) || access(path, W_OK | X_OK) < 0)
		return false;
	if (u->uid == 0 || u->uid == geteuid())
		return true;
	if (!userdirs_mode_allows(u, &st, 03))
		return false;
	memcpy(part, path, n + 1);
	for (char *at = strchr(part + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		if (stat(part, &st) < 0 || !userdirs_mode_allows(u, &st, 01))
			return false;
		*at = '/';
	}
	return true;
}

static int userdirs_copy_path(const char *path, char out[USER_PATH_MAX])
{
	memcpy(out, path, strlen(path) + 1);
	return 0;
}

static bool userdirs_is_usable(const struct user *u, const char *path)
{
	return path && strlen(path) < USER_PATH_MAX && userdirs_can_write(u, path);
}

/* The last fallback: a folder in the state directory, for this user alone. */
static int userdirs_make_state(const struct user *u, const char *state, const char *name,
	char out[USER_PATH_MAX])
{
	char path[USER_PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/%s", state, name);

	if (n < 0 || n >= (int)sizeof(path))
		return -ENAMETOOLONG;
	if (mkdir(state, 0755) < 0 && errno != EEXIST)
		return -errno;
	if (mkdir(path, 0700) == 0) {
		if (u->uid != geteuid() && lchown(path, u->uid, u->gid) < 0)
			return -errno;
	} else if (errno != EEXIST) {
		return -errno;
	}
	return userdirs_can_write(u, path) ? userdirs_copy_path(path, out) : -EACCES;
}

int userdirs_find_home(const struct user *u, const char *env_home, const char *state,
	char out[USER_PATH_MAX])
{
	if (userdirs_is_usable(u, env_home) && strcmp(env_home, "/") != 0)
		return userdirs_copy_path(env_home, out);
	if (userdirs_is_usable(u, u->home) && strcmp(u->home, "/") != 0)
		return userdirs_copy_path(u->home, out);
	return userdirs_make_state(u, state, "home", out);
}

int userdirs_find_tmp(const struct user *u, const char *env_tmp, const char *state,
	char out[USER_PATH_MAX])
{
	const char *const ladder[] = {env_tmp, "/tmp", "/var/tmp", "/dev/shm"};

	for (size_t i = 0; i < ARRAY_LEN(ladder); i++)
		if (userdirs_is_usable(u, ladder[i]))
			return userdirs_copy_path(ladder[i], out);
	return userdirs_make_state(u, state, "tmp", out);
}

/* Makes all missing folders of an absolute path. */
static int userdirs_make_path(const char *path)
{
	char part[FILE_PATH_MAX];
	size_t n = strlen(path);
	mode_t mask;
	int r = 0;

	if (*path != '/')
		return -EINVAL;
	if (n >= sizeof(part))
		return -ENAMETOOLONG;
	memcpy(part, path, n + 1);
	mask = umask(002);
	for (char *at = part; !r && at;) {
		at = strchr(at + 1, '/');
		if (at)
			*at = '\0';
		if (mkdir(part, 0777) < 0)
			r = -errno;
		/*
		 * For an existing folder mkdir may fail with another error than EEXIST.
		 */
		if (r && access(part, F_OK) == 0)
			r = 0;
		if (at)
			*at = '/';
	}
	umask(mask);
	return r;
}

/* The open folders from the top to the current one. */
struct walk {
	DIR *at[WORKDIR_DEPTH_MAX];
	size_t depth;
	dev_t dev;
	uid_t uid;
	gid_t gid;
	uint64_t deadline;
	struct workdir_report report;
};

static void userdirs_walk_enter(struct walk *w, int dir, const char *name)
{
	int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
	DIR *d = NULL;
	int fd;

	if (w->depth == WORKDIR_DEPTH_MAX) {
		w->report.stopped = "folders are nested too deeply";
		return;
	}
	fd = fd_openat(dir, name, flags, 0);
	if (fd >= 0)
		d = fdopendir(fd);
	if (d)
		w->at[w->depth++] = d;
	else
		w->report.failed++;
	if (!d)
		fd_close(&fd);
}

static void userdirs_walk_entry(struct walk *w, int dir, const char *name)
{
	struct stat st;

	w->report.seen++;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		w->report.failed++;
		return;
	}
	if (st.st_dev != w->dev)
		return;
	/* A hard link may be the name of a file that lies elsewhere. */
	if (st.st_uid != w->uid && !S_ISDIR(st.st_mode) && st.st_nlink > 1) {
		w->report.failed++;
	} else if (st.st_uid != w->uid) {
		if (fchownat(dir, name, w->uid, w->gid, AT_SYMLINK_NOFOLLOW) < 0)
			w->report.failed++;
		else
			w->report.changed++;
	}
	if (S_ISDIR(st.st_mode))
		userdirs_walk_enter(w, dir, name);
}

static bool userdirs_walk_is_over(struct walk *w)
{
	if (w->report.seen >= WORKDIR_ENTRIES_MAX)
		w->report.stopped = "too many entries";
	else if (w->report.seen % CLOCK_STRIDE == 0 && clock_ms() >= w->deadline)
		w->report.stopped = "no more time";
	else
		return false;
	return true;
}

static void userdirs_walk(struct walk *w)
{
	while (w->depth && !userdirs_walk_is_over(w)) {
		DIR *d = w->at[w->depth - 1];
		struct dirent *e = readdir(d);

		if (!e) {
			closedir(d);
			w->depth--;
		} else if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) {
			userdirs_walk_entry(w, dirfd(d), e->d_name);
		}
	}
	while (w->depth)
		closedir(w->at[--w->depth]);
}

/* As upstream's chown U:G and chmod g+rw; errors are counted. */
static void userdirs_chown_top(struct walk *w, int fd, const struct stat *st)
{
	w->report.seen = 1;
	if (st->st_uid != w->uid || st->st_gid != w->gid) {
		if (fchown(fd, w->uid, w->gid) < 0)
			w->report.failed++;
		else
			w->report.changed++;
	}
	if ((st->st_mode & 060) != 060 && fchmod(fd, (st->st_mode & 07777) | 060) < 0)
		w->report.failed++;
}

int userdirs_make_work(const char *path, const struct user *u, gid_t gid,
	uint64_t deadline, struct workdir_report *out)
{
	struct walk w = {.uid = u->uid, .gid = gid, .deadline = deadline};
	struct stat st;
	int r = userdirs_make_path(path);
	int fd;

	if (r)
		return r;
	/*
	 * When a container is started again, the user may have replaced the folder by a
	 * link.
	 */
	fd = fd_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	if (fd < 0)
		return fd;
	if (geteuid() == 0 && fstat(fd, &st) == 0) {
		userdirs_chown_top(&w, fd, &st);
		w.dev = st.st_dev;
		userdirs_walk_enter(&w, fd, ".");
		userdirs_walk(&w);
	}
	fd_close(&fd);
	*out = w.report;
	return 0;
}
