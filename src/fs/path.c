#include "fs/path.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* Appends the parts of path, each after a slash. */
static int file_path_add_parts(struct file_path *p, struct str path)
{
	while (path.n) {
		struct str part = str_cut(&path, '/');

		if (part.n == 0 || str_eq(part, STR(".")))
			continue;
		/* Room for the slash and the final NUL. */
		if (part.n > sizeof(p->abs) - p->n - 2)
			return -ENAMETOOLONG;
		p->abs[p->n++] = '/';
		memcpy(p->abs + p->n, part.p, part.n);
		p->n += part.n;
	}
	return 0;
}

int file_path_make(struct file_path *p, struct str cwd, struct str sent, struct buf *why)
{
	struct file_path made = {.n = 0};
	int r = 0;

	if (str_find_byte(sent, '\0') < sent.n) {
		buf_puts(why, "Path holds a NUL byte. No file can have such a name");
		return -EINVAL;
	}
	if (!str_starts(sent, STR("/")) && str_starts(cwd, STR("/")))
		r = file_path_add_parts(&made, cwd);
	if (!r)
		r = file_path_add_parts(&made, sent);
	if (r) {
		buf_fmt(why, "Path is too long: it has more than %d bytes",
			FILE_PATH_MAX - 1);
		return r;
	}
	if (made.n == 0)
		made.abs[made.n++] = '/';
	made.abs[made.n] = '\0';
	*p = made;
	return 0;
}

struct str file_path_base(const struct file_path *p)
{
	const char *slash = memrchr(p->abs, '/', p->n);

	return str_skip(str_make(p->abs, p->n), (size_t)(slash - p->abs) + 1);
}

struct str file_path_ext(const struct file_path *p)
{
	struct str base = file_path_base(p);
	const char *dot = base.n ? memrchr(base.p, '.', base.n) : NULL;

	/* A leading dot hides a file and starts no extension. */
	if (!dot || dot == base.p)
		return str_make(base.p, 0);
	return str_skip(base, (size_t)(dot - base.p) + 1);
}

bool file_path_is_binary(const struct file_path *p)
{
	return str_eq(file_path_ext(p), STR("pyc"));
}

/*
 * Moves *dir to the folder part of path, which is modified, and points *base at the
 * last part.
 */
static int file_path_enter_folder(int *dir, char *path, char **base)
{
	char *slash = strrchr(path, '/');
	const char *folder = slash == path ? "/" : path;
	int fd;

	*base = slash ? slash + 1 : path;
	if (!slash)
		return 0;
	*slash = '\0';
	fd = fd_openat(*dir, folder, O_PATH | O_DIRECTORY, 0);
	if (fd < 0)
		return fd;
	fd_close(dir);
	*dir = fd;
	return 0;
}

/* Whether the kernel resolves the name only as a folder. */
static bool file_path_is_folder_name(const char *base)
{
	return !*base || strcmp(base, ".") == 0 || strcmp(base, "..") == 0;
}

int file_path_open_dir(const struct file_path *p, int *dir, char base[FILE_PATH_MAX])
{
	char path[FILE_PATH_MAX];
	char *name;
	int at = -1;
	int r;

	memcpy(path, p->abs, p->n + 1);
	for (int links = 0; links <= FILE_LINKS_MAX; links++) {
		char link[FILE_PATH_MAX];
		ssize_t n;

		r = file_path_enter_folder(&at, path, &name);
		if (!r && file_path_is_folder_name(name))
			r = -EISDIR;
		if (r)
			goto out;
		n = readlinkat(at, name, link, sizeof(link) - 1);
		if (n < 0) {
			/* Not a link, or it does not exist: the search ends here. */
			memcpy(base, name, strlen(name) + 1);
			*dir = at;
			return 0;
		}
		memcpy(path, link, (size_t)n);
		path[n] = '\0';
	}
	r = -ELOOP;
out:
	fd_close(&at);
	return r;
}
