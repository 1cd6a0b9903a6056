/* An OCI image layout in a folder: "oci:DIR[:REF]". */
#include "inject/registry/store.h"

#include "base/atomic_file.h"
#include "base/fd.h"
#include "inject/console/out.h"
#include "inject/names/ref.h"
#include "inject/registry/layout.h"
#include "limits.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define NEXT_DAMAGED "fetch the image again: this copy is damaged"

struct oci {
	const char *path;
	struct str ref; /* after the folder; may be empty */
	int dir;        /* -1 while it does not exist */
};

static int store_oci_fail(const struct oci *o, const char *doing, const char *what, int r)
{
	return out_fail(r == -ENOSPC
			? "free disk space there, or choose another place"
			: "check the permissions and the disk of that folder",
		"%s %s/%s: %s", doing, o->path, what, err_text(r));
}

/* Opens a regular file below the layout; in a malicious layout it may be a pipe. */
static int store_oci_open_file(
	const struct oci *o, const char *name, int *fd, uint64_t *size)
{
	struct stat st;
	int got = fd_openat(o->dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);

	if (got < 0)
		return got;
	if (fstat(got, &st) < 0 || !S_ISREG(st.st_mode)) {
		fd_close(&got);
		return -EINVAL;
	}
	*fd = got;
	*size = (uint64_t)st.st_size;
	return 0;
}

static int store_oci_read_file(
	const struct oci *o, struct image_store *s, const char *name, struct buf *out)
{
	const struct sink to = {sink_put_buf, out};
	uint64_t size;
	int fd, r = store_oci_open_file(o, name, &fd, &size);

	if (r)
		return r;
	r = size > out->max ? ERR_LIMIT : store_feed_file(fd, 0, size, s->text, to);
	fd_close(&fd);
	return r;
}

static int store_oci_open(struct image_store *s)
{
	struct oci *o = arena_alloc(&s->arena, sizeof(*o));
	struct buf mark = BUF_INIT(INJECT_TEXT_MAX);
	struct str rest = s->name;
	struct str path = str_cut(&rest, ':');
	int r;

	if (!o)
		return -ENOMEM;
	*o = (struct oci){.dir = -1, .ref = rest, .path = arena_cstr(&s->arena, path)};
	s->state = o;
	s->ref = rest;
	if (!o->path)
		return -ENOMEM;
	if (!path.n)
		return out_fail_usage("give oci:DIR or oci:DIR:REF",
			"'%.*s' does not name a folder", STR_ARG(s->text));
	o->dir = fd_open(o->path, O_RDONLY | O_DIRECTORY, 0);
	if (o->dir == -ENOENT && s->mode == STORE_WRITE) {
		o->dir = -1;
		return 0;
	}
	if (o->dir < 0) {
		r = o->dir;
		o->dir = -1;
		return out_fail(
			"give a folder with an OCI layout that this user can read",
			"opening %s: %s", o->path, err_text(r));
	}
	if (s->mode == STORE_WRITE)
		return 0;
	r = store_oci_read_file(o, s, "oci-layout", &mark);
	if (!r && str_find(buf_view(&mark), STR("\"1.0.")) == mark.n)
		r = ERR_VERSION;
	buf_free(&mark);
	return r ? out_fail("name a folder that skopeo, umoci or buildah has written",
			   "%s is not an OCI layout: the file oci-layout in it: %s",
			   o->path, err_text(r))
		 : 0;
}

static void store_oci_close(struct image_store *s)
{
	struct oci *o = s->state;

	if (o)
		fd_close(&o->dir);
}

/* --- Reading -------------------------------------------------------------------- */

static int store_oci_fail_ref(const struct oci *o, int r)
{
	if (r == ERR_RANGE)
		return out_fail("name one image: oci:DIR:REF",
			"%s does not contain exactly one image", o->path);
	if (r == -ENOENT)
		return out_fail("'jq .manifests DIR/index.json' shows the names",
			"%s does not contain an image named %.*s", o->path,
			STR_ARG(o->ref));
	return r == -ENOMEM
		? r
		: out_fail(NEXT_DAMAGED, "%s/index.json is malformed", o->path);
}

static int store_oci_manifest(
	struct image_store *s, const char *digest, struct buf *out, char media[MEDIA_MAX])
{
	struct oci *o = s->state;
	struct buf index = BUF_INIT(INJECT_MANIFEST_MAX);
	struct content c = {0};
	char path[LAYOUT_PATH_MAX];
	int r;

