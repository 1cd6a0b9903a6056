#include "inject/registry/store_archive.h"

#include "base/atomic_file.h"
#include "base/fd.h"
#include "base/jw.h"
#include "codec/archive/tar.h"
#include "inject/console/out.h"
#include "inject/names/ref.h"
#include "inject/registry/layout.h"
#include "inject/registry/manifest.h"
#include "limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct writer {
	const char *path;
	struct atomic_file swap;
	struct tar tar;
	struct buf head; /* output of the tar engine, written before each content */
};

static int store_archive_fail_write(const struct writer *w, int r)
{
	return out_fail(r == -ENOSPC
			? "free disk space there, or choose another place"
			: "check the permissions and the disk of that folder",
		"writing %s: %s", w->path, err_text(r));
}

static int store_archive_flush(struct writer *w)
{
	int r = w->head.err;

	if (!r)
		r = fd_write_all(w->swap.fd, w->head.p, w->head.n);
	buf_reset(&w->head);
	return r ? store_archive_fail_write(w, r) : 0;
}

static int store_archive_put_piece(void *arg, struct str s)
{
	struct writer *w = arg;
	int r = fd_write_all(w->swap.fd, s.p, s.n);

	return r ? store_archive_fail_write(w, r) : 0;
}

static int store_archive_put_header(
	struct writer *w, enum tar_type type, const char *name, uint64_t size)
{
	const struct tar_entry e = {
		.type = type,
		.mode = type == TAR_DIR ? 0755 : 0644,
		.name = name,
		.size = size,
	};
	int r = tar_write_header(&w->tar, &e);

	if (r)
		return out_fail("write an OCI layout instead: oci:DIR",
			"%s: an archive cannot hold %s of %llu bytes", w->path, name,
			(unsigned long long)size);
	return store_archive_flush(w);
}

static int store_archive_put_file(struct writer *w, const char *name, struct str text)
{
	int r = store_archive_put_header(w, TAR_FILE, name, text.n);

	if (!r)
		r = store_archive_put_piece(w, text);
	tar_pad(&w->tar);
	return r;
}

/* Copies by the kernel if it can, else through our memory. */
static int store_archive_put_content(struct writer *w, const struct store_item *i)
{
	struct store_place p;
	int r = store_locate(i, &p);

	if (!r) {
		r = store_copy(&p, w->swap.fd);
		store_place_close(&p);
		if (r < 0 && r != -EINTR)
			r = store_archive_fail_write(w, r);
	}
	return r == 1 ? store_feed(i, (struct sink){store_archive_put_piece, w}) : r;
}

static int store_archive_put_blob(struct writer *w, const struct store_item *i)
{
	char path[LAYOUT_PATH_MAX];
	int r;

	layout_path(i->content.digest, path);
	r = store_archive_put_header(w, TAR_FILE, path, i->content.size);
	if (!r)
		r = store_archive_put_content(w, i);
	tar_pad(&w->tar);
	return r;
}

static int store_archive_compare(const void *a, const void *b)
{
	const struct store_item *const *x = a, *const *y = b;

	return strcmp((*x)->content.digest, (*y)->content.digest);
}

/*
 * Writes each content once and in byte order, so that equal images give equal archives.
 */
static int store_archive_put_blobs(
	struct image_store *s, struct writer *w, const struct store_item *items, size_t n)
{
	const struct store_item **all = arena_array(&s->arena, n, sizeof(*all));
	int r;

	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		all[i] = &items[i];
	qsort(all, n, sizeof(*all), store_archive_compare);
	r = store_archive_put_header(w, TAR_DIR, "blobs/", 0);
	if (!r)
		r = store_archive_put_header(w, TAR_DIR, "blobs/sha256/", 0);
	for (size_t i = 0; i < n && !r; i++)
		if (!i || store_archive_compare(&all[i - 1], &all[i]) != 0)
			r = store_archive_put_blob(w, all[i]);
	return r;
}

/* Appends the name with its tag, as engines show it; nothing if there is no name. */
static void store_archive_full_name(struct str name, struct buf *out)
{
	const char *why;
	struct ref ref;

	if (!name.n || ref_parse(&ref, name, &why))
		return;
	buf_str(out, name);
	if (!ref.tag.n && !ref.digest.n)
		buf_puts(out, ":latest");
}

static void store_archive_put_path(struct jw *w, const struct content *c)
{
	char path[LAYOUT_PATH_MAX];

	layout_path(c->digest, path);
	jw_cstr(w, path);
}

static int store_archive_docker_entry(
	struct manifest *m, struct str name, struct buf *out)
{
	struct json_val v;
	struct content c;
	struct jw w;
	int it = 0, r = 0;

