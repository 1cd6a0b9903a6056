#include "inject/registry/layout.h"

#include "inject/http/edit.h"
#include "inject/names/ref.h"
#include "inject/registry/manifest.h"
#include "limits.h"

#include <errno.h>
#include <stdio.h>

#define REF_NAME "org.opencontainers.image.ref.name"
#define IMAGE_NAME "io.containerd.image.name"

void layout_path(const char *digest, char path[LAYOUT_PATH_MAX])
{
	struct str hex = str_c(digest);
	struct str algorithm = str_cut(&hex, ':');

	snprintf(path, LAYOUT_PATH_MAX, "blobs/%.*s/%.*s", STR_ARG(algorithm),
		STR_ARG(hex));
}

static int layout_parse_index(struct json_doc *d, struct str index)
{
	int r = json_doc_parse(d, index);

	if (r == -ENOMEM)
		return r;
	if (!r && json_type(json_get(json_doc_root(d), "manifests")) != JSON_ARRAY) {
		json_doc_free(d);
		r = ERR_SYNTAX;
	}
	return r ? ERR_SYNTAX : 0;
}

/* Whether two spellings of an image's name are equal in canonical form. */
static bool layout_is_same_image(struct str a, struct str b)
{
	struct buf full[2] = {BUF_INIT(REF_MAX + 64), BUF_INIT(REF_MAX + 64)};
	bool same;

	ref_canonicalize(a, &full[0]);
	ref_canonicalize(b, &full[1]);
	same = full[0].n && str_eq(buf_view(&full[0]), buf_view(&full[1]));
	buf_free(&full[0]);
	buf_free(&full[1]);
	return same;
}

static bool layout_is_named(struct json_doc *d, struct json_val entry, struct str ref)
{
	struct json_val notes = json_get(entry, "annotations");

	return str_eq(json_doc_str(d, json_get(notes, REF_NAME)), ref) ||
		layout_is_same_image(json_doc_str(d, json_get(notes, IMAGE_NAME)), ref);
}

int layout_find(struct str index, struct str ref, struct content *c)
{
	struct json_val all, v, found = {0};
	struct json_doc d;
	int it = 0, r = layout_parse_index(&d, index);

	if (r)
		return r;
	all = json_get(json_doc_root(&d), "manifests");
	if (ref.n == 0) {
		r = json_count(all) == 1 ? 0 : ERR_RANGE;
		if (!r)
			(void)json_next(all, &it, NULL, &found);
	} else {
		r = -ENOENT;
		while (r && json_next(all, &it, NULL, &v))
			if (layout_is_named(&d, v, ref)) {
				found = v;
				r = 0;
			}
	}
	if (!r)
		r = content_read(&d, found, c);
	json_doc_free(&d);
	return r;
}

static void layout_write_entry(
	struct buf *out, struct str ref, struct str image, const struct content *c)
{
	struct jw w;

	jw_init(&w, out);
	jw_object(&w);
	content_write_members(&w, c);
	if (ref.n || image.n) {
		jw_key(&w, "annotations");
		jw_object(&w);
		if (image.n) {
			jw_key(&w, IMAGE_NAME);
			jw_str(&w, image);
		}
		if (ref.n) {
			jw_key(&w, REF_NAME);
			jw_str(&w, ref);
		}
		jw_end(&w);
	}
	jw_end(&w);
}

/* The index of the entry that the new entry replaces; SIZE_MAX: none. */
static size_t layout_find_replaced(
	struct json_doc *d, struct json_val all, struct str ref, const struct content *c)
{
	struct json_val v;
	int it = 0;

	for (size_t i = 0; json_next(all, &it, NULL, &v); i++) {
		struct json_val notes = json_get(v, "annotations");
		struct str name = json_doc_str(d, json_get(notes, REF_NAME));
		struct str digest = json_doc_str(d, json_get(v, "digest"));

		if (ref.n ? str_eq(name, ref)
			  : name.n == 0 && str_eq(digest, str_c(c->digest)))
			return i;
	}
	return SIZE_MAX;
}

int layout_add(struct str index, struct str ref, struct str image,
	const struct content *c, struct buf *out)
{
	struct buf list = BUF_INIT(INJECT_MANIFEST_MAX), one = BUF_INIT(INJECT_TEXT_MAX);
	const struct edit edit = {"manifests", .text = &list};
	struct json_val all;
	struct json_doc d;
	int r = layout_parse_index(
		&d, index.n ? index : STR("{\"schemaVersion\":2,\"manifests\":[]}"));

	if (r)
		return r;
	all = json_get(json_doc_root(&d), "manifests");
	layout_write_entry(&one, ref, image, c);
	edit_array(&list, all, layout_find_replaced(&d, all, ref, c), buf_view(&one));
	edit_object(out, json_doc_root(&d), &edit, 1);
	r = one.err;
	json_doc_free(&d);
	buf_free(&list);
	buf_free(&one);
	return r ? r : out->err;
}
