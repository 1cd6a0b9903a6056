#include "file/watch.h"

#include <errno.h>
#include <sys/inotify.h>

/* One record, followed by its name and NULs up to a multiple of its alignment. */
struct record {
	uint64_t at; /* when it was fed, monotonic ms */
	int wd;
	uint32_t mask, cookie;
	uint32_t n; /* of the name with its NULs; 0: about the folder itself */
	char name[];
};

enum {
	NAME_ROOM = 4096, /* no file system has longer names */
	WAITS = 1 << 8,   /* beside an enum watch_end: for the other half of a rename */
};

const uint32_t watch_mask = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO |
	IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB | IN_ONLYDIR | IN_EXCL_UNLINK;
const uint32_t watch_top_mask = IN_DELETE_SELF | IN_MOVE_SELF;

void watch_init(struct watch *w, const struct watch_ops *ops, void *arg)
{
	w->ops = ops;
	w->arg = arg;
	buf_init(&w->part, sizeof(struct inotify_event) + NAME_ROOM + WATCH_READ);
	buf_init(&w->queue, WATCH_QUEUE_MAX);
	buf_init(&w->path, WATCH_PATH_MAX);
	buf_init(&w->from, WATCH_PATH_MAX);
}

void watch_free(struct watch *w)
{
	while (w->tree.top)
		watch_tree_drop(&w->tree, watch_tree_leaf(w->tree.top));
	buf_free(&w->part);
	buf_free(&w->queue);
	buf_free(&w->path);
	buf_free(&w->from);
}

/* --- Records ------------------------------------------------------------------- */

static int put_record(
	struct watch *w, const struct inotify_event *e, const char *name, uint64_t now)
{
	static const char zeros[_Alignof(struct record)];
	struct record r = {.at = now, .wd = e->wd, .mask = e->mask, .cookie = e->cookie};
	size_t n = e->len ? strnlen(name, e->len) : 0;

	if (e->len && n == e->len)
		return ERR_SYNTAX;
	/* The NUL at its end counts. */
	r.n = n ? (uint32_t)((n / sizeof(zeros) + 1) * sizeof(zeros)) : 0;
	buf_put(&w->queue, &r, sizeof(r));
	buf_put(&w->queue, name, n);
	buf_put(&w->queue, zeros, r.n - n);
	return w->queue.err;
}

int watch_feed(struct watch *w, struct str bytes, uint64_t now)
{
	struct str rest;
	int r = 0;

	buf_str(&w->part, bytes);
	if (w->part.err)
		return w->part.err;
	rest = buf_view(&w->part);
	while (!r && rest.n >= sizeof(struct inotify_event)) {
		struct inotify_event e;

		memcpy(&e, rest.p, sizeof(e));
		if (e.len > NAME_ROOM)
			return ERR_SYNTAX;
		if (rest.n < sizeof(e) + e.len)
			break;
		r = put_record(w, &e, rest.p + sizeof(e), now);
		rest = str_skip(rest, sizeof(e) + e.len);
	}
	buf_consume(&w->part, w->part.n - rest.n);
	return r;
}

bool watch_wants(const struct watch *w)
{
	/* A record here takes no more than twice the bytes that it has there. */
	return w->queue.n <= WATCH_QUEUE_MAX / 2 - 2 * WATCH_READ - NAME_ROOM;
}

static struct record *record_at(const struct watch *w, size_t at)
{
	return at < w->queue.n ? (struct record *)(void *)(w->queue.p + at) : NULL;
}

static size_t after(const struct record *r, size_t at)
{
	return at + sizeof(*r) + r->n;
}

/* A copy of one, for the queue may move while it is dealt with. */
union held {
	struct record r;
	char bytes[NAME_ROOM + 2 * sizeof(struct record)];
};

static size_t hold(union held *h, const struct record *r)
{
	size_t n = sizeof(*r) + r->n;

	memcpy(h->bytes, r, n);
	return n;
}

