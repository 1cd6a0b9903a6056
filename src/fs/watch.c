#include "fs/watch.h"

#include "limits.h"

#include <errno.h>
#include <sys/inotify.h>

enum { WAITS = 1 << 8 }; /* extends enum watch_end: wait for the other half of a rename */

const uint32_t watch_mask = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO |
	IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB | IN_ONLYDIR | IN_EXCL_UNLINK;
const uint32_t watch_top_mask = IN_DELETE_SELF | IN_MOVE_SELF;

void watch_init(struct watch *w, const struct watch_ops *ops, void *arg)
{
	w->ops = ops;
	w->arg = arg;
	watch_queue_init(&w->queue);
	buf_init(&w->path, WATCH_PATH_MAX);
	buf_init(&w->from, WATCH_PATH_MAX);
}

void watch_free(struct watch *w)
{
	while (w->tree.top)
		watch_tree_drop(&w->tree, watch_tree_find_leaf(w->tree.top));
	watch_queue_free(&w->queue);
	buf_free(&w->path);
	buf_free(&w->from);
}

/* --- Records ------------------------------------------------------------------- */

int watch_feed(struct watch *w, struct str bytes, uint64_t now)
{
	return watch_queue_feed(&w->queue, bytes, now);
}

bool watch_has_space(const struct watch *w)
{
	return watch_queue_has_space(&w->queue);
}

/* The first record after the one being handled that says that name has come or gone. */
static const struct watch_record *watch_next_about(
	const struct watch *w, int wd, const char *name)
{
	const struct watch_record *r = watch_queue_first(&w->queue);

	if (r && w->running)
		r = watch_queue_next(&w->queue, r);
	while (r && !watch_record_has_name(r, wd, name))
		r = watch_queue_next(&w->queue, r);
	return r;
}

bool watch_is_settled(
	const struct watch *w, const struct watch_folder *f, const char *name)
{
	return !watch_next_about(w, f->wd, name);
}

/* The other half of a rename, at or after the record being handled; or NULL. */
static struct watch_record *watch_find_half(
	const struct watch *w, uint32_t cookie, uint32_t half)
{
	struct watch_record *r = watch_queue_first(&w->queue);

	while (r && !(r->mask & half && r->cookie == cookie && r->n))
		r = watch_queue_next(&w->queue, r);
	return r;
}

/* --- Events -------------------------------------------------------------------- */

static struct str watch_make_path(
	struct buf *out, const struct watch_folder *f, const char *name)
{
	buf_reset(out);
	watch_tree_put_path(f, out);
	if (out->n)
		buf_putc(out, '/');
	buf_puts(out, name);
	return buf_view(out);
}

static bool watch_is_hidden(const struct watch *w, struct str path, bool dir)
{
	return w->ops->is_hidden && w->ops->is_hidden(w->arg, path, dir);
}

static int watch_emit_event(struct watch *w, enum watch_kind kind,
	const struct watch_folder *f, const char *name, bool dir)
{
	struct watch_event e = {.kind = kind, .dir = dir};

	e.path = watch_make_path(&w->path, f, name);
	if (w->path.err)
		return w->path.err;
	return watch_is_hidden(w, e.path, dir) ? 0 : w->ops->event(w->arg, &e);
}

int watch_report_entry(
	struct watch *w, const struct watch_folder *f, const char *name, bool dir)
{
	return watch_emit_event(w, WATCH_CREATE, f, name, dir);
}

/* --- Writes -------------------------------------------------------------------- */

static struct watch_write *watch_find_write(struct watch *w, int wd, const char *name)
{
	for (size_t i = 0; i < WATCH_DIRT_MAX; i++)
		if (w->writes[i].due && w->writes[i].wd == wd &&
			strcmp(w->writes[i].name, name) == 0)
			return &w->writes[i];
	return NULL;
}

static int watch_emit_write(struct watch *w, struct watch_write *d)
{
	struct watch_folder *f = watch_tree_find_wd(&w->tree, d->wd);

	d->due = 0;
	return f ? watch_emit_event(w, WATCH_WRITE, f, d->name, false) : 0;
}

