#include "fs/outline.h"

#include "base/arena.h"
#include "base/fd.h"
#include "base/utf8.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

enum {
	EDIT_LIST_MAX = 100000,      /* entries sorted for a view of 16,000 characters */
	EDIT_LIST_MEMORY = 64 << 20, /* bytes of their names, 300 each with the path */
};

static const char cut_notice[] =
	"<response clipped><NOTE>Due to the max output limit, only part of this "
	"directory "
	"has been shown to you. You should use `ls -la` instead to view large "
	"directories incrementally.</NOTE>";

struct entry {
	const char *path;
	bool folder;
};

struct outline {
	struct arena memory;
	struct entry *entries;
	size_t n;
	size_t hidden;
};

static int outline_compare_path(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->path, ((const struct entry *)b)->path);
}

static const char *outline_join_path(
	struct arena *memory, const char *folder, const char *name)
{
	size_t n = strlen(folder), m = strlen(name);
	char *path = arena_alloc(memory, n + m + 2);

	if (!path)
		return NULL;
	memcpy(path, folder, n);
	path[n] = '/';
	memcpy(path + n + 1, name, m + 1);
	return path;
}

static bool outline_is_dot_entry(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

/* Adds the entries of one folder; entries beyond the maximum are omitted. */
static int outline_add_folder(struct outline *o, const char *folder, size_t *hidden)
{
	int fd = fd_open(*folder ? folder : "/", O_RDONLY | O_DIRECTORY, 0);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	int r = 0;

	if (!dir) {
		r = fd < 0 ? fd : -errno;
		fd_close(&fd);
		return r;
	}
	while (!r && o->n < EDIT_LIST_MAX && (e = readdir(dir))) {
		struct stat st;
		struct entry *at = &o->entries[o->n];

		*hidden += e->d_name[0] == '.' && !outline_is_dot_entry(e->d_name);
		if (e->d_name[0] == '.')
			continue;
		at->path = outline_join_path(&o->memory, folder, e->d_name);
		at->folder = fstatat(fd, e->d_name, &st, 0) == 0 && S_ISDIR(st.st_mode);
		if (at->path)
			o->n++;
		else
			r = -ENOMEM;
	}
	closedir(dir);
	return r;
}

static void outline_put_list(
	const struct outline *o, const struct file_path *folder, struct buf *out)
{
	struct buf list = BUF_INIT(EDIT_LIST_MEMORY);
	size_t shown;

	buf_fmt(out,
		"Here's the files and directories up to 2 levels deep in %s, excluding "
		"hidden items:\n",
		folder->abs);
	buf_puts(&list, folder->n > 1 ? folder->abs : "");
	buf_putc(&list, '/');
	/*
	 * Each character has at least one byte: text that would be cut off is not
	 * composed.
	 */
	for (size_t i = 0; i < o->n && list.n <= 4 * EDIT_SHOWN_CHARS; i++)
		buf_fmt(&list, "\n%s%s", o->entries[i].path,
			o->entries[i].folder ? "/" : "");
	shown = utf8_offset(buf_view(&list), EDIT_SHOWN_CHARS);
	buf_put(out, list.p, shown);
	if (shown < list.n || o->n == EDIT_LIST_MAX)
		buf_puts(out, cut_notice);
	if (list.err && !out->err)
		out->err = list.err;
	buf_free(&list);
	if (o->hidden)
		buf_fmt(out,
			"\n\n%zu hidden files/directories in this directory are "
			"excluded. You can use 'ls -la %s' to see them.",
			o->hidden, folder->abs);
}

int outline_write(const struct file_path *folder, struct buf *out)
{
	const char *top = folder->n > 1 ? folder->abs : "";
	struct outline o = {.n = 0};
	size_t below = 0, first_level;
	int r = -ENOMEM;

	arena_init(&o.memory, EDIT_LIST_MEMORY);
	o.entries = arena_array(&o.memory, EDIT_LIST_MAX, sizeof(*o.entries));
	if (o.entries)
		r = outline_add_folder(&o, top, &o.hidden);
	first_level = o.n;
	for (size_t i = 0; i < first_level && !r; i++)
		/* A folder that cannot be read is listed without its entries. */
		if (o.entries[i].folder &&
			outline_add_folder(&o, o.entries[i].path, &below) == -ENOMEM)
			r = -ENOMEM;
	if (!r) {
		qsort(o.entries, o.n, sizeof(*o.entries), outline_compare_path);
		outline_put_list(&o, folder, out);
		r = out->err;
	}
	arena_reset(&o.memory);
	return r;
}