/* Of a name: it has come, or gone. */
static bool is_about(const struct record *r, int wd, const char *name)
{
	const uint32_t either = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO;

	return r->mask & either && r->wd == wd && r->n && !strcmp(r->name, name);
}

bool watch_settled(const struct watch *w, const struct watch_folder *f, const char *name)
{
	const struct record *r;

	for (size_t at = w->at; (r = record_at(w, at)); at = after(r, at)) {
		bool present = w->running && at == w->at;

		if (!present && is_about(r, f->wd, name))
			return false;
	}
	return true;
}

/* --- Events -------------------------------------------------------------------- */

static struct str make_path(
	struct buf *out, const struct watch_folder *f, const char *name)
{
	buf_reset(out);
	watch_tree_path(f, out);
	if (out->n)
		buf_putc(out, '/');
	buf_puts(out, name);
	return buf_view(out);
}

static bool is_hidden(const struct watch *w, struct str path, bool dir)
{
	return w->ops->hide && w->ops->hide(w->arg, path, dir);
}

static int tell(struct watch *w, enum watch_kind kind, const struct watch_folder *f,
	const char *name, bool dir)
{
	struct watch_event e = {.kind = kind, .dir = dir};

	e.path = make_path(&w->path, f, name);
	if (w->path.err)
		return w->path.err;
	return is_hidden(w, e.path, dir) ? 0 : w->ops->event(w->arg, &e);
}

int watch_tell(struct watch *w, const struct watch_folder *f, const char *name, bool dir)
{
	return tell(w, WATCH_CREATE, f, name, dir);
}

/* --- Writes -------------------------------------------------------------------- */

static struct watch_dirt *find_dirt(struct watch *w, int wd, const char *name)
{
	for (size_t i = 0; i < WATCH_DIRT_MAX; i++)
		if (w->dirt[i].due && w->dirt[i].wd == wd &&
			strcmp(w->dirt[i].name, name) == 0)
			return &w->dirt[i];
	return NULL;
}

static int tell_dirt(struct watch *w, struct watch_dirt *d)
{
	struct watch_folder *f = watch_tree_wd(&w->tree, d->wd);

	d->due = 0;
	return f ? tell(w, WATCH_WRITE, f, d->name, false) : 0;
}

static void forget_dirt(struct watch *w, int wd, const char *name)
{
	struct watch_dirt *d = find_dirt(w, wd, name);

	if (d)
		d->due = 0;
}

static int tell_due(struct watch *w, uint64_t now)
{
	int r = 0;

	for (size_t i = 0; !r && i < WATCH_DIRT_MAX; i++)
		if (w->dirt[i].due && w->dirt[i].due <= now)
			r = tell_dirt(w, &w->dirt[i]);
	return r;
}

/* The file is still open: more may follow. */
static int on_modify(struct watch *w, const struct watch_folder *f,
	const struct record *rec, uint64_t now)
{
	const char *name = rec->name;
	struct watch_dirt *d = find_dirt(w, f->wd, name);
	int r = 0;

	if (d)
		return 0;
	if (strlen(name) >= sizeof(d->name))
		return tell(w, WATCH_WRITE, f, name, false);
	d = &w->dirt[0];
	for (size_t i = 1; d->due && i < WATCH_DIRT_MAX; i++)
		if (w->dirt[i].due < d->due)
			d = &w->dirt[i];
	if (d->due)
		r = tell_dirt(w, d);
	d->due = now + WATCH_WRITE_MS;
	d->wd = f->wd;
	memcpy(d->name, name, strlen(name) + 1);
	return r;
}

static int on_close(struct watch *w, const struct watch_folder *f, const char *name)
{
	forget_dirt(w, f->wd, name);
	return tell(w, WATCH_WRITE, f, name, false);
}

/* --- Folders ------------------------------------------------------------------- */

