/*
 * An archive: "archive:FILE[:REF]". The archive is a docker-archive as of "docker save",
 * with manifest.json and layers named by the digests of their unpacked bytes, or an OCI
 * layout in a tar file, or both at once.
 */
#include "inject/registry/store_archive.h"

#include "base/fd.h"
#include "base/jw.h"
#include "codec/archive/tar.h"
#include "inject/console/out.h"
#include "inject/names/ref.h"
#include "inject/registry/layout.h"
#include "inject/registry/manifest.h"
#include "inject/registry/tarball.h"
#include "limits.h"

#include <errno.h>
#include <fcntl.h>

#define NEXT_DAMAGED "save the image again: this copy is damaged"

/* A content of a docker-archive, where no path contains its digest. */
struct place {
	struct content content;
	uint64_t at;
	bool is_guessed; /* the digest comes from a file name, or of no plain archive */
};

struct archive {
	const char *path;
	struct str ref; /* after the file; may be empty */
	int fd;
	struct tarball tar;
	struct buf places; /* of a docker-archive */
	struct buf manifest;
	bool is_docker;
};

static int store_archive_fail(const struct archive *a, const char *why)
{
	return out_fail(NEXT_DAMAGED, "%s: %s", a->path, why);
}

static int store_archive_find_file(
	const struct archive *a, struct str name, uint64_t *at, uint64_t *size)
{
	int r = tarball_find(&a->tar, name, at, size);

	switch (r) {
	case -ENOENT:
		return out_fail(NEXT_DAMAGED, "%s: the file %.*s is missing in it",
			a->path, STR_ARG(name));
	case -ELOOP:
		return out_fail(NEXT_DAMAGED, "%s: the link %.*s in it leads to no file",
			a->path, STR_ARG(name));
	case ERR_DUPLICATE:
		return out_fail(NEXT_DAMAGED, "%s: the file %.*s is in it twice", a->path,
			STR_ARG(name));
	default:
		return r;
	}
}

static int store_archive_read_file(
	struct image_store *s, struct str name, struct buf *out)
{
	struct archive *a = s->state;
	const struct sink to = {sink_put_buf, out};
	uint64_t at, size;
	int r = store_archive_find_file(a, name, &at, &size);

	if (!r && size > out->max)
		return store_archive_fail(a, "a JSON document in it is too long");
	return r ? r : store_feed_file(a->fd, at, size, s->text, to);
}

static bool store_archive_has_file(const struct archive *a, struct str name)
{
	uint64_t at, size;

	return tarball_find(&a->tar, name, &at, &size) == 0;
}

/* --- Manifests of docker-archives ------------------------------------------------ */

static int store_archive_add_place(
	struct archive *a, const struct content *c, uint64_t at, bool is_guessed)
{
	const struct place p = {.content = *c, .at = at, .is_guessed = is_guessed};

	buf_put(&a->places, &p, sizeof(p));
	return a->places.err;
}

/* 64 hexadecimal digits anywhere in a file's name; empty: none. */
static struct str store_archive_find_hex(struct str name)
{
	size_t run = 0;

	for (size_t i = 0; i < name.n; i++) {
		bool hex = (name.p[i] >= '0' && name.p[i] <= '9') ||
			(name.p[i] >= 'a' && name.p[i] <= 'f');

		run = hex ? run + 1 : 0;
		if (run == 64)
			return str_make(name.p + i - 63, 64);
	}
	return (struct str){0};
}

/*
 * Finds the digest of a layer. An uncompressed layer has the digest in the config. For a
 * compressed layer the file's name must contain the digest of its bytes, as some tools
 * write it.
 */
static int store_archive_read_layer(
	struct archive *a, struct str name, struct str diff_id, struct content *c)
{
	unsigned char magic[4] = {0};
	struct buf text = BUF_INIT(TAR_BLOCK);
	const char *media = MEDIA_OCI_LAYER;
	const struct sink to = {sink_put_buf, &text};
	struct str digest = diff_id;
	uint64_t at;
	bool plain;
	int r = store_archive_find_file(a, name, &at, &c->size);

