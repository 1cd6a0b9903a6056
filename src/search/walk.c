#include "search/walk.h"

#include "base/fd.h"
#include "fs/load.h"
#include "fs/root.h"
#include "limits.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	IGNORE_FILE_MAX = 1 << 20, /* bytes of one .gitignore */
	WALK_PATH_MAX = 16 << 10,  /* bytes; the kernel takes less at once */
};

enum { READ_SIZE = 32 << 10 };

struct walk_level {
	int fd;
	dev_t dev;
	size_t path_n;       /* length of the path up to the slash after this folder */
	size_t names, items; /* where the entries of this level begin */
	size_t next;         /* the next item */
	size_t rules;        /* the number of rules before this level */
};

struct walk_item {
	uint32_t name; /* offset in names */
	uint8_t type;
};

/* A record of getdents64(2). */
struct kernel_dirent {
	uint64_t ino;
	int64_t off;
	uint16_t reclen;
	uint8_t type;
	char name[];
};

static size_t walk_get_depth(const struct walk *w)
{
	return w->levels.n / sizeof(struct walk_level);
}

static struct walk_level *walk_get_level(const struct walk *w, size_t i)
{
	return (struct walk_level *)(void *)w->levels.p + i;
}

static struct walk_item *walk_get_item(const struct walk *w, size_t i)
{
	return (struct walk_item *)(void *)w->items.p + i;
}

/* --- Reading a folder ---------------------------------------------------------- */

static bool walk_is_listed(const struct walk *w, const char *name)
{
	if (name[0] != '.')
		return true;
	if (!name[1] || (name[1] == '.' && !name[2]))
		return false;
	return w->conf.hidden && (!w->conf.ignore || strcmp(name, ".git") != 0);
}

static uint8_t walk_get_type(int dir, const char *name, uint8_t type)
{
	struct stat st;

	if (type != DT_UNKNOWN)
		return type;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return DT_SOCK;
	return (uint8_t)IFTODT(st.st_mode);
}

static int walk_add_item(struct walk *w, int dir, const struct kernel_dirent *e)
{
	struct walk_item item = {
		.name = (uint32_t)w->names.n,
		.type = walk_get_type(dir, e->name, e->type),
	};

	buf_put(&w->names, e->name, strlen(e->name) + 1);
	buf_put(&w->items, &item, sizeof(item));
	return w->names.err ? w->names.err : w->items.err;
}

/* *rules: the folder has a .gitignore. */
static int walk_read_names(struct walk *w, int dir, bool *rules)
{
	static _Alignas(struct kernel_dirent) char room[READ_SIZE];
	long n;

	*rules = false;
	while ((n = syscall(SYS_getdents64, dir, room, sizeof(room))) > 0)
		for (long at = 0; at < n;) {
			const struct kernel_dirent *e = (const void *)(room + at);
			int r = 0;

			*rules |= !strcmp(e->name, ".gitignore");
			if (walk_is_listed(w, e->name))
				r = walk_add_item(w, dir, e);
			if (r)
				return r;
			at += e->reclen;
		}
	/* The names read before an error are kept. */
	if (n < 0)
		w->unreadable++;
	return 0;
}

static unsigned walk_get_byte(const char *name, size_t i, size_t n, bool dir)
{
	return i < n ? (uint8_t)name[i] : i == n && dir ? '/' : 0;
}

/* Compares a folder's name as if a slash followed it, so that paths come out in order. */
static int walk_compare_path(const void *a, const void *b, void *names)
{
	const struct walk_item *x = a, *y = b;
	const char *p = (const char *)names + x->name, *q = (const char *)names + y->name;
	size_t p_n = strlen(p), q_n = strlen(q), i = 0;
	unsigned c, d;

	while (p[i] && p[i] == q[i])
		i++;
	c = walk_get_byte(p, i, p_n, x->type == DT_DIR);
	d = walk_get_byte(q, i, q_n, y->type == DT_DIR);
	return (c > d) - (c < d);
}

static int walk_compare_type(const void *a, const void *b, void *names)
{
	const struct walk_item *x = a, *y = b;
	bool p = x->type == DT_DIR, q = y->type == DT_DIR;

	(void)names;
	return p != q ? p - q : (x->name > y->name) - (x->name < y->name);
}

static void walk_sort_level(struct walk *w, const struct walk_level *l)
{
	size_t first = l->items / sizeof(struct walk_item);
	size_t n = w->items.n / sizeof(struct walk_item) - first;

	if (n > 1)
		qsort_r(walk_get_item(w, first), n, sizeof(struct walk_item),
			w->conf.order == WALK_SORTED ? walk_compare_path
						     : walk_compare_type,
			w->names.p);
}

