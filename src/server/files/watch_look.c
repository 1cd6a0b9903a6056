#include "server/files/watch_look.h"

#include "base/clock.h"
#include "base/fd.h"
#include "fs/root.h"
#include "search/walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/inotify.h>
#include <unistd.h>

enum { OPEN_FOLDER = O_RDONLY | O_DIRECTORY | O_NOFOLLOW };

static bool watch_scan_is_folder(int fd, const struct watch_folder *f)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_dev == f->dev && st.st_ino == f->ino;
}

/* The top is not held open: this would delay the event of its removal. */
int watch_open_top(struct watcher *w)
{
	const struct watch_folder *top = w->engine->tree.top;
	int fd = fd_open(w->top.p, O_RDONLY | O_DIRECTORY, 0);

	if (fd < 0 && fd != -ENOENT && fd != -ENOTDIR)
		return fd;
	if (fd >= 0 && (!top || watch_scan_is_folder(fd, top)))
		return fd;
	fd_close(&fd);
	return ERR_CLOSED;
}

/*
 * Opens the folder at its recorded path. -ESTALE: another folder is there, because a
 * rename has not been read yet.
 */
static int watch_scan_open_folder(struct watcher *w, const struct watch_folder *f)
{
	int top = watch_open_top(w);
	int fd;

	if (top < 0 || !f->parent)
		return top;
	buf_reset(&w->path);
	watch_tree_put_path(f, &w->path);
	fd = buf_cstr(&w->path) ? root_open(top, w->path.p, NULL) : w->path.err;
	fd_close(&top);
	if (fd < 0 || watch_scan_is_folder(fd, f))
		return fd;
	fd_close(&fd);
	return -ESTALE;
}

static bool watch_scan_is_missing(int err)
{
	return err == -ENOENT || err == -ENOTDIR || err == -ELOOP || err == -ESTALE;
}

/*
 * Whether wd is the watch of another path: a folder that is mounted twice has one watch.
 */
static bool watch_scan_is_duplicate(
	struct watcher *w, int wd, const struct watch_folder *parent, const char *name)
{
	const struct watch_folder *f = watch_tree_find_wd(&w->engine->tree, wd);
	int fd;

	if (!f || (f->parent == parent && strcmp(f->name, name) == 0))
		return false;
	fd = watch_scan_open_folder(w, f);
	if (fd < 0)
		return false;
	fd_close(&fd);
	return true;
}

int watch_read_events(struct watcher *w)
{
	static _Alignas(8) char room[WATCH_READ];
	ssize_t n = read(w->fd, room, sizeof(room));
	int r;

	if (n <= 0)
		return n < 0 && errno != EAGAIN && errno != EINTR ? -errno : 0;
	r = watch_feed(w->engine, str_make(room, (size_t)n), clock_ms());
	return r ? r : 1;
}

/* Reads all events up to now. */
static int watch_scan_drain_events(struct watcher *w)
{
	int r;

	while ((r = watch_read_events(w)) > 0)
		;
	return r == ERR_LIMIT ? WATCH_GAP : r;
}

/* Watches the folder at fd. Results as watch_add_folder, WATCH_GAP, or -errno. */
static int watch_scan_add_folder(struct watcher *w, int fd, struct watch_folder *parent,
	const char *name, struct watch_folder **out)
{
	struct watch_folder *f = NULL;
	struct stat st;
	int wd, r;

	/*
	 * inotify takes paths only. A folder is watched by descriptor as the working
	 * directory.
	 */
	if (fstat(fd, &st) < 0 || fchdir(fd) < 0)
		return -errno;
	wd = inotify_add_watch(
		w->fd, ".", watch_mask | (parent ? IN_MASK_ADD : watch_top_mask));
	if (wd < 0)
		return -errno;
	if (watch_scan_is_duplicate(w, wd, parent, name))
		return ERR_DUPLICATE;
	r = parent ? watch_scan_drain_events(w) : 0;
	if (!r && parent && !watch_is_settled(w->engine, parent, name))
		r = WATCH_ABSENT;
	if (!r)
		r = watch_add_folder(w->engine, parent, name, wd, &f);
	if (r && !watch_tree_find_wd(&w->engine->tree, wd))
		inotify_rm_watch(w->fd, wd);
	if (r)
		return r;
	f->dev = st.st_dev;
	f->ino = st.st_ino;
	w->stream.full = false;
	*out = f;
	return 0;
}

/* The path of name in f. */
static struct str watch_scan_make_path(
	struct watcher *w, const struct watch_folder *f, const char *name)
{
	buf_reset(&w->path);
	watch_tree_put_path(f, &w->path);
	if (w->path.n)
		buf_putc(&w->path, '/');
	buf_puts(&w->path, name);
	return buf_view(&w->path);
}

static int watch_scan_report(
	struct watcher *w, const struct watch_folder *f, const char *name, bool dir)
{
	return w->quiet ? watch_stream_flush_large(&w->stream)
			: watch_report_entry(w->engine, f, name, dir);
}

/*
 * Watches the folder at fd, which may be an error. A folder that cannot be watched is
 * reported, and the result is 0. -ENOMEM is returned.
 */
static int watch_scan_enter_folder(struct watcher *w, int fd, struct watch_folder *parent,
	const char *name, struct watch_folder **out)
{
	int r = fd < 0 ? fd : watch_scan_add_folder(w, fd, parent, name, out);

	if (r >= 0 || r == -ENOMEM)
		return r == WATCH_ABSENT ? watch_add_lost(w->engine, parent, name) : r;
	watch_stream_put_unwatched(&w->stream, watch_scan_make_path(w, parent, name), r);
	return 0;
}

