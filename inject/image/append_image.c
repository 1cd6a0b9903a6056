#include "inject/image/append.h"

#include "inject/console/out.h"
#include "inject/http/edit.h"
#include "inject/image/labels.h"
#include "inject/image/layer.h"
#include "inject/image/probe.h"
#include "inject/image/scan.h"
#include "inject/names/ref.h"
#include "inject/names/tag.h"
#include "limits.h"

#include <errno.h>
#include <stdio.h>

/* No layer or step, instead of its number. */
static const size_t none = SIZE_MAX;

/* An image that is being made. */
struct product {
	struct append *a;
	struct manifest *m;
	struct image base;
	struct buf config; /* the base's, for image_read_config_take */
	size_t own;        /* index of our layer from an earlier build; or none */
	bool scanned;      /* the layers were searched */
	bool drop_in;
	enum image_shell shell;
	const struct program *client;
	struct program busybox;
	struct layer layer;
	struct content layer_content, config_content;
};

static int append_read_config(struct product *p)
{
	const struct sink to = {sink_put_buf, &p->config};
	const char *why;
	int r;

	if (p->m->config.size > INJECT_MANIFEST_MAX)
		return append_refuse(p->a, "its config is too long");
	r = store_fetch(&p->a->from, &p->m->config, to);
	if (!r)
		r = image_read_config_take(
			&p->base, &p->config, str_c(p->m->config.digest));
	if (r == -ENOMEM || r <= FAIL_BASE || r == -EINTR)
		return r;
	if (r)
		return append_refuse(p->a, "its config is not the config of an image");
	if (json_count(p->base.layers) != json_count(p->m->layers))
		return append_refuse(p->a,
			"its config and its manifest have different numbers of layers");
	why = image_refusal(&p->base);
	if (why)
		return append_refuse(p->a, why);
	r = append_find_client(p->a, p->base.arch, &p->client);
	if (r != 1)
		return r;
	return out_fail("give the od-runtime-client for that architecture with --client",
		"%.*s is for %.*s, the client binary for %s", STR_ARG(p->a->from.text),
		STR_ARG(p->base.arch), p->a->clients[0].arch);
}

/* --- What is in the base ------------------------------------------------------------ */

static int append_get_layer(struct product *p, size_t n, struct content *c)
{
	struct json_val v;
	int it = 0;

	for (size_t i = 0; json_next(p->m->layers, &it, NULL, &v); i++)
		if (i == n)
			return content_read(&p->m->doc, v, c);
	return ERR_RANGE;
}

/* Scans layer n. 1: the layer is too large or not of a kind that can be scanned. */
static int append_scan_layer(struct product *p, size_t n, struct scan *s)
{
	struct content c;
	int r = append_get_layer(p, n, &c);

	if (!r && c.size > INJECT_SCAN_BYTES)
		return 1;
	if (!r)
		r = scan_begin_layer(s);
	if (!r)
		r = store_fetch(&p->a->from, &c, (struct sink){scan_put, s});
	/* A layer without an end of archive was not parsed correctly. */
	return r == ERR_SYNTAX || (!r && s->state != SCAN_END) ? 1 : r;
}

/* The index of our layer, by the digest that the label gives; or none. */
static size_t append_find_layer(struct product *p, struct str digest)
{
	struct json_val v;
	int it = 0;

	for (size_t i = 0; digest.n && json_next(p->base.layers, &it, NULL, &v); i++)
		if (str_eq(json_doc_str(&p->base.doc, v), digest))
			return i;
	return none;
}

/*
 * Finds our layer in p->own; the new layer replaces it. An image that was made by us, or
 * from an image of ours, has one. The labels alone are no proof, because images made
 * from ours inherit them.
 */
static int append_find_own_layer(struct product *p)
{
	struct scan s;
	size_t n;
	int r;

	p->own = none;
	if (!str_eq(image_label(&p->base, "od.managed"), STR("1")))
		return 0;
	p->own = append_find_layer(p, image_label(&p->base, "od.layer"));
	if (p->own != none || image_base_layers(&p->base, &n))
		return 0;
	/*
	 * A builder made the layer, and no label has its digest. Plugins may be below
	 * it.
	 */
	for (; n < json_count(p->base.layers) && p->own == none; n++) {
		scan_init(&s);
		r = append_scan_layer(p, n, &s);
		if (!r && !s.others)
			p->own = n;
		scan_free(&s);
		if (r && r != 1)
			return r;
	}
	return 0;
}