/* --- Rules --------------------------------------------------------------------- */

/* Adds the rules of a file in the folder; an unreadable file has none. */
static int walk_load_rules(struct ignore *g, int dir, const char *name, size_t base)
{
	struct buf text = BUF_INIT(IGNORE_FILE_MAX);
	struct stat st;
	int fd = load_open(dir, name, O_RDONLY | O_NOFOLLOW, &st);
	int r = 0;

	if (fd < 0)
		return fd == -ENOMEM ? fd : 0;
	if (load_read_part(fd, 0, IGNORE_FILE_MAX, &text) == 0)
		r = ignore_add(g, buf_view(&text), base);
	else if (text.err == -ENOMEM)
		r = -ENOMEM;
	fd_close(&fd);
	buf_free(&text);
	return r;
}

/* The length of the longest prefix of the path, with its slash, that holds a .git. */
static size_t walk_find_repository(char *path, size_t n)
{
	while (n) {
		struct stat st;
		bool is;

		if (path[n - 1] == '/') {
			char after = path[n];
			int dir;

			path[n] = '\0';
			dir = fd_open(path, O_PATH | O_DIRECTORY, 0);
			is = dir >= 0 &&
				fstatat(dir, ".git", &st, AT_SYMLINK_NOFOLLOW) == 0;
			fd_close(&dir);
			path[n] = after;
			if (is)
				return n;
		}
		n--;
	}
	return 0;
}

/*
 * Adds the rules of the folder that the first n bytes of path name, its slash included.
 */
static int walk_load_folder_rules(
	struct ignore *g, char *path, size_t n, bool root, bool own)
{
	char after = path[n];
	int dir, r = 0;

	path[n] = '\0';
	dir = fd_open(path, O_PATH | O_DIRECTORY, 0);
	path[n] = after;
	if (dir >= 0 && root)
		r = walk_load_rules(g, dir, ".git/info/exclude", n);
	if (dir >= 0 && own && !r)
		r = walk_load_rules(g, dir, ".gitignore", n);
	fd_close(&dir);
	return r;
}

/*
 * Adds rules of the repository that contains the top, from its root to the parent of
 * the top.
 */
static int walk_add_outer_rules(struct ignore *g, char *path, size_t top_n)
{
	size_t root = walk_find_repository(path, top_n);
	int r = 0;

	for (size_t n = root; n && n <= top_n && !r; n++)
		if (path[n - 1] == '/')
			r = walk_load_folder_rules(g, path, n, n == root, n < top_n);
	return r;
}

int walk_add_rules(struct ignore *g, char *path, size_t top_n, size_t path_n, bool *out)
{
	enum ignore_verdict verdict = IGNORE_NO_RULE;
	bool left_out = false;
	int r = walk_add_outer_rules(g, path, top_n);

	for (size_t n = top_n; n <= path_n && !r; n++) {
		if (path[n - 1] != '/')
			continue;
		if (n > top_n)
			r = ignore_check(g, str_make(path, n - 1), true, &verdict);
		left_out |= verdict == IGNORE_EXCLUDE;
		if (!r)
			r = walk_load_folder_rules(g, path, n, false, true);
	}
	if (!r)
		*out = left_out;
	return r;
}

/* --- Levels -------------------------------------------------------------------- */

/* Owns fd from now on; the path ends with the slash of this folder. */
static int walk_push_level(struct walk *w, int fd, dev_t dev)
{
	struct walk_level l = {
		.fd = fd,
		.dev = dev,
		.path_n = w->path.n,
		.names = w->names.n,
		.items = w->items.n,
		.rules = ignore_count(&w->ignore),
	};
	bool rules;
	int r;

	l.next = l.items / sizeof(struct walk_item);
	buf_put(&w->levels, &l, sizeof(l));
	if (w->levels.err) {
		fd_close(&fd);
		return w->levels.err;
	}
	r = walk_read_names(w, fd, &rules);
	if (!r && rules && w->conf.ignore)
		r = walk_load_rules(&w->ignore, fd, ".gitignore", l.path_n);
	if (!r)
		walk_sort_level(w, &l);
	return r;
}

static void walk_pop_level(struct walk *w)
{
	struct walk_level *l = walk_get_level(w, walk_get_depth(w) - 1);

	fd_close(&l->fd);
	w->names.n = l->names;
	w->items.n = l->items;
	ignore_drop(&w->ignore, l->rules);
	w->levels.n -= sizeof(*l);
}

