#include "proc/shells.h"

#include "base/fd.h"
#include "codec/exec_format.h"
#include "proc/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* Folders in which a shell given by its name is searched, also for busybox. */
static const char *const folders[] = {
	"/bin", "/usr/bin", "/usr/local/bin", "/busybox", "/.od/bin"};

const char *const shells_paths[] = {"/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash",
	"/bin/sh", "/usr/bin/sh", "/bin/ash", "/bin/busybox", "/usr/bin/busybox",
	"/busybox/busybox", "/.od/bin/busybox", NULL};

struct kind_name {
	const char *file;
	const char *arg0;
	enum shells_kind kind;
};

/* Kinds by the name of the file at the end of all links of a path. */
static const struct kind_name kind_names[] = {
	{"bash", "bash", SHELLS_BASH},
	{"rbash", "bash", SHELLS_BASH},
	{"zsh", "zsh", SHELLS_ZSH},
	{"zsh5", "zsh", SHELLS_ZSH},
	{"mksh", "mksh", SHELLS_MKSH},
	{"mksh-static", "mksh", SHELLS_MKSH},
	{"lksh", "mksh", SHELLS_MKSH},
	{"busybox", "sh", SHELLS_ASH},
	{"busybox.static", "sh", SHELLS_ASH},
	{"ash", "sh", SHELLS_ASH},
	{"dash", "dash", SHELLS_POSIX},
};

static int shells_join_path(const char *root, const char *path, char out[FILE_PATH_MAX])
{
	int n = snprintf(out, FILE_PATH_MAX, "%s%s", root, path);

	return n < 0 || n >= FILE_PATH_MAX ? -ENAMETOOLONG : 0;
}

static const char *shells_basename(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Whether the mode bits allow it; user NULL: this process, as access(2) reports. */
static bool shells_may_execute(const struct stat *st, const struct spawn_user *user)
{
	if (!user || user->uid == 0)
		return st->st_mode & 0111;
	if (st->st_uid == user->uid)
		return st->st_mode & S_IXUSR;
	for (size_t i = 0; i <= user->ngroups; i++)
		if (st->st_gid == (i ? user->groups[i - 1] : user->gid))
			return st->st_mode & S_IXGRP;
	return st->st_mode & S_IXOTH;
}

/* For a missing loader or an empty file exec would fail with ENOENT or ENOEXEC. */
static int shells_check_format(const char *root, const char *full)
{
	char head[EXEC_FORMAT_HEAD], path[FILE_PATH_MAX], name[FILE_PATH_MAX];
	int fd = fd_open(full, O_RDONLY, 0);
	struct str interpreter;
	ssize_t n;

	/* A program may be executed without the right to read it. */
	if (fd < 0)
		return 0;
	n = read(fd, head, sizeof(head));
	fd_close(&fd);
	if (n < 0)
		return 0;
	if (exec_format_read(str_make(head, (size_t)n), &interpreter))
		return -ENOEXEC;
	if (!interpreter.n)
		return 0;
	if (interpreter.n >= sizeof(name))
		return -ENAMETOOLONG;
	memcpy(name, interpreter.p, interpreter.n);
	name[interpreter.n] = '\0';
	if (shells_join_path(root, name, path))
		return -ENAMETOOLONG;
	return access(path, X_OK) < 0 ? -errno : 0;
}

/*
 * Follows symlinks of the last part of path inside the root: *full is the file at their
 * end. -errno when there is no file that can be executed.
 */
static int shells_resolve_links(
	const char *root, const char *path, char full[FILE_PATH_MAX])
{
	int r = shells_join_path(root, path, full);

	for (int links = 0; !r && links <= FILE_LINKS_MAX; links++) {
		char next[FILE_PATH_MAX], link[FILE_PATH_MAX];
		size_t folder = (size_t)(shells_basename(full) - full);
		ssize_t n = readlink(full, link, sizeof(link) - 1);

		if (n < 0)
			break;
		link[n] = '\0';
		if (*link == '/') {
			r = shells_join_path(root, link, full);
		} else if (folder + (size_t)n < sizeof(next)) {
			memcpy(full + folder, link, (size_t)n + 1);
		} else {
			r = -ENAMETOOLONG;
		}
	}
	return r;
}

/* The error that exec would return for full and that user. */
static int shells_check_program(const struct shells_place *p, const char *full)
{
	struct stat st;

	if (stat(full, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || !shells_may_execute(&st, p->user))
		return -EACCES;
	/*
	 * AT_EACCESS is not used: libc has no fallback if a seccomp filter forbids the
	 * call.
	 */
	if (access(full, X_OK) < 0)
		return -errno;
	return shells_check_format(p->root, full);
}

/*
 * Some images have hard links for all names of busybox, so that no link can be followed.
 */
static bool shells_is_busybox(const char *root, const char *full)
{
	struct stat st, box;
	char path[FILE_PATH_MAX];

	if (stat(full, &st) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
		int n = snprintf(path, sizeof(path), "%s%s/busybox", root, folders[i]);

		if (n > 0 && n < FILE_PATH_MAX && stat(path, &box) == 0 &&
			box.st_ino == st.st_ino && box.st_dev == st.st_dev)
			return true;
	}
	return false;
}

static struct kind_name shells_detect_kind(const char *root, const char *full)
{
	const char *file =
		shells_is_busybox(root, full) ? "busybox" : shells_basename(full);

	for (size_t i = 0; i < ARRAY_LEN(kind_names); i++)
		if (strcmp(kind_names[i].file, file) == 0)
			return kind_names[i];
	return (struct kind_name){file, "sh", SHELLS_POSIX};
}

static int shells_try_path(
	const struct shells_place *p, const char *path, struct shells_found *out)
{
	char full[FILE_PATH_MAX];
	struct kind_name k;
	int r = strlen(path) < sizeof(out->path) ? 0 : -ENAMETOOLONG;

	if (!r)
		r = shells_resolve_links(p->root, path, full);
	if (!r)
		r = shells_check_program(p, full);
	if (r)
		return r;
	k = shells_detect_kind(p->root, full);
	memcpy(out->path, path, strlen(path) + 1);
	out->arg0 = k.arg0;
	out->kind = k.kind;
	return 0;
}

static int shells_try_name(
	const struct shells_place *p, const char *name, struct shells_found *out)
{
	int r = -ENOENT;

	for (size_t i = 0; i < ARRAY_LEN(folders) && r; i++) {
		char path[FILE_PATH_MAX];
		int n = snprintf(path, sizeof(path), "%s/%s", folders[i], name);

		r = n > 0 && n < FILE_PATH_MAX ? shells_try_path(p, path, out)
					       : -ENAMETOOLONG;
	}
	return r;
}

int shells_find(const struct shells_place *p, const char *configured,
	struct shells_found *out, struct buf *notes)
{
	bool asked = configured && *configured;
	int r = -ENOENT;

	if (asked) {
		r = strchr(configured, '/') ? shells_try_path(p, configured, out)
					    : shells_try_name(p, configured, out);
		if (!r)
			return 0;
		buf_fmt(notes, "no shell %s: %s\n", configured, err_text(r));
	}
	for (size_t i = 0; shells_paths[i]; i++)
		if (shells_try_path(p, shells_paths[i], out) == 0)
			return 0;
	buf_puts(notes, "this image has no shell; these paths were searched: ");
	if (asked)
		buf_fmt(notes, "%s, ", configured);
	for (size_t i = 0; shells_paths[i]; i++)
		buf_fmt(notes, "%s%s", i ? ", " : "", shells_paths[i]);
	buf_putc(notes, '\n');
	return -ENOENT;
}