static void watch_clear_write(struct watch *w, int wd, const char *name)
{
	struct watch_write *d = watch_find_write(w, wd, name);

	if (d)
		d->due = 0;
}

static int watch_emit_due(struct watch *w, uint64_t now)
{
	int r = 0;

	for (size_t i = 0; !r && i < WATCH_DIRT_MAX; i++)
		if (w->writes[i].due && w->writes[i].due <= now)
			r = watch_emit_write(w, &w->writes[i]);
	return r;
}

/* The file is still open for writing: the event is delayed to merge further writes. */
static int watch_on_modify(struct watch *w, const struct watch_folder *f,
	const struct watch_record *rec, uint64_t now)
{
	const char *name = rec->name;
	struct watch_write *d = watch_find_write(w, f->wd, name);
	int r = 0;

	if (d)
		return 0;
	if (strlen(name) >= sizeof(d->name))
		return watch_emit_event(w, WATCH_WRITE, f, name, false);
	d = &w->writes[0];
	for (size_t i = 1; d->due && i < WATCH_DIRT_MAX; i++)
		if (w->writes[i].due < d->due)
			d = &w->writes[i];
	if (d->due)
		r = watch_emit_write(w, d);
	d->due = now + WATCH_WRITE_MS;
	d->wd = f->wd;
	memcpy(d->name, name, strlen(name) + 1);
	return r;
}

static int watch_on_close(struct watch *w, const struct watch_folder *f, const char *name)
{
	watch_clear_write(w, f->wd, name);
	return watch_emit_event(w, WATCH_WRITE, f, name, false);
}

/* --- Folders ------------------------------------------------------------------- */

static void watch_drop_folder(struct watch *w, struct watch_folder *f)
{
	bool last;

	do {
		struct watch_folder *leaf = watch_tree_find_leaf(f);

		last = leaf == f;
		if (leaf->wd >= 0)
			w->ops->drop_watch(w->arg, leaf->wd);
		watch_tree_drop(&w->tree, leaf);
	} while (!last);
}

static void watch_drop_child(
	struct watch *w, const struct watch_folder *parent, const char *name)
{
	struct watch_folder *f = watch_tree_find_child(&w->tree, parent, name);

	if (f)
		watch_drop_folder(w, f);
}

static int watch_emit_rename(struct watch *w, const struct watch_folder *from,
	const char *old, const struct watch_folder *to, const char *name, bool dir)
{
	struct watch_event e = {.kind = WATCH_RENAME, .dir = dir};

	e.from = watch_make_path(&w->from, from, old);
	e.path = watch_make_path(&w->path, to, name);
	if (w->from.err || w->path.err)
		return w->from.err ? w->from.err : w->path.err;
	return w->ops->event(w->arg, &e);
}

/* Moves a watched folder that was found at a new place. */
static int watch_move_folder(struct watch *w, struct watch_folder *f,
	struct watch_folder *parent, const char *name, struct watch_folder **out)
{
	int r = watch_emit_rename(w, f->parent, f->name, parent, name, true);

	if (r)
		return r;
	f = watch_tree_move(&w->tree, f, parent, name);
	if (!f)
		return -ENOMEM;
	*out = f;
	return 0;
}

int watch_add_folder(struct watch *w, struct watch_folder *parent, const char *name,
	int wd, struct watch_folder **out)
{
	struct watch_folder *known = watch_tree_find_wd(&w->tree, wd);
	struct watch_folder *there = watch_tree_find_child(&w->tree, parent, name);

	if (known && known == there) {
		*out = known;
		return 0;
	}
	if (known &&
		(watch_tree_contains(known, parent) ||
			(there && watch_tree_contains(there, known))))
		return WATCH_ABSENT;
	if (there)
		watch_drop_folder(w, there);
	if (known)
		return watch_move_folder(w, known, parent, name, out);
	if (w->tree.count >= WATCH_FOLDERS_MAX)
		return ERR_LIMIT;
	known = watch_tree_add(&w->tree, parent, name, wd);
	if (!known)
		return -ENOMEM;
	*out = known;
	return 0;
}