/* Whether all layers but our own have at most INJECT_SCAN_BYTES together. */
static bool append_is_small(struct product *p)
{
	uint64_t room = INJECT_SCAN_BYTES;
	struct content c;

	for (size_t i = 0; append_get_layer(p, i, &c) == 0; i++) {
		if (i == p->own)
			continue;
		if (c.size > room)
			return false;
		room -= c.size;
	}
	return true;
}

/*
 * Searches the layers of a small image for a shell and /openhands. Images without a
 * shell are small and quick to search. A large image is assumed to have a shell, because
 * its unpacking would take too long.
 */
static int append_scan_layers(struct product *p)
{
	size_t n = json_count(p->m->layers);
	struct scan s;
	int r = 0;

	/*
	 * Our files never replace an /openhands of the image. If the layers are not
	 * searched, a config that contains /openhands/ counts as one.
	 */
	p->drop_in =
		str_find(buf_view(&p->base.text), STR("/openhands/")) == p->base.text.n ||
		p->own != none;
	if (p->a->from.ops->is_remote || !append_is_small(p))
		return 0;
	scan_init(&s);
	for (size_t i = 0; i < n && !r; i++)
		if (i != p->own)
			r = append_scan_layer(p, i, &s);
	if (!r) {
		p->scanned = true;
		p->drop_in = !s.openhands;
		p->shell = scan_has_shell(&s) ? IMAGE_SHELL_OWN : IMAGE_SHELL_NONE;
	}
	scan_free(&s);
	return r == 1 ? 0 : r;
}

static int append_choose_shell(struct product *p)
{
	const struct options *o = p->a->options;
	bool wanted = p->scanned ? p->shell == IMAGE_SHELL_NONE : o->busybox != NULL;
	int r;

	if (wanted && !o->no_busybox) {
		r = program_find_busybox(&p->busybox, o->busybox, p->client->arch);
		if (r < 0)
			return r;
		if (r == 0)
			p->shell = IMAGE_SHELL_BUSYBOX;
	}
	if (o->no_busybox)
		return 0;
	if (p->shell == IMAGE_SHELL_NONE)
		out_note("od-runtime: the image %.*s " PROGRAM_NO_SHELL,
			STR_ARG(p->a->from.text));
	else if (p->shell == IMAGE_SHELL_UNKNOWN)
		out_note("od-runtime: %.*s was not searched for a shell; --busybox adds "
			 "one in case it has none",
			STR_ARG(p->a->from.text));
	return 0;
}

static int append_make_layer(struct product *p)
{
	const struct rootfs files = {
		.prefix = "",
		.client = buf_view(&p->client->bytes),
		.plugins_program = program_plugins_bytes(p->client),
		.busybox = buf_view(&p->busybox.bytes),
		.drop_in = p->drop_in,
	};
	const char *media =
		p->m->docker ? MEDIA_DOCKER_LAYER ".gzip" : MEDIA_OCI_LAYER "+gzip";
	int r = layer_make(&p->layer, &files);

	if (r)
		return r;
	memcpy(p->layer_content.media, media, strlen(media) + 1);
	return append_add_new(p->a, buf_view(&p->layer.gzip), false, &p->layer_content);
}

/* --- The config -------------------------------------------------------------------- */

struct label_edits {
	struct product *p;
	struct edit edits[LABELS_MAX];
	size_t n;
};

static int append_put_label(void *arg, const char *name, struct str value)
{
	struct label_edits *e = arg;
	struct buf text = BUF_INIT(INJECT_MANIFEST_MAX);
	struct jw w;
	char *copy;

	jw_init(&w, &text);
	jw_str(&w, value);
	copy = text.err ? NULL : arena_cstr(&e->p->a->arena, buf_view(&text));
	if (copy)
		e->edits[e->n++] = (struct edit){name, .value = str_make(copy, text.n)};
	buf_free(&text);
	return copy ? 0 : -ENOMEM;
}

/* The last layer that is not ours. */
static struct str append_get_base_top(struct product *p)
{
	struct str top = {0};
	struct json_val v;
	int it = 0;

	for (size_t i = 0; json_next(p->base.layers, &it, NULL, &v); i++)
		if (i != p->own)
			top = json_doc_str(&p->base.doc, v);
	return top;
}

/*
 * Sets the base of the labels to its name without its location, which differs elsewhere.
 */
