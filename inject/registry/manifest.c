#include "inject/registry/manifest.h"

#include "base/jw.h"
#include "limits.h"

#include <errno.h>

enum { INJECT_PLATFORMS_MAX = 64 }; /* entries of an index; the longest have 30 */

static const struct kind {
	const char *media, *config;
	enum manifest_kind kind;
	bool docker;
} kinds[] = {
	{MEDIA_OCI_MANIFEST, MEDIA_OCI_CONFIG, MANIFEST_IMAGE, false},
	{MEDIA_DOCKER_MANIFEST, MEDIA_DOCKER_CONFIG, MANIFEST_IMAGE, true},
	{MEDIA_OCI_INDEX, NULL, MANIFEST_INDEX, false},
	{MEDIA_DOCKER_INDEX, NULL, MANIFEST_INDEX, true},
};

static const struct kind *manifest_find_media(struct str media)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (str_eq(media, str_c(kinds[i].media)))
			return &kinds[i];
	return NULL;
}

int content_read(struct json_doc *d, struct json_val v, struct content *c)
{
	struct str digest = json_doc_str(d, json_get(v, "digest"));
	struct str media = json_doc_str(d, json_get(v, "mediaType"));
	int64_t size = json_doc_int(json_get(v, "size"), -1);

	if (!digest_is_valid(digest) || size < 0 || media.n >= MEDIA_MAX)
		return ERR_SYNTAX;
	*c = (struct content){.size = (uint64_t)size};
	memcpy(c->digest, digest.p, digest.n);
	if (media.n)
		memcpy(c->media, media.p, media.n);
	/* A NUL would truncate the media type. */
	return strlen(c->media) == media.n ? 0 : ERR_SYNTAX;
}

void content_write_members(struct jw *w, const struct content *c)
{
	jw_key(w, "mediaType");
	jw_cstr(w, c->media);
	jw_key(w, "digest");
	jw_cstr(w, c->digest);
	jw_key(w, "size");
	jw_uint(w, c->size);
}

void content_write(struct buf *out, const struct content *c)
{
	struct jw w;

	jw_init(&w, out);
	jw_object(&w);
	content_write_members(&w, c);
	jw_end(&w);
}

/*
 * Finds the kind by the media type, of the transfer or in the text. OCI manifests of a
 * layout may have neither: then the members decide.
 */
static const char *manifest_detect_kind(
	struct manifest *m, struct str media, const struct kind **k)
{
	struct json_val root = json_doc_root(&m->doc);
	struct json_val own = json_get(root, "mediaType");
	bool layers = json_type(json_get(root, "layers")) != JSON_ABSENT ||
		json_type(json_get(root, "config")) != JSON_ABSENT;
	bool entries = json_type(json_get(root, "manifests")) != JSON_ABSENT;

	if (json_doc_int(json_get(root, "schemaVersion"), 0) == 1)
		return "it has the obsolete schema version 1";
	if (json_doc_int(json_get(root, "schemaVersion"), 0) != 2)
		return "it is not the manifest of an image";
	if (layers == entries)
		return layers ? "it has the members of both an image and an index"
			      : "it has the members of neither an image nor an index";
	if (json_type(own) != JSON_ABSENT) {
		struct str inside = json_doc_str(&m->doc, own);

		if (media.n && !str_eq(media, inside))
			return "its mediaType differs from the type that was announced";
		media = inside;
	}
	if (!media.n)
		media = str_c(layers ? MEDIA_OCI_MANIFEST : MEDIA_OCI_INDEX);
	*k = manifest_find_media(media);
	if (!*k)
		return "its mediaType is neither that of an image nor that of an index";
	if (((*k)->kind == MANIFEST_INDEX) != entries)
		return "its mediaType contradicts its members";
	return NULL;
}

static const char *manifest_read_image(struct manifest *m, const struct kind *k)
{
	struct json_val root = json_doc_root(&m->doc), v;
	struct content c;
	int it = 0;

	m->layers = json_get(root, "layers");
	if (content_read(&m->doc, json_get(root, "config"), &m->config))
		return "the descriptor of its config is malformed";
	if (strcmp(m->config.media, k->config) != 0)
		return "its config is not the config of an image";
	if (json_type(m->layers) != JSON_ARRAY)
		return "it has no list of layers";
	if (json_count(m->layers) > INJECT_LAYERS_MAX)
		return "it has too many layers";
	while (json_next(m->layers, &it, NULL, &v))
		if (content_read(&m->doc, v, &c))
			return "the descriptor of a layer is malformed";
	return NULL;
}

static const char *manifest_read_index(struct manifest *m)
{
	struct json_val v;
	struct content c;
	int it = 0;

	m->entries = json_get(json_doc_root(&m->doc), "manifests");
	if (json_type(m->entries) != JSON_ARRAY)
		return "it has no list of images";
	if (json_count(m->entries) > INJECT_PLATFORMS_MAX)
		return "it has too many entries";
	while (json_next(m->entries, &it, NULL, &v))
		if (content_read(&m->doc, v, &c))
			return "the descriptor of an entry is malformed";
	return NULL;
}

int manifest_read(
	struct manifest *m, struct str text, const char *media, const char **why)
{
	const struct kind *k;
	const char *words;
	int r;

	*m = (struct manifest){0};
	r = json_doc_parse(&m->doc, text);
	if (r == -ENOMEM)
		return r;
	words = r ? "it is not JSON" : manifest_detect_kind(m, str_c(media), &k);
	if (!words) {
		m->kind = k->kind;
		m->docker = k->docker;
		m->media = k->media;
		words = k->kind == MANIFEST_IMAGE ? manifest_read_image(m, k)
						  : manifest_read_index(m);
	}
	if (!words)
		return 0;
	manifest_free(m);
	*why = words;
	return ERR_SYNTAX;
}

void manifest_free(struct manifest *m)
{
	json_doc_free(&m->doc);
	*m = (struct manifest){0};
}

void platform_read(struct json_doc *d, struct json_val entry, struct platform *p)
{
	struct json_val v = json_get(entry, "platform");

	p->os = json_doc_str(d, json_get(v, "os"));
	p->arch = json_doc_str(d, json_get(v, "architecture"));
	p->variant = json_doc_str(d, json_get(v, "variant"));
}