	jw_init(&w, out);
	jw_array(&w);
	jw_object(&w);
	jw_key(&w, "Config");
	store_archive_put_path(&w, &m->config);
	jw_key(&w, "RepoTags");
	jw_array(&w);
	if (name.n)
		jw_str(&w, name);
	jw_end(&w);
	jw_key(&w, "Layers");
	jw_array(&w);
	while (!r && json_next(m->layers, &it, NULL, &v)) {
		r = content_read(&m->doc, v, &c);
		store_archive_put_path(&w, &c);
	}
	jw_end(&w);
	jw_end(&w);
	jw_end(&w);
	return r ? r : out->err;
}

/* manifest.json, for engines without support for layouts; it describes one image only. */
static int store_archive_docker_list(
	const struct store_item *items, size_t n, struct str name, struct buf *out)
{
	size_t images = 0;
	int r = 0;

	for (size_t i = 0; i < n && !r; i++) {
		struct manifest m = {0};
		const char *why;

		if (!items[i].is_manifest)
			continue;
		r = manifest_read(&m, items[i].bytes, "", &why);
		if (!r && m.kind == MANIFEST_IMAGE && ++images == 1)
			r = store_archive_docker_entry(&m, name, out);
		manifest_free(&m);
	}
	if (images != 1)
		buf_reset(out);
	return r;
}

static int store_archive_put_lists(struct writer *w, struct image_store *s,
	struct str ref, const struct store_item *items, size_t n)
{
	struct buf index = BUF_INIT(INJECT_TEXT_MAX), name = BUF_INIT(REF_MAX + 64);
	struct buf full = BUF_INIT(REF_MAX + 64), docker = BUF_INIT(INJECT_MANIFEST_MAX);
	int r;

	store_archive_full_name(s->tag.n ? s->tag : ref, &name);
	ref_canonicalize(buf_view(&name), &full);
	r = layout_add((struct str){0}, ref.n ? ref : buf_view(&name), buf_view(&full),
		&items[n - 1].content, &index);
	if (!r)
		r = store_archive_docker_list(items, n, buf_view(&name), &docker);
	if (r)
		r = store_archive_fail_write(w, r);
	if (!r)
		r = store_archive_put_file(w, "index.json", buf_view(&index));
	if (!r && docker.n)
		r = store_archive_put_file(w, "manifest.json", buf_view(&docker));
	if (!r)
		r = store_archive_put_file(w, "oci-layout", STR(LAYOUT_MARK));
	buf_free(&index);
	buf_free(&name);
	buf_free(&full);
	buf_free(&docker);
	return r;
}

static int store_archive_put_all(struct writer *w, struct image_store *s, struct str ref,
	const struct store_item *items, size_t n)
{
	int r = store_archive_put_blobs(s, w, items, n);

	if (!r)
		r = store_archive_put_lists(w, s, ref, items, n);
	if (r)
		return r;
	tar_end(&w->tar);
	return store_archive_flush(w);
}

/* The attributes of the file: those of a new file, or the mode of the existing file. */
static struct atomic_file_attr store_archive_get_attr(int dir, const char *name)
{
	struct atomic_file_attr a = {.uid = geteuid(), .gid = getegid()};
	struct stat st;
	mode_t mask = umask(0);

	umask(mask);
	a.mode = 0666 & ~mask;
	if (fstatat(dir, name, &st, 0) == 0 && S_ISREG(st.st_mode))
		a.mode = st.st_mode & 0777;
	return a;
}

int store_archive_write_file(struct image_store *s, const char *path, struct str ref,
	const struct store_item *items, size_t n)
{
	struct writer w = {.path = path,
		.swap = {.fd = -1, .dir = -1},
		.head = BUF_INIT(4 * TAR_BLOCK)};
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	char *folder = arena_cstr(
		&s->arena, slash ? str_make(path, (size_t)(name - path)) : STR("."));
	struct atomic_file_attr attr;
	int dir = -1, r;

	if (!folder)
		return -ENOMEM;
	dir = fd_open(folder, O_RDONLY | O_DIRECTORY, 0);
	r = dir < 0 ? dir : atomic_file_begin(&w.swap, dir);
	if (r) {
		fd_close(&dir);
		return store_archive_fail_write(&w, r);
	}
	tar_init(&w.tar, &w.head);
	r = store_archive_put_all(&w, s, ref, items, n);
	if (!r) {
		attr = store_archive_get_attr(dir, name);
		r = atomic_file_commit(&w.swap, name, &attr, NULL);
		if (r)
			r = store_archive_fail_write(&w, r);
	}
	atomic_file_end(&w.swap);
	buf_free(&w.head);
	fd_close(&dir);
	return r;
}