	if (!digest[0]) {
		r = store_oci_read_file(o, s, "index.json", &index);
		if (r)
			r = store_oci_fail(o, "reading", "index.json", r);
		else
			r = layout_find(buf_view(&index), o->ref, &c);
		buf_free(&index);
		if (r)
			return r <= FAIL_BASE ? r : store_oci_fail_ref(o, r);
		/* A descriptor of index.json is checked like any other. */
		r = store_manifest(s, &c, out);
		if (!r)
			memcpy(media, c.media, MEDIA_MAX);
		return r;
	}
	layout_path(digest, path);
	r = store_oci_read_file(o, s, path, out);
	return !r || r <= FAIL_BASE || r == -ENOMEM
		? r
		: store_oci_fail(o, "reading", path, r);
}

static int store_oci_locate(
	struct image_store *s, const struct content *c, struct store_place *p)
{
	struct oci *o = s->state;
	char path[LAYOUT_PATH_MAX];
	uint64_t size;
	int fd, r;

	layout_path(c->digest, path);
	r = store_oci_open_file(o, path, &fd, &size);
	if (r)
		return out_fail(
			NEXT_DAMAGED, "reading %s/%s: %s", o->path, path, err_text(r));
	*p = (struct store_place){.fd = fd, .owns_fd = true, .size = size};
	return 0;
}

/* --- Writing -------------------------------------------------------------------- */

static const struct atomic_file_attr *store_oci_get_attr(void)
{
	static struct atomic_file_attr a;

	a = (struct atomic_file_attr){.mode = 0644, .uid = geteuid(), .gid = getegid()};
	return &a;
}