	if (r)
		return r;
	r = store_feed_file(
		a->fd, at, c->size < TAR_BLOCK ? c->size : TAR_BLOCK, name, to);
	if (r)
		goto out;
	if (text.n >= 4)
		memcpy(magic, text.p, 4);
	plain = text.n == TAR_BLOCK && memcmp(text.p + 257, "ustar", 5) == 0;
	buf_reset(&text);
	if (magic[0] == 0x1f && magic[1] == 0x8b)
		media = MEDIA_OCI_LAYER "+gzip";
	else if (memcmp(magic, "\x28\xb5\x2f\xfd", 4) == 0)
		media = MEDIA_OCI_LAYER "+zstd";
	if (strcmp(media, MEDIA_OCI_LAYER) != 0) {
		buf_puts(&text, "sha256:");
		buf_str(&text, store_archive_find_hex(name));
		digest = buf_view(&text);
		if (!digest_is_valid(digest)) {
			r = out_fail("convert it to an OCI archive with skopeo copy",
				"%s: its layer %.*s is compressed, and the archive does "
				"not contain the digest of the compressed layer",
				a->path, STR_ARG(name));
			goto out;
		}
	}
	if (!digest_is_valid(digest)) {
		r = store_archive_fail(
			a, "a digest of a layer in its config is malformed");
		goto out;
	}
	memcpy(c->digest, digest.p, digest.n);
	c->digest[digest.n] = '\0';
	memcpy(c->media, media, strlen(media) + 1);
	r = store_archive_add_place(a, c, at, !plain);
out:
	buf_free(&text);
	return r;
}

static int store_archive_make_layers(struct archive *a, struct json_doc *list,
	struct json_val names, struct json_doc *config, struct json_val diff_ids,
	struct jw *w)
{
	struct json_val name, id;
	int i = 0, k = 0, r = 0;

	if (json_count(names) != json_count(diff_ids) ||
		json_count(names) > INJECT_LAYERS_MAX)
		return store_archive_fail(a,
			"its config and its manifest have different numbers of layers");
	while (!r && json_next(names, &i, NULL, &name) &&
		json_next(diff_ids, &k, NULL, &id)) {
		struct buf text = BUF_INIT(1024);
		struct content c = {0};

		r = store_archive_read_layer(
			a, json_doc_str(list, name), json_doc_str(config, id), &c);
		content_write(&text, &c);
		if (!r)
			jw_raw(w, buf_view(&text));
		buf_free(&text);
	}
	return r;
}

static int store_archive_make_manifest(struct image_store *s, struct json_doc *list,
	struct json_val entry, struct buf *config)
{
	struct archive *a = s->state;
	struct content c = {.media = MEDIA_OCI_CONFIG};
	struct buf text = BUF_INIT(1024);
	struct str name = json_doc_str(list, json_get(entry, "Config"));
	struct json_doc d = {0};
	struct jw w;
	uint64_t at;
	int r = store_archive_read_file(s, name, config);

	if (!r)
		r = store_archive_find_file(a, name, &at, &c.size);
	if (r)
		return r;
	content_from_bytes(buf_view(config), &c);
	r = store_archive_add_place(a, &c, at, false);
	if (r)
		return r;
	if (json_doc_parse(&d, buf_view(config)))
		return store_archive_fail(a, "its config is not JSON");
	jw_init(&w, &a->manifest);
	jw_object(&w);
	jw_key(&w, "schemaVersion");
	jw_int(&w, 2);
	jw_key(&w, "mediaType");
	jw_cstr(&w, MEDIA_OCI_MANIFEST);
	jw_key(&w, "config");
	content_write(&text, &c);
	jw_raw(&w, buf_view(&text));
	jw_key(&w, "layers");
	jw_array(&w);
	r = store_archive_make_layers(a, list, json_get(entry, "Layers"), &d,
		json_get(json_get(json_doc_root(&d), "rootfs"), "diff_ids"), &w);
	if (!r) {
		jw_end(&w);
		jw_end(&w);
		r = a->manifest.err;
	}
	json_doc_free(&d);
	buf_free(&text);
	return r;
}