static void drop(struct watch *w, struct watch_folder *f)
{
	bool last;

	do {
		struct watch_folder *leaf = watch_tree_leaf(f);

		last = leaf == f;
		if (leaf->wd >= 0)
			w->ops->forget(w->arg, leaf->wd);
		watch_tree_drop(&w->tree, leaf);
	} while (!last);
}

static void drop_child(
	struct watch *w, const struct watch_folder *parent, const char *name)
{
	struct watch_folder *f = watch_tree_child(&w->tree, parent, name);

	if (f)
		drop(w, f);
}

static int tell_rename(struct watch *w, const struct watch_folder *from, const char *old,
	const struct watch_folder *to, const char *name, bool dir)
{
	struct watch_event e = {.kind = WATCH_RENAME, .dir = dir};

	e.from = make_path(&w->from, from, old);
	e.path = make_path(&w->path, to, name);
	if (w->from.err || w->path.err)
		return w->from.err ? w->from.err : w->path.err;
	return w->ops->event(w->arg, &e);
}

/* A folder with its watch is at another place than was known. */
static int move(struct watch *w, struct watch_folder *f, struct watch_folder *parent,
	const char *name, struct watch_folder **out)
{
	int r = tell_rename(w, f->parent, f->name, parent, name, true);

	if (r)
		return r;
	f = watch_tree_move(&w->tree, f, parent, name);
	if (!f)
		return -ENOMEM;
	*out = f;
	return 0;
}

int watch_found(struct watch *w, struct watch_folder *parent, const char *name, int wd,
	struct watch_folder **out)
{
	struct watch_folder *known = watch_tree_wd(&w->tree, wd);
	struct watch_folder *there = watch_tree_child(&w->tree, parent, name);

	if (known && known == there) {
		*out = known;
		return 0;
	}
	if (known &&
		(watch_tree_holds(known, parent) ||
			(there && watch_tree_holds(there, known))))
		return WATCH_ABSENT;
	if (there)
		drop(w, there);
	if (known)
		return move(w, known, parent, name, out);
	if (w->tree.count >= WATCH_FOLDERS_MAX)
		return ERR_LIMIT;
	known = watch_tree_add(&w->tree, parent, name, wd);
	if (!known)
		return -ENOMEM;
	*out = known;
	return 0;
}

int watch_lost(struct watch *w, struct watch_folder *parent, const char *name)
{
	struct watch_folder *f = watch_tree_child(&w->tree, parent, name);

	if (f && f->wd >= 0) {
		drop(w, f);
		f = NULL;
	}
	if (!f && w->tree.count < WATCH_FOLDERS_MAX) {
		f = watch_tree_add(&w->tree, parent, name, WATCH_LOST);
		if (!f)
			return -ENOMEM;
	}
	if (f)
		f->tried = w->tries;
	return 0;
}

static int look(struct watch *w, struct watch_folder *parent, const char *name)
{
	int r;

	if (!w->ops->look)
		return 0;
	r = w->ops->look(w->arg, parent, name);
	return r == WATCH_ABSENT ? watch_lost(w, parent, name) : r;
}

static void copy_name(const struct watch_folder *f, char name[NAME_ROOM])
{
	memcpy(name, f->name, strlen(f->name) + 1);
}

/* Looks once more for what is lost below f. */
static int look_again(struct watch *w, struct watch_folder *f)
{
	struct watch_folder *at = w->tree.lost ? f : NULL;
	char name[NAME_ROOM];
	int r = 0;

	w->tries++;
	while (!r && at) {
		if (at->wd >= 0 || at->tried == w->tries) {
			at = watch_tree_next(f, at);
			continue;
		}
		at->tried = w->tries;
		/* It may be replaced, and its name with it. */
		copy_name(at, name);
		r = look(w, at->parent, name);
		at = f;
	}
	return r;
}