int watch_add_lost(struct watch *w, struct watch_folder *parent, const char *name)
{
	struct watch_folder *f = watch_tree_find_child(&w->tree, parent, name);

	if (f && f->wd >= 0) {
		watch_drop_folder(w, f);
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

static int watch_list_folder(
	struct watch *w, struct watch_folder *parent, const char *name)
{
	int r;

	if (!w->ops->list)
		return 0;
	r = w->ops->list(w->arg, parent, name);
	return r == WATCH_ABSENT ? watch_add_lost(w, parent, name) : r;
}

static void watch_copy_name(const struct watch_folder *f, char name[WATCH_NAME_ROOM])
{
	memcpy(name, f->name, strlen(f->name) + 1);
}

/* Looks again for the lost folders below f. */
static int watch_retry_lost(struct watch *w, struct watch_folder *f)
{
	struct watch_folder *at = w->tree.lost ? f : NULL;
	char name[WATCH_NAME_ROOM];
	int r = 0;

	w->tries++;
	while (!r && at) {
		if (at->wd >= 0 || at->tried == w->tries) {
			at = watch_tree_next(f, at);
			continue;
		}
		at->tried = w->tries;
		/* look() may replace the object that holds the name. */
		watch_copy_name(at, name);
		r = watch_list_folder(w, at->parent, name);
		at = f;
	}
	return r;
}

static int watch_on_create(
	struct watch *w, struct watch_folder *f, const char *name, bool dir)
{
	int r = watch_emit_event(w, WATCH_CREATE, f, name, dir);

	if (r || !dir || watch_is_hidden(w, buf_view(&w->path), dir))
		return r;
	return watch_list_folder(w, f, name);
}

static int watch_on_remove(
	struct watch *w, const struct watch_folder *f, const char *name, bool dir)
{
	watch_clear_write(w, f->wd, name);
	watch_drop_child(w, f, name);
	return watch_emit_event(w, WATCH_REMOVE, f, name, dir);
}

static int watch_on_attrib(
	struct watch *w, struct watch_folder *f, const char *name, bool dir)
{
	struct watch_folder *child;
	int r = watch_emit_event(w, WATCH_CHMOD, f, name, dir);

	if (r || !dir || watch_is_hidden(w, buf_view(&w->path), dir))
		return r;
	/* The folder may be readable now. */
	child = watch_tree_find_child(&w->tree, f, name);
	return child && child->wd >= 0 ? 0 : watch_list_folder(w, f, name);
}

/* --- Renames ------------------------------------------------------------------- */

static int watch_rename_folder(struct watch *w, struct watch_folder *f, const char *old,
	struct watch_folder *to, const char *name)
{
	struct watch_folder *moved = watch_tree_find_child(&w->tree, f, old);
	struct watch_folder *there = watch_tree_find_child(&w->tree, to, name);
	int r;

	/* A folder that is not watched yet is listed as a new one. */
	if (!moved || moved->wd < 0 || (there && watch_tree_contains(there, f))) {
		r = watch_on_remove(w, f, old, true);
		return r ? r : watch_on_create(w, to, name, true);
	}
	if (there == moved)
		return 0;
	if (there)
		watch_drop_folder(w, there);
	r = watch_move_folder(w, moved, to, name, &moved);
	return r ? r : watch_retry_lost(w, moved);
}

/* Also renames a folder in which nothing is watched. */
static int watch_rename_file(struct watch *w, struct watch_folder *f, const char *old,
	struct watch_folder *to, const char *name, bool dir)
{
	struct watch_write *d = watch_find_write(w, f->wd, old);
	int r = d ? watch_emit_write(w, d) : 0;

	watch_clear_write(w, to->wd, name);
	return r ? r : watch_emit_rename(w, f, old, to, name, dir);
}

static int watch_on_rename(struct watch *w, struct watch_folder *f,
	const struct watch_record *from, const struct watch_record *half)
{
	struct watch_folder *to = watch_tree_find_wd(&w->tree, half->wd);
	struct watch_folder *moved = watch_tree_find_child(&w->tree, f, from->name);
	const char *old = from->name, *name = half->name;
	bool dir = from->mask & IN_ISDIR;

	if (!to || (moved && watch_tree_contains(moved, to)) ||
		watch_is_hidden(w, watch_make_path(&w->path, to, name), dir))
		return watch_on_remove(w, f, old, dir);
	if (watch_is_hidden(w, watch_make_path(&w->path, f, old), dir))
		return watch_on_create(w, to, name, dir);
	return dir && w->ops->list ? watch_rename_folder(w, f, old, to, name)
				   : watch_rename_file(w, f, old, to, name, dir);
}

/* --- Running ------------------------------------------------------------------- */

static uint32_t watch_hash_place(const struct watch_record *r)
{
	return watch_moves_hash_place(r->wd, r->name);
}

/*
 * Whether the record brings a new object: created, or moved from the place of half. The
 * name was then absent before.
 */
static bool watch_is_creation(const struct watch *w, const struct watch_record *r,
	const struct watch_record *half)
{
	const struct watch_record *from;

	if (!(r->mask & IN_MOVED_TO))
		return r->mask & IN_CREATE;
	from = watch_find_half(w, r->cookie, IN_MOVED_FROM);
	return from && watch_record_has_name(from, half->wd, half->name);
}

/*
 * Distinguishes a rename there and back from an exchange. It was an exchange if the
 * name left exists or has existed since. If a later record moves the object back once
 * more, that record's own check decides.
 */
static int watch_on_move_back(struct watch *w, struct watch_folder *f, const char *left,
	const struct watch_record *half)
{
	struct watch_folder *to = watch_tree_find_wd(&w->tree, half->wd);
	const struct watch_record *next;
	bool dir = half->mask & IN_ISDIR;
	int r;

	if (watch_is_hidden(w, watch_make_path(&w->path, f, left), dir) &&
		(!to ||
			watch_is_hidden(
				w, watch_make_path(&w->path, to, half->name), dir)))
		return 0;
	r = w->ops->check_name(w->arg, f, left, &dir);
	if (r == -ESTALE)
		return WATCH_GAP;
	if (r && r != WATCH_ABSENT)
		return r;
	next = watch_next_about(w, f->wd, left);
	if (next)
		return watch_is_creation(w, next, half) ? 0 : WATCH_GAP;
	return r ? 0 : WATCH_GAP;
}

/*
 * Handles a rename to outside of the watched tree, or an exchange with an object there.
 */
static int watch_on_move_out(
	struct watch *w, struct watch_folder *f, const char *name, bool dir)
{
	int r = watch_on_remove(w, f, name, dir);

	if (!r)
		r = w->ops->check_name(w->arg, f, name, &dir);
	/* The name is looked up when its folder is found. */
	if (r == -ESTALE)
		return dir && w->ops->list ? watch_add_lost(w, f, name) : 0;
	if (r)
		return r == WATCH_ABSENT ? 0 : r;
	return watch_is_settled(w, f, name) ? watch_on_create(w, f, name, dir) : 0;
}

/* 0 or an error; an enum watch_end; WAITS: the other half has not come yet. */
static int watch_on_move_from(struct watch *w, struct watch_folder *f,
	const struct watch_record *rec, uint64_t now)
{
	struct watch_record *half = watch_find_half(w, rec->cookie, IN_MOVED_TO);
	union watch_record_copy h;
	int r;

	if (!half && now < rec->at + WATCH_PAIR_MS) {
		w->wait = rec->at + WATCH_PAIR_MS;
		return WAITS;
	}
	watch_moves_add_from(&w->moves, rec->cookie, watch_hash_place(rec));
	if (!half)
		return watch_on_move_out(w, f, rec->name, rec->mask & IN_ISDIR);
	watch_moves_add_to(&w->moves, half->cookie, watch_hash_place(half));
	watch_queue_copy_record(&h, half);
	/* The other half is handled here: its own turn does nothing. */
	half->mask = 0;
	r = watch_moves_is_return(
		    &w->moves, watch_hash_place(rec), watch_hash_place(&h.r))
		? watch_on_move_back(w, f, rec->name, &h.r)
		: 0;
	return r ? r : watch_on_rename(w, f, rec, &h.r);
}

/* Handles a record about the folder itself. */
static int watch_on_self(struct watch *w, struct watch_folder *f, uint32_t mask)
{
	bool top = !f->parent;

	if (mask & IN_UNMOUNT && !top) {
		struct watch_folder *parent = f->parent;
		char name[WATCH_NAME_ROOM];
		int r;

		watch_copy_name(f, name);
		/* The folder below the unmounted file system becomes visible. */
		r = watch_on_remove(w, parent, name, true);
		return r ? r : watch_on_create(w, parent, name, true);
	}
	if (mask & IN_UNMOUNT)
		return WATCH_UNMOUNTED;
	if (!top) {
		if (mask & IN_IGNORED)
			watch_drop_folder(w, f);
		return 0;
	}
	if (mask & (IN_DELETE_SELF | IN_IGNORED))
		return WATCH_REMOVED;
	if (mask & IN_MOVE_SELF)
		return WATCH_MOVED;
	return mask & IN_ATTRIB ? watch_emit_event(w, WATCH_CHMOD, f, ".", true) : 0;
}

static int watch_handle_record(
	struct watch *w, const struct watch_record *rec, uint64_t now)
{
	struct watch_folder *f = watch_tree_find_wd(&w->tree, rec->wd);
	bool dir = rec->mask & IN_ISDIR;

	if (rec->mask & IN_Q_OVERFLOW)
		return WATCH_GAP;
	if (!f)
		return 0;
	if (!rec->n)
		return watch_on_self(w, f, rec->mask);
	if (rec->mask & IN_MOVED_FROM)
		return watch_on_move_from(w, f, rec, now);
	if (rec->mask & IN_MOVED_TO)
		watch_moves_add_to(&w->moves, rec->cookie, watch_hash_place(rec));
	if (rec->mask & (IN_CREATE | IN_MOVED_TO))
		return watch_on_create(w, f, rec->name, dir);
	if (rec->mask & IN_DELETE)
		return watch_on_remove(w, f, rec->name, dir);
	if (rec->mask & IN_MODIFY)
		return watch_on_modify(w, f, rec, now);
	if (rec->mask & IN_CLOSE_WRITE)
		return watch_on_close(w, f, rec->name);
	return rec->mask & IN_ATTRIB ? watch_on_attrib(w, f, rec->name, dir) : 0;
}

int watch_run(struct watch *w, uint64_t now)
{
	struct watch_record *rec;
	union watch_record_copy h;
	int r;

	w->wait = 0;
	/*
	 * Space of handled records is freed only at the end: records are fed meanwhile.
	 */
	while ((rec = watch_queue_first(&w->queue)) &&
		!watch_queue_is_compact_due(&w->queue)) {
		watch_queue_copy_record(&h, rec);
		w->running = true;
		r = watch_handle_record(w, &h.r, now);
		w->running = false;
		if (r == WAITS)
			break;
		if (r)
			return r;
		watch_queue_drop(&w->queue, &h);
	}
	watch_queue_compact(&w->queue);
	return watch_emit_due(w, now);
}

uint64_t watch_get_deadline(const struct watch *w)
{
	uint64_t due = w->wait ? w->wait : watch_queue_first(&w->queue) ? 0 : UINT64_MAX;

	for (size_t i = 0; i < WATCH_DIRT_MAX; i++)
		if (w->writes[i].due && w->writes[i].due < due)
			due = w->writes[i].due;
	return due;
}
