#include "inject/registry/store_archive.h"

#include "base/fd.h"
#include "base/jw.h"
#include "base/swap.h"
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
	struct swap swap;
	struct tar tar;
	struct buf head; /* output of the tar engine, written before each content */
};

static int fail(const struct writer *w, int r)
{
	return out_fail(r == -ENOSPC ? "make room there, or choose another place"
				     : "check the rights and the disk of that place",
		"writing %s: %s", w->path, err_text(r));
}

static int flush(struct writer *w)
{
	int r = w->head.err;

	if (!r)
		r = fd_write_all(w->swap.fd, w->head.p, w->head.n);
	buf_reset(&w->head);
	return r ? fail(w, r) : 0;
}

static int piece(void *arg, struct str s)
{
	struct writer *w = arg;
	int r = fd_write_all(w->swap.fd, s.p, s.n);

	return r ? fail(w, r) : 0;
}

static int begin(struct writer *w, enum tar_type type, const char *name, uint64_t size)
{
	const struct tar_entry e = {
		.type = type,
		.mode = type == TAR_DIR ? 0755 : 0644,
		.name = name,
		.size = size,
	};
	int r = tar_header(&w->tar, &e);

	if (r)
		return out_fail("write an OCI layout instead: oci:DIR",
			"%s: an archive cannot hold %s of %llu bytes", w->path, name,
			(unsigned long long)size);
	return flush(w);
}

static int file(struct writer *w, const char *name, struct str text)
{
	int r = begin(w, TAR_FILE, name, text.n);

	if (!r)
		r = piece(w, text);
	tar_pad(&w->tar);
	return r;
}

/* Copies by the kernel if it can, else through our memory. */
static int bytes(struct writer *w, const struct store_item *i)
{
	struct store_place p;
	int r = store_locate(i, &p);

	if (!r) {
		r = store_copy(&p, w->swap.fd);
		store_place_close(&p);
		if (r < 0 && r != -EINTR)
			r = fail(w, r);
	}
	return r == 1 ? store_feed(i, (struct sink){piece, w}) : r;
}

static int blob(struct writer *w, const struct store_item *i)
{
	char path[LAYOUT_PATH_MAX];
	int r;

	layout_path(i->content.digest, path);
	r = begin(w, TAR_FILE, path, i->content.size);
	if (!r)
		r = bytes(w, i);
	tar_pad(&w->tar);
	return r;
}

static int by_digest(const void *a, const void *b)
{
	const struct store_item *const *x = a, *const *y = b;

	return strcmp((*x)->content.digest, (*y)->content.digest);
}

/*
 * Writes each content once and in byte order, so that equal images give equal archives.
 */
static int blobs(
	struct image_store *s, struct writer *w, const struct store_item *items, size_t n)
{
	const struct store_item **all = arena_array(&s->arena, n, sizeof(*all));
	int r;

	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		all[i] = &items[i];
	qsort(all, n, sizeof(*all), by_digest);
	r = begin(w, TAR_DIR, "blobs/", 0);
	if (!r)
		r = begin(w, TAR_DIR, "blobs/sha256/", 0);
	for (size_t i = 0; i < n && !r; i++)
		if (!i || by_digest(&all[i - 1], &all[i]) != 0)
			r = blob(w, all[i]);
	return r;
}

/* Appends the name with its tag, as engines show it; nothing if there is no name. */
static void full_name(struct str name, struct buf *out)
{
	const char *why;
	struct ref ref;

	if (!name.n || ref_parse(&ref, name, &why))
		return;
	buf_str(out, name);
	if (!ref.tag.n && !ref.digest.n)
		buf_puts(out, ":latest");
}

static void path_of(struct jw *w, const struct content *c)
{
	char path[LAYOUT_PATH_MAX];

	layout_path(c->digest, path);
	jw_cstr(w, path);
}