static int store_oci_make_folder(const struct oci *o, const char *name)
{
	struct stat st;

	if (mkdirat(o->dir, name, 0755) < 0 && errno != EEXIST)
		return store_oci_fail(o, "making", name, -errno);
	if (fstatat(o->dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return store_oci_fail(o, "making", name, -errno);
	/* A link would lead out of the layout. */
	return S_ISDIR(st.st_mode) ? 0 : store_oci_fail(o, "making", name, -ENOTDIR);
}

static bool store_oci_has_file(const struct oci *o, const char *name, uint64_t size)
{
	struct stat st;

	return fstatat(o->dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		S_ISREG(st.st_mode) && (uint64_t)st.st_size == size;
}

static bool store_oci_is_empty(int dir)
{
	int fd = fd_openat(dir, ".", O_RDONLY | O_DIRECTORY, 0);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	bool empty = true;

	if (!d) {
		fd_close(&fd);
		return false;
	}
	while (empty && (e = readdir(d)))
		empty = strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0;
	closedir(d);
	return empty;
}

static int store_oci_write_file(const struct oci *o, const char *name, struct str text)
{
	int r = atomic_file_write(o->dir, name, store_oci_get_attr(), &text, 1, NULL);

	return r ? store_oci_fail(o, "writing", name, r) : 0;
}

/*
 * Creates the folder, its mark file and the folders of blobs; *made if the folder is new.
 */
static int store_oci_prepare(struct oci *o, bool *made)
{
	struct stat st;
	int r;

	if (o->dir < 0) {
		if (mkdir(o->path, 0755) < 0)
			return out_fail("create its parent folder first", "making %s: %s",
				o->path, err_text(-errno));
		*made = true;
		r = fd_open(o->path, O_RDONLY | O_DIRECTORY, 0);
		if (r < 0)
			return out_fail("give a folder that this user can write to",
				"opening %s: %s", o->path, err_text(r));
		o->dir = r;
	}
	/* Two processes that add to a layout at the same time would lose a name. */
	if (flock(o->dir, LOCK_EX) < 0 && errno == EINTR)
		return -EINTR;
	if (fstatat(o->dir, "oci-layout", &st, AT_SYMLINK_NOFOLLOW) < 0) {
		if (!store_oci_is_empty(o->dir))
			return out_fail("name a new or empty folder, or an OCI layout",
				"%s is neither empty nor an OCI layout", o->path);
		r = store_oci_write_file(o, "oci-layout", STR(LAYOUT_MARK));
		if (r)
			return r;
	}
	r = store_oci_make_folder(o, "blobs");
	if (!r)
		r = store_oci_make_folder(o, "blobs/sha256");
	return r;
}

struct writer {
	struct oci *o;
	const char *path;
	int fd;
};

static int store_oci_write_piece(void *arg, struct str piece)
{
	struct writer *w = arg;
	int r = fd_write_all(w->fd, piece.p, piece.n);

	return r ? store_oci_fail(w->o, "writing", w->path, r) : 0;
}

static int store_oci_ignore_piece(void *arg, struct str piece)
{
	(void)arg;
	(void)piece;
	return 0;
}

/* Links a blob of another layout on the same file system. 1: it cannot be linked. */
static int store_oci_link_blob(
	struct oci *o, const struct store_item *i, const char *path)
{
	struct store_place p = {.fd = -1};
	const struct oci *from;
	int r;

	if (i->bytes.p || i->from->ops != &store_oci)
		return 1;
	r = store_locate(i, &p);
	if (r < 0)
		return r;
	store_place_close(&p);
	from = i->from->state;
	if (linkat(from->dir, path, o->dir, path, 0) < 0)
		return 1;
	return r ? store_feed(i, (struct sink){store_oci_ignore_piece, NULL}) : 0;
}

/* Copies by the kernel if it can, else through our memory. */
static int store_oci_write_blob(struct writer *w, const struct store_item *i)
{
	struct store_place p;
	int r = store_locate(i, &p);

	if (!r) {
		r = store_copy(&p, w->fd);
		store_place_close(&p);
		if (r < 0 && r != -EINTR)
			r = store_oci_fail(w->o, "writing", w->path, r);
	}
	return r == 1 ? store_feed(i, (struct sink){store_oci_write_piece, w}) : r;
}

static int store_oci_copy_blob(
	struct oci *o, const struct store_item *i, const char *path)
{
	struct writer w = {.o = o, .path = path};
	struct atomic_file swap;
	int r = atomic_file_begin(&swap, o->dir);

	if (r)
		return store_oci_fail(o, "writing", path, r);
	w.fd = swap.fd;
	r = store_oci_write_blob(&w, i);
	if (!r) {
		r = atomic_file_commit(&swap, path, store_oci_get_attr(), NULL);
		if (r)
			r = store_oci_fail(o, "writing", path, r);
	}
	atomic_file_end(&swap);
	return r;
}

static int store_oci_put_item(struct oci *o, const struct store_item *i, bool *mine)
{
	char path[LAYOUT_PATH_MAX];
	int r = 0;

	layout_path(i->content.digest, path);
	if (store_oci_has_file(o, path, i->content.size))
		return 0;
	if (str_starts(str_c(path), STR("blobs/sha512/")))
		r = store_oci_make_folder(o, "blobs/sha512");
	*mine = true;
	if (!r)
		r = store_oci_link_blob(o, i, path);
	return r == 1 ? store_oci_copy_blob(o, i, path) : r;
}

static int store_oci_put_name(struct image_store *s, const struct content *c)
{
	struct oci *o = s->state;
	struct buf old = BUF_INIT(INJECT_MANIFEST_MAX);
	struct buf text = BUF_INIT(INJECT_MANIFEST_MAX), full = BUF_INIT(REF_MAX + 64);
	struct str name = o->ref.n ? o->ref : s->tag;
	int r = store_oci_read_file(o, s, "index.json", &old);

	if (s->tag.n)
		ref_canonicalize(s->tag, &full);
	if (r == -ENOENT)
		r = 0;
	if (!r)
		r = layout_add(buf_view(&old), name, buf_view(&full), c, &text);
	if (r)
		r = r <= FAIL_BASE ? r : store_oci_fail(o, "reading", "index.json", r);
	else
		r = store_oci_write_file(o, "index.json", buf_view(&text));
	buf_free(&old);
	buf_free(&text);
	buf_free(&full);
	return r;
}

/* Removes the files of a failed write. */
static void store_oci_undo(struct oci *o, const struct store_item *items,
	const bool *mine, size_t n, bool made)
{
	static const char *const rest[] = {"index.json", "oci-layout"};
	static const char *const folders[] = {"blobs/sha256", "blobs/sha512", "blobs"};
	char path[LAYOUT_PATH_MAX];

	for (size_t i = 0; i < n && o->dir >= 0; i++) {
		layout_path(items[i].content.digest, path);
		if (mine[i])
			unlinkat(o->dir, path, 0);
	}
	if (!made || o->dir < 0)
		return;
	for (size_t i = 0; i < ARRAY_LEN(rest); i++)
		unlinkat(o->dir, rest[i], 0);
	for (size_t i = 0; i < ARRAY_LEN(folders); i++)
		unlinkat(o->dir, folders[i], AT_REMOVEDIR);
	rmdir(o->path);
}

static int store_oci_write(
	struct image_store *s, const struct store_item *items, size_t n)
{
	struct oci *o = s->state;
	bool *mine = arena_array(&s->arena, n, sizeof(*mine));
	bool made = false;
	int r = mine ? store_oci_prepare(o, &made) : -ENOMEM;

	for (size_t i = 0; i < n && !r; i++)
		r = store_oci_put_item(o, &items[i], &mine[i]);
	if (!r)
		r = store_oci_put_name(s, &items[n - 1].content);
	if (r && mine)
		store_oci_undo(o, items, mine, n, made);
	return r;
}

const struct store_ops store_oci = {
	.kind = "oci",
	.open = store_oci_open,
	.manifest = store_oci_manifest,
	.locate = store_oci_locate,
	.write = store_oci_write,
	.close = store_oci_close,
};