int walk_open_fd(struct walk *w, int fd, const char *top, const struct walk_conf *conf)
{
	struct stat st;
	int r = 0;

	*w = (struct walk){.conf = *conf};
	if (!w->conf.depth || w->conf.depth > WALK_DEPTH_MAX)
		w->conf.depth = WALK_DEPTH_MAX;
	buf_init(&w->path, WALK_PATH_MAX);
	buf_init(&w->levels, WALK_DEPTH_MAX * sizeof(struct walk_level));
	buf_init(&w->names, WALK_NAMES_MAX);
	buf_init(&w->items, WALK_NAMES_MAX);
	ignore_init(&w->ignore);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		r = -errno;
	buf_puts(&w->path, top);
	if (!str_ends(buf_view(&w->path), STR("/")))
		buf_putc(&w->path, '/');
	w->top_n = w->path.n;
	/* The rules need the path as a C string, with a NUL after its end. */
	if (!r && !buf_cstr(&w->path))
		r = w->path.err;
	if (!r && conf->ignore)
		r = walk_add_outer_rules(&w->ignore, w->path.p, w->top_n);
	if (r) {
		fd_close(&fd);
		return r;
	}
	return walk_push_level(w, fd, st.st_dev);
}

int walk_open(struct walk *w, const char *top, const struct walk_conf *conf)
{
	return walk_open_fd(w, fd_open(top, O_RDONLY | O_DIRECTORY, 0), top, conf);
}

void walk_free(struct walk *w)
{
	while (walk_get_depth(w))
		walk_pop_level(w);
	buf_free(&w->path);
	buf_free(&w->levels);
	buf_free(&w->names);
	buf_free(&w->items);
	ignore_free(&w->ignore);
}

/* Enters the folder that the path names; does nothing if that fails. */
static int walk_enter_folder(struct walk *w)
{
	struct walk_level *l = walk_get_level(w, walk_get_depth(w) - 1);
	const char *name = w->names.p + walk_get_item(w, l->next - 1)->name;
	struct stat st;
	int fd;

	if (walk_get_depth(w) >= w->conf.depth) {
		w->too_deep++;
		return 0;
	}
	fd = fd_openat(l->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	if (fd == -ENOMEM)
		return fd;
	if (fd < 0 || fstat(fd, &st) < 0) {
		w->unreadable++;
		fd_close(&fd);
		return 0;
	}
	if (st.st_dev != l->dev && root_is_synthetic(fd)) {
		fd_close(&fd);
		return 0;
	}
	buf_putc(&w->path, '/');
	return walk_push_level(w, fd, st.st_dev);
}

/* 0 to return the entry that the path names, 1 to omit it. */
static int walk_check_ignore(struct walk *w, bool is_dir)
{
	enum ignore_verdict verdict;
	int r;

	if (!w->conf.ignore)
		return 0;
	r = ignore_check(&w->ignore, buf_view(&w->path), is_dir, &verdict);
	return r ? r : verdict == IGNORE_EXCLUDE;
}

int walk_next(struct walk *w, struct walk_entry *entry)
{
	int r = 0;

	if (w->enter) {
		w->enter = false;
		r = walk_enter_folder(w);
	}
	while (!r && walk_get_depth(w)) {
		struct walk_level *l = walk_get_level(w, walk_get_depth(w) - 1);
		struct walk_item *item = walk_get_item(w, l->next);
		const char *name;

		if ((l->next + 1) * sizeof(*item) > w->items.n) {
			walk_pop_level(w);
			continue;
		}
		l->next++;
		name = w->names.p + item->name;
		w->path.n = l->path_n;
		/* The path needs one more byte for the slash of a folder. */
		if (w->path.n + strlen(name) + 1 >= w->path.max) {
			w->too_deep++;
			continue;
		}
		buf_puts(&w->path, name);
		if (w->path.err)
			return w->path.err;
		r = walk_check_ignore(w, item->type == DT_DIR);
		if (r > 0) {
			r = 0;
			continue;
		}
		w->enter = !r && item->type == DT_DIR;
		*entry = (struct walk_entry){
			.path = str_skip(buf_view(&w->path), w->top_n),
			.name = name,
			.dir = l->fd,
			.type = item->type,
		};
		return r;
	}
	return r ? r : 1;
}

void walk_skip(struct walk *w)
{
	w->enter = false;
}