static int on_come(struct watch *w, struct watch_folder *f, const char *name, bool dir)
{
	int r = tell(w, WATCH_CREATE, f, name, dir);

	if (r || !dir || is_hidden(w, buf_view(&w->path), dir))
		return r;
	return look(w, f, name);
}

static int on_go(
	struct watch *w, const struct watch_folder *f, const char *name, bool dir)
{
	forget_dirt(w, f->wd, name);
	drop_child(w, f, name);
	return tell(w, WATCH_REMOVE, f, name, dir);
}

static int on_attrib(struct watch *w, struct watch_folder *f, const char *name, bool dir)
{
	struct watch_folder *child;
	int r = tell(w, WATCH_CHMOD, f, name, dir);

	if (r || !dir || is_hidden(w, buf_view(&w->path), dir))
		return r;
	/* It may be readable now. */
	child = watch_tree_child(&w->tree, f, name);
	return child && child->wd >= 0 ? 0 : look(w, f, name);
}

/* --- Renames ------------------------------------------------------------------- */

/* The other half; NULL if it is not there. */
static struct record *find_half(const struct watch *w, const struct record *from)
{
	size_t at = after(from, w->at);
	struct record *r;

	while ((r = record_at(w, at))) {
		if (r->mask & IN_MOVED_TO && r->cookie == from->cookie && r->n)
			return r;
		at = after(r, at);
	}
	return NULL;
}

static bool is_same(const struct record *a, const struct record *b)
{
	return a->wd == b->wd && a->n == b->n && !memcmp(a->name, b->name, a->n);
}

/*
 * Two names were exchanged (renameat2), or renamed there and back: the records are the
 * same, the outcome is not.
 */
static bool is_exchange(
	const struct watch *w, const struct record *from, const struct record *to)
{
	size_t at = after(to, (size_t)((const char *)to - w->queue.p));
	const struct record *back = record_at(w, at);
	const struct record *there = back ? record_at(w, after(back, at)) : NULL;

	return there && back->mask & IN_MOVED_FROM && there->mask & IN_MOVED_TO &&
		back->cookie == there->cookie && is_same(back, to) &&
		is_same(there, from);
}

static int rename_folder(struct watch *w, struct watch_folder *f, const char *old,
	struct watch_folder *to, const char *name)
{
	struct watch_folder *moved = watch_tree_child(&w->tree, f, old);
	struct watch_folder *there = watch_tree_child(&w->tree, to, name);
	int r;

	/* What has not been seen yet has to be looked at as a whole. */
	if (!moved || moved->wd < 0 || (there && watch_tree_holds(there, f))) {
		r = on_go(w, f, old, true);
		return r ? r : on_come(w, to, name, true);
	}
	if (there == moved)
		return 0;
	if (there)
		drop(w, there);
	r = move(w, moved, to, name, &moved);
	return r ? r : look_again(w, moved);
}

/* Or a folder in which nothing is watched. */
static int rename_file(struct watch *w, struct watch_folder *f, const char *old,
	struct watch_folder *to, const char *name, bool dir)
{
	struct watch_dirt *d = find_dirt(w, f->wd, old);
	int r = d ? tell_dirt(w, d) : 0;

	forget_dirt(w, to->wd, name);
	return r ? r : tell_rename(w, f, old, to, name, dir);
}

static int on_rename(struct watch *w, struct watch_folder *f, const struct record *from,
	const struct record *half)
{
	struct watch_folder *to = watch_tree_wd(&w->tree, half->wd);
	struct watch_folder *moved = watch_tree_child(&w->tree, f, from->name);
	const char *old = from->name, *name = half->name;
	bool dir = from->mask & IN_ISDIR;

	if (!to || (moved && watch_tree_holds(moved, to)) ||
		is_hidden(w, make_path(&w->path, to, name), dir))
		return on_go(w, f, old, dir);
	if (is_hidden(w, make_path(&w->path, f, old), dir))
		return on_come(w, to, name, dir);
	return dir && w->ops->look ? rename_folder(w, f, old, to, name)
				   : rename_file(w, f, old, to, name, dir);
}