static bool store_archive_has_tag(
	struct json_doc *d, struct json_val entry, struct str ref)
{
	struct buf want = BUF_INIT(REF_MAX + 64), is = BUF_INIT(REF_MAX + 64);
	struct json_val tags = json_get(entry, "RepoTags"), v;
	bool found = false;
	int it = 0;

	ref_canonicalize(ref, &want);
	while (!found && json_next(tags, &it, NULL, &v)) {
		buf_reset(&is);
		ref_canonicalize(json_doc_str(d, v), &is);
		found = want.n && str_eq(buf_view(&is), buf_view(&want));
	}
	buf_free(&want);
	buf_free(&is);
	return found;
}

static int store_archive_choose_entry(
	struct archive *a, struct json_doc *d, struct json_val *entry)
{
	struct json_val root = json_doc_root(d), v;
	int it = 0;

	if (!a->ref.n) {
		if (json_count(root) == 1 && json_next(root, &it, NULL, entry))
			return 0;
		return out_fail("name one image: archive:FILE:NAME",
			"%s does not contain exactly one image", a->path);
	}
	while (json_next(root, &it, NULL, &v))
		if (store_archive_has_tag(d, v, a->ref)) {
			*entry = v;
			return 0;
		}
	return out_fail("'tar -xOf FILE manifest.json' shows the names",
		"%s does not contain an image named %.*s", a->path, STR_ARG(a->ref));
}

static int store_archive_read_docker(struct image_store *s)
{
	struct archive *a = s->state;
	struct buf text = BUF_INIT(INJECT_MANIFEST_MAX);
	struct buf config = BUF_INIT(INJECT_MANIFEST_MAX);
	struct json_val entry = {0};
	struct json_doc d = {0};
	int r = store_archive_read_file(s, STR("manifest.json"), &text);

	if (!r &&
		(json_doc_parse(&d, buf_view(&text)) ||
			json_type(json_doc_root(&d)) != JSON_ARRAY))
		r = store_archive_fail(a, "its manifest.json is malformed");
	if (!r)
		r = store_archive_choose_entry(a, &d, &entry);
	if (!r)
		r = store_archive_make_manifest(s, &d, entry, &config);
	json_doc_free(&d);
	buf_free(&config);
	buf_free(&text);
	return r;
}

/* --- The operations --------------------------------------------------------------- */

static int store_archive_open(struct image_store *s)
{
	struct archive *a = arena_alloc(&s->arena, sizeof(*a));
	struct str rest = s->name;
	struct str path = str_cut(&rest, ':');
	const char *why;
	int r;

	if (!a)
		return -ENOMEM;
	*a = (struct archive){.fd = -1, .ref = rest, .path = arena_cstr(&s->arena, path)};
	buf_init(&a->places, INJECT_LAYERS_MAX * 2 * sizeof(struct place));
	buf_init(&a->manifest, INJECT_MANIFEST_MAX);
	s->state = a;
	s->ref = rest;
	if (!a->path)
		return -ENOMEM;
	if (!path.n)
		return out_fail_usage("give archive:FILE or archive:FILE:REF",
			"'%.*s' does not name a file", STR_ARG(s->text));
	if (s->mode == STORE_WRITE)
		return 0;
	r = fd_open(a->path, O_RDONLY | O_NONBLOCK, 0);
	if (r < 0)
		return out_fail("give a file that this user can open", "opening %s: %s",
			a->path, err_text(r));
	a->fd = r;
	r = tarball_read(&a->tar, a->fd, &s->arena, &why);
	if (r == ERR_SYNTAX)
		return out_fail("write it again with docker save or skopeo copy",
			"%s cannot be read: %s", a->path, why);
	if (r)
		return r == -ENOMEM ? r
				    : out_fail("check the disk of the file",
					      "reading %s: %s", a->path, err_text(r));
	a->is_docker = !store_archive_has_file(a, STR("index.json"));
	if (a->is_docker && !store_archive_has_file(a, STR("manifest.json")))
		return out_fail("give a file that docker save or skopeo copy has written",
			"%s is not an archive of images", a->path);
	return a->is_docker ? store_archive_read_docker(s) : 0;
}