static void append_set_base_labels(struct product *p, struct labels *l)
{
	struct str old = image_label(&p->base, "od.base.id");

	l->base_id = p->base.id;
	l->base_ref = p->a->from.ref.n ? p->a->from.ref : p->base.id;
	l->base_layers = json_count(p->base.layers) - (p->own != none);
	l->base_top = append_get_base_top(p);
	/* The base is itself a product of ours: its own base stays the base. */
	if (p->own != none && p->own == l->base_layers && old.n) {
		l->base_id = old;
		l->base_ref = image_label(&p->base, "od.base.ref");
		l->base_digest =
			image_label(&p->base, "org.opencontainers.image.base.digest");
		l->deps = image_label(&p->base, "od.deps");
		l->plugins = image_label(&p->base, "od.plugins");
		l->lock = image_label(&p->base, "od.key.lock");
		l->version = image_label(&p->base, "od.key.version");
		if (image_base_layers(&p->base, &l->base_layers) == 0)
			l->base_top = image_label(&p->base, "od.base.top");
	}
}

static int append_write_labels(struct product *p, struct buf *out)
{
	struct buf full = BUF_INIT(REF_MAX + 64), key = BUF_INIT(256);
	struct label_edits e = {.p = p};
	struct labels l = {
		.base = &p->base,
		.arch = p->base.arch,
		.client_sha256 = str_c(p->client->sha256),
		.shell = image_shell_name(p->shell),
		.busybox_sha256 = str_c(p->busybox.sha256),
		.plugins_sha256 = program_plugins_sha256(p->client),
		.layer = str_c(p->layer.unpacked.digest),
	};
	struct tag_inputs in = {
		.arch = l.arch,
		.client_sha256 = l.client_sha256,
		.busybox_sha256 = l.busybox_sha256,
		.plugins_sha256 = l.plugins_sha256,
	};
	int r;

	append_set_base_labels(p, &l);
	ref_canonicalize(l.base_ref, &full);
	in.base_ref = full.n ? buf_view(&full) : l.base_ref;
	in.base_id = l.base_id;
	in.deps = l.deps;
	in.plugins = l.plugins;
	tag_write_source(&in, &key);
	l.key = buf_view(&key);
	r = full.err ? full.err : key.err;
	if (!r)
		r = labels_each(&l, append_put_label, &e);
	edit_object(out, json_get(p->base.config, "Labels"), e.edits, e.n);
	buf_free(&full);
	buf_free(&key);
	return r ? r : out->err;
}

static int append_write_settings(struct product *p, struct buf *out)
{
	struct buf labels = BUF_INIT(INJECT_MANIFEST_MAX);
	const struct edit edits[] = {
		{"Entrypoint", .value = STR("[\"" IMAGE_CLIENT "\",\"init\"]")},
		/* As a builder does: a new entry point starts without arguments. */
		{.key = "Cmd"},
		{"Labels", .text = &labels},
		{"Healthcheck", .value = STR("{\"Test\":[\"NONE\"]}"),
			.keep = !image_has_healthcheck(&p->base)},
	};
	int r = append_write_labels(p, &labels);

	edit_object(out, p->base.config, edits, ARRAY_LEN(edits));
	buf_free(&labels);
	return r ? r : out->err;
}

/* The index of the layer in the history; entries of other steps have empty_layer. */
static size_t append_find_history(struct product *p, size_t layer)
{
	struct json_val all = json_get(json_doc_root(&p->base.doc), "history"), v;
	size_t seen = 0;
	int it = 0;

	for (size_t i = 0; layer != none && json_next(all, &it, NULL, &v); i++)
		if (!json_doc_is_true(json_get(v, "empty_layer")) && seen++ == layer)
			return i;
	return none;
}