static int write_docker(struct manifest *m, struct str name, struct buf *out)
{
	struct json_val v;
	struct content c;
	struct jw w;
	int it = 0, r = 0;

	jw_init(&w, out);
	jw_array(&w);
	jw_object(&w);
	jw_key(&w, "Config");
	path_of(&w, &m->config);
	jw_key(&w, "RepoTags");
	jw_array(&w);
	if (name.n)
		jw_str(&w, name);
	jw_end(&w);
	jw_key(&w, "Layers");
	jw_array(&w);
	while (!r && json_next(m->layers, &it, NULL, &v)) {
		r = content_read(&m->doc, v, &c);
		path_of(&w, &c);
	}
	jw_end(&w);
	jw_end(&w);
	jw_end(&w);
	return r ? r : out->err;
}

/* manifest.json, for engines without support for layouts; it describes one image only. */
static int docker_list(
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
			r = write_docker(&m, name, out);
		manifest_free(&m);
	}
	if (images != 1)
		buf_reset(out);
	return r;
}

static int lists(struct writer *w, struct image_store *s, struct str ref,
	const struct store_item *items, size_t n)
{
	struct buf index = BUF_INIT(INJECT_TEXT_MAX), name = BUF_INIT(REF_MAX + 64);
	struct buf full = BUF_INIT(REF_MAX + 64), docker = BUF_INIT(INJECT_MANIFEST_MAX);
	int r;

	full_name(s->tag.n ? s->tag : ref, &name);
	ref_full(buf_view(&name), &full);
	r = layout_add((struct str){0}, ref.n ? ref : buf_view(&name), buf_view(&full),
		&items[n - 1].content, &index);
	if (!r)
		r = docker_list(items, n, buf_view(&name), &docker);
	if (r)
		r = fail(w, r);
	if (!r)
		r = file(w, "index.json", buf_view(&index));
	if (!r && docker.n)
		r = file(w, "manifest.json", buf_view(&docker));
	if (!r)
		r = file(w, "oci-layout", STR(LAYOUT_MARK));
	buf_free(&index);
	buf_free(&name);
	buf_free(&full);
	buf_free(&docker);
	return r;
}

static int write_all(struct writer *w, struct image_store *s, struct str ref,
	const struct store_item *items, size_t n)
{
	int r = blobs(s, w, items, n);

	if (!r)
		r = lists(w, s, ref, items, n);
	if (r)
		return r;
	tar_end(&w->tar);
	return flush(w);
}

/* The attributes of the file: those of a new file, or the mode of the existing file. */
static struct swap_attr attr_of(int dir, const char *name)
{
	struct swap_attr a = {.uid = geteuid(), .gid = getegid()};
	struct stat st;
	mode_t mask = umask(0);

	umask(mask);
	a.mode = 0666 & ~mask;
	if (fstatat(dir, name, &st, 0) == 0 && S_ISREG(st.st_mode))
		a.mode = st.st_mode & 0777;
	return a;
}

int archive_write(struct image_store *s, const char *path, struct str ref,
	const struct store_item *items, size_t n)
{
	struct writer w = {.path = path,
		.swap = {.fd = -1, .dir = -1},
		.head = BUF_INIT(4 * TAR_BLOCK)};
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	char *folder = arena_cstr(
		&s->arena, slash ? str_make(path, (size_t)(name - path)) : STR("."));
	struct swap_attr attr;
	int dir = -1, r;

	if (!folder)
		return -ENOMEM;
	dir = fd_open(folder, O_RDONLY | O_DIRECTORY, 0);
	r = dir < 0 ? dir : swap_begin(&w.swap, dir);
	if (r) {
		fd_close(&dir);
		return fail(&w, r);
	}
	tar_init(&w.tar, &w.head);
	r = write_all(&w, s, ref, items, n);
	if (!r) {
		attr = attr_of(dir, name);
		r = swap_commit(&w.swap, name, &attr, NULL);
		if (r)
			r = fail(&w, r);
	}
	swap_end(&w.swap);
	buf_free(&w.head);
	fd_close(&dir);
	return r;
}