static void store_archive_close(struct image_store *s)
{
	struct archive *a = s->state;

	if (!a)
		return;
	tarball_free(&a->tar);
	buf_free(&a->places);
	buf_free(&a->manifest);
	fd_close(&a->fd);
}

/* Finds the content that the name points at in the index of the archive's layout. */
static int store_archive_find_ref(struct image_store *s, struct content *c)
{
	struct archive *a = s->state;
	struct buf index = BUF_INIT(INJECT_MANIFEST_MAX);
	int r = store_archive_read_file(s, STR("index.json"), &index);

	if (!r)
		r = layout_find(buf_view(&index), a->ref, c);
	buf_free(&index);
	if (r == ERR_RANGE)
		return out_fail("name one image: archive:FILE:REF",
			"%s does not contain exactly one image", a->path);
	if (r == -ENOENT)
		return out_fail("'tar -xOf FILE index.json' shows the names",
			"%s does not contain an image named %.*s", a->path,
			STR_ARG(a->ref));
	return r == ERR_SYNTAX ? store_archive_fail(a, "its index.json is malformed") : r;
}

static int store_archive_manifest(
	struct image_store *s, const char *digest, struct buf *out, char media[MEDIA_MAX])
{
	struct archive *a = s->state;
	struct content c = {0};
	char path[LAYOUT_PATH_MAX];
	int r;

	if (a->is_docker) {
		if (digest[0])
			return store_archive_fail(
				a, "the requested manifest is missing in it");
		buf_str(out, buf_view(&a->manifest));
		return out->err;
	}
	if (digest[0]) {
		layout_path(digest, path);
		return store_archive_read_file(s, str_c(path), out);
	}
	r = store_archive_find_ref(s, &c);
	if (!r)
		r = store_manifest(s, &c, out);
	if (!r)
		memcpy(media, c.media, MEDIA_MAX);
	return r;
}

static int store_archive_locate(
	struct image_store *s, const struct content *c, struct store_place *p)
{
	struct archive *a = s->state;
	const struct place *all = (const struct place *)(const void *)a->places.p;
	struct store_place is = {.fd = a->fd};
	size_t i = 0, n = a->places.n / sizeof(*all);
	char path[LAYOUT_PATH_MAX];
	int r;

	if (!a->is_docker) {
		layout_path(c->digest, path);
		r = store_archive_find_file(a, str_c(path), &is.at, &is.size);
		if (r)
			return r;
	} else {
		while (i < n && strcmp(all[i].content.digest, c->digest) != 0)
			i++;
		if (i == n)
			return store_archive_fail(
				a, "a part of the image is missing in it");
		is.at = all[i].at;
		is.size = all[i].content.size;
		is.is_guessed = all[i].is_guessed;
	}
	*p = is;
	return 0;
}

static int store_archive_write(
	struct image_store *s, const struct store_item *items, size_t n)
{
	struct archive *a = s->state;

	return store_archive_write_file(s, a->path, a->ref, items, n);
}

const struct store_ops store_archive = {
	.kind = "archive",
	.open = store_archive_open,
	.manifest = store_archive_manifest,
	.locate = store_archive_locate,
	.write = store_archive_write,
	.close = store_archive_close,
};