static int append_write_config(struct product *p)
{
	struct json_val root = json_doc_root(&p->base.doc);
	struct json_val history = json_get(root, "history");
	struct buf settings = BUF_INIT(INJECT_MANIFEST_MAX);
	struct buf rootfs = BUF_INIT(INJECT_MANIFEST_MAX);
	struct buf past = BUF_INIT(INJECT_MANIFEST_MAX);
	struct buf text = BUF_INIT(INJECT_MANIFEST_MAX);
	struct buf ids = BUF_INIT(INJECT_MANIFEST_MAX);
	const struct edit diff_ids = {"diff_ids", .text = &ids};
	const struct edit edits[] = {
		{.key = "container"},
		{.key = "container_config"},
		{.key = "docker_version"},
		{"config", .text = &settings},
		{"rootfs", .text = &rootfs},
		/*
		 * An empty history is valid, but a history with one entry only is wrong.
		 */
		{"history", .text = &past, .keep = !json_count(history)},
	};
	char id[DIGEST_MAX + 3];
	int r = append_write_settings(p, &settings);

	snprintf(id, sizeof(id), "\"%s\"", p->layer.unpacked.digest);
	edit_array(&ids, p->base.layers, p->own, str_c(id));
	edit_object(&rootfs, json_get(root, "rootfs"), &diff_ids, 1);
	edit_array(&past, history, append_find_history(p, p->own),
		STR("{\"created\":\"1970-01-01T00:00:00Z\",\"created_by\":"
		    "\"od-runtime " OD_VERSION "\"}"));
	edit_object(&text, root, edits, ARRAY_LEN(edits));
	if (!r)
		r = text.err;
	memcpy(p->config_content.media, p->m->config.media, MEDIA_MAX);
	if (!r)
		r = append_add_new(p->a, buf_view(&text), false, &p->config_content);
	buf_free(&settings);
	buf_free(&rootfs);
	buf_free(&past);
	buf_free(&text);
	buf_free(&ids);
	return r;
}

/* --- The manifest ------------------------------------------------------------------ */

static int append_write_manifest(struct product *p, struct content *out)
{
	struct json_val root = json_doc_root(&p->m->doc);
	struct buf config = BUF_INIT(INJECT_TEXT_MAX), layer = BUF_INIT(1024);
	struct buf layers = BUF_INIT(INJECT_MANIFEST_MAX);
	struct buf text = BUF_INIT(INJECT_MANIFEST_MAX);
	const struct edit edits[] = {
		{"config", .text = &config},
		{"layers", .text = &layers},
		{.key = "subject"},
	};
	int r;

	content_write(&config, &p->config_content);
	content_write(&layer, &p->layer_content);
	edit_array(&layers, p->m->layers, p->own, buf_view(&layer));
	edit_object(&text, root, edits, ARRAY_LEN(edits));
	*out = (struct content){0};
	memcpy(out->media, p->m->media, strlen(p->m->media) + 1);
	r = layer.err ? layer.err : text.err;
	if (!r)
		r = append_add_new(p->a, buf_view(&text), true, out);
	buf_free(&config);
	buf_free(&layer);
	buf_free(&layers);
	buf_free(&text);
	return r;
}

static int append_add_base_layers(struct product *p)
{
	struct content c;
	int r = 0;

	for (size_t i = 0; !r && append_get_layer(p, i, &c) == 0; i++)
		if (i != p->own)
			r = append_add_existing(p->a, &c);
	return r;
}

static void append_report_image(struct product *p, const struct content *out)
{
	struct jw *w = &p->a->report;

	jw_object(w);
	jw_key(w, "arch");
	jw_str(w, p->base.arch);
	jw_key(w, "digest");
	jw_cstr(w, out->digest);
	jw_key(w, "layer");
	jw_cstr(w, p->layer_content.digest);
	jw_key(w, "layer_size");
	jw_uint(w, p->layer_content.size);
	jw_key(w, "shell");
	jw_str(w, image_shell_name(p->shell));
	jw_key(w, "replaced");
	jw_bool(w, p->own != none);
	jw_end(w);
	p->a->made++;
}

int append_make_image(struct append *a, struct manifest *m, struct content *out)
{
	struct product p = {
		.a = a, .m = m, .own = none, .config = BUF_INIT(INJECT_MANIFEST_MAX)};
	int r = append_read_config(&p);

	if (r)
		goto out;
	r = append_find_own_layer(&p);
	if (r)
		goto out;
	r = append_scan_layers(&p);
	if (r)
		goto out;
	if (!p.drop_in)
		probe_note_openhands(a->from.text);
	r = append_choose_shell(&p);
	if (r)
		goto out;
	r = append_add_base_layers(&p);
	if (r)
		goto out;
	r = append_make_layer(&p);
	if (r)
		goto out;
	r = append_write_config(&p);
	if (r)
		goto out;
	r = append_write_manifest(&p, out);
	if (r)
		goto out;
	append_report_image(&p, out);
out:
	program_free(&p.busybox);
	layer_free(&p.layer);
	image_free(&p.base);
	buf_free(&p.config);
	return r;
}