/* --- Running ------------------------------------------------------------------- */

/* 0 or an error; an enum watch_end; WAITS: for its other half. */
static int on_leave(
	struct watch *w, struct watch_folder *f, const struct record *rec, uint64_t now)
{
	struct record *half = find_half(w, rec);
	union held h;

	if (half) {
		if (is_exchange(w, rec, half))
			return WATCH_GAP;
		hold(&h, half);
		/* It is dealt with: nothing is left for its turn. */
		half->mask = 0;
		return on_rename(w, f, rec, &h.r);
	}
	if (now < rec->at + WATCH_PAIR_MS) {
		w->wait = rec->at + WATCH_PAIR_MS;
		return WAITS;
	}
	return on_go(w, f, rec->name, rec->mask & IN_ISDIR);
}

/* About the folder itself. */
static int on_self(struct watch *w, struct watch_folder *f, uint32_t mask)
{
	bool top = !f->parent;

	if (mask & IN_UNMOUNT && !top) {
		struct watch_folder *parent = f->parent;
		char name[NAME_ROOM];
		int r;

		copy_name(f, name);
		/* What the mount was put over comes to light. */
		r = on_go(w, parent, name, true);
		return r ? r : on_come(w, parent, name, true);
	}
	if (mask & IN_UNMOUNT)
		return WATCH_UNMOUNTED;
	if (!top) {
		if (mask & IN_IGNORED)
			drop(w, f);
		return 0;
	}
	if (mask & (IN_DELETE_SELF | IN_IGNORED))
		return WATCH_REMOVED;
	if (mask & IN_MOVE_SELF)
		return WATCH_MOVED;
	return mask & IN_ATTRIB ? tell(w, WATCH_CHMOD, f, ".", true) : 0;
}

static int deal_with(struct watch *w, const struct record *rec, uint64_t now)
{
	struct watch_folder *f = watch_tree_wd(&w->tree, rec->wd);
	bool dir = rec->mask & IN_ISDIR;

	if (rec->mask & IN_Q_OVERFLOW)
		return WATCH_GAP;
	if (!f)
		return 0;
	if (!rec->n)
		return on_self(w, f, rec->mask);
	if (rec->mask & IN_MOVED_FROM)
		return on_leave(w, f, rec, now);
	if (rec->mask & (IN_CREATE | IN_MOVED_TO))
		return on_come(w, f, rec->name, dir);
	if (rec->mask & IN_DELETE)
		return on_go(w, f, rec->name, dir);
	if (rec->mask & IN_MODIFY)
		return on_modify(w, f, rec, now);
	if (rec->mask & IN_CLOSE_WRITE)
		return on_close(w, f, rec->name);
	return rec->mask & IN_ATTRIB ? on_attrib(w, f, rec->name, dir) : 0;
}

int watch_run(struct watch *w, uint64_t now)
{
	struct record *rec;
	union held h;
	size_t n;
	int r;

	w->wait = 0;
	/* What is dealt with makes room only at the end: others are fed meanwhile. */
	while ((rec = record_at(w, w->at)) && w->at < WATCH_QUEUE_MAX / 4) {
		n = hold(&h, rec);
		w->running = true;
		r = deal_with(w, &h.r, now);
		w->running = false;
		if (r == WAITS)
			break;
		if (r)
			return r;
		w->at += n;
	}
	buf_consume(&w->queue, w->at);
	w->at = 0;
	return tell_due(w, now);
}

uint64_t watch_due(const struct watch *w)
{
	uint64_t due = w->wait ? w->wait : w->queue.n ? 0 : UINT64_MAX;

	for (size_t i = 0; i < WATCH_DIRT_MAX; i++)
		if (w->dirt[i].due && w->dirt[i].due < due)
			due = w->dirt[i].due;
	return due;
}