/*
 * Handles a name that was listed in f. A folder is watched before it is listed, so that
 * no change is missed: *child is the folder, or NULL if it is not entered.
 */
static int watch_scan_handle_entry(struct watcher *w, struct watch_folder *f,
	const struct walk_entry *e, struct watch_folder **child)
{
	int fd, r;

	*child = NULL;
	if (w->filter.excludes &&
		watch_filter_is_hidden(&w->filter, watch_scan_make_path(w, f, e->name),
			e->type == DT_DIR))
		return 0;
	if (e->type != DT_DIR || !w->deep)
		return watch_scan_report(w, f, e->name, e->type == DT_DIR);
	fd = fd_openat(e->dir, e->name, OPEN_FOLDER, 0);
	/* The watch of the parent folder reports the removal. */
	if (watch_scan_is_missing(fd))
		return 0;
	r = watch_scan_report(w, f, e->name, true);
	if (!r)
		r = watch_scan_enter_folder(w, fd, f, e->name, child);
	fd_close(&fd);
	return r;
}

/* Reports and watches everything in f, which is open at fd. */
static int watch_scan_list_folder(struct watcher *w, int fd, struct watch_folder *f)
{
	const struct walk_conf conf = {
		.order = WALK_FOUND, .hidden = true, .ignore = w->filter.ignores};
	struct watch_folder *levels[WALK_DEPTH_MAX + 1] = {f};
	struct buf top = BUF_INIT(WATCH_PATH_MAX);
	struct walk_entry e;
	struct walk walk;
	bool ended = false;
	int r;

	buf_str(&top, buf_view(&w->top));
	watch_tree_put_path(f, &top);
	r = buf_cstr(&top) ? 0 : top.err;
	if (!r)
		r = walk_open_fd(&walk, fd_dup(fd, 0), top.p, &conf);
	else
		walk = (struct walk){.enter = false};
	while (!r) {
		size_t level;

		r = walk_next(&walk, &e);
		ended = r == 1;
		if (r)
			break;
		level = str_count(e.path, '/');
		r = watch_scan_handle_entry(w, levels[level], &e, &levels[level + 1]);
		if (e.type == DT_DIR && !levels[level + 1])
			walk_skip(&walk);
	}
	walk_free(&walk);
	buf_free(&top);
	return ended ? 0 : r;
}

int watch_scan_top(struct watcher *w, int fd)
{
	struct watch_folder *f;

	return watch_scan_add_folder(w, fd, NULL, "", &f);
}

int watch_scan_below(struct watcher *w, int fd)
{
	int r;

	w->quiet = !w->ask->existing;
	r = w->deep || !w->quiet ? watch_scan_list_folder(w, fd, w->engine->tree.top) : 0;
	w->quiet = false;
	return r;
}

/* Releases the folder of the last watch, which is the working directory. */
static void watch_scan_leave_folder(void)
{
	if (chdir("/") < 0)
		return;
}

static int watch_scan_entry(void *arg, struct watch_folder *parent, const char *name)
{
	struct watcher *w = arg;
	struct watch_folder *f = NULL;
	int dir = watch_scan_open_folder(w, parent);
	int fd = dir < 0 ? dir : fd_openat(dir, name, OPEN_FOLDER, 0);
	int r;

	fd_close(&dir);
	if (watch_scan_is_missing(fd))
		return WATCH_ABSENT;
	if (fd == ERR_CLOSED)
		return fd;
	r = watch_scan_enter_folder(w, fd, parent, name, &f);
	if (!r && f)
		r = watch_scan_list_folder(w, fd, f);
	fd_close(&fd);
	watch_scan_leave_folder();
	return r;
}

static int watch_scan_check(
	void *arg, struct watch_folder *f, const char *name, bool *dir)
{
	struct watcher *w = arg;
	int at = watch_scan_open_folder(w, f);
	int found = -ESTALE;
	struct stat st;
	int r;

	if (at >= 0)
		found = fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ? WATCH_ABSENT
									: 0;
	fd_close(&at);
	if (!found)
		*dir = S_ISDIR(st.st_mode);
	r = watch_scan_drain_events(w);
	return r ? r : found;
}

static void watch_scan_forget(void *arg, int wd)
{
	struct watcher *w = arg;

	inotify_rm_watch(w->fd, wd);
}

static int watch_scan_send_change(void *arg, const struct watch_event *e)
{
	struct watcher *w = arg;

	return watch_stream_send_change(&w->stream, e);
}

static bool watch_scan_is_hidden(void *arg, struct str path, bool dir)
{
	struct watcher *w = arg;

	return watch_filter_is_hidden(&w->filter, path, dir);
}

const struct watch_ops *watch_scan_get_ops(bool deep)
{
	static const struct watch_ops all = {
		.event = watch_scan_send_change,
		.list = watch_scan_entry,
		.check_name = watch_scan_check,
		.drop_watch = watch_scan_forget,
		.is_hidden = watch_scan_is_hidden,
	};
	static const struct watch_ops flat = {
		.event = watch_scan_send_change,
		.check_name = watch_scan_check,
		.drop_watch = watch_scan_forget,
		.is_hidden = watch_scan_is_hidden,
	};

	return deep ? &all : &flat;
}
