#include "inject/image/labels.h"

#include <stdio.h>

/* Members of an image's Config that od-runtime replaces or that a server needs. */
static const struct {
	const char *member, *label;
	bool replaced; /* in a product of ours it is not the original value */
} originals[] = {
	{"Entrypoint", "od.orig.entrypoint", true},
	{"Cmd", "od.orig.cmd", true},
	{"User", "od.orig.user", false},
	{"WorkingDir", "od.orig.workdir", false},
	{"StopSignal", "od.orig.stopsignal", false},
	{"Healthcheck", "od.orig.healthcheck", false},
};

static bool labels_is_empty(struct json_val v)
{
	switch (json_type(v)) {
	case JSON_ARRAY:
	case JSON_OBJECT:
		return json_count(v) == 0;
	case JSON_STRING:
		return str_eq(json_raw(v), STR("\"\""));
	default:
		return true;
	}
}

/* Whether the base has our entry point, because it was made from an image of ours. */
static bool labels_has_own_entrypoint(const struct labels *l)
{
	struct json_val first;
	int it = 0;

	return json_next(json_get(l->base->config, "Entrypoint"), &it, NULL, &first) &&
		str_eq(json_doc_str(&l->base->doc, first), STR(IMAGE_CLIENT));
}

int labels_each_original(const struct labels *l,
	int (*put)(void *arg, const char *name, struct str value), void *arg)
{
	bool ours = labels_has_own_entrypoint(l);
	int r = 0;

	for (size_t i = 0; i < ARRAY_LEN(originals) && !r; i++) {
		struct json_val v = json_get(l->base->config, originals[i].member);
		bool check = strcmp(originals[i].member, "Healthcheck") == 0;

		if ((ours && originals[i].replaced) ||
			(ours && check && !image_has_healthcheck(l->base)))
			continue;
		if (!labels_is_empty(v))
			r = put(arg, originals[i].label, json_raw(v));
		/*
		 * The base is not ours but has the label, which is not true of its
		 * setting: clears it.
		 */
		else if (!ours && image_label(l->base, originals[i].label).n)
			r = put(arg, originals[i].label, STR(""));
	}
	return r;
}

/* Passes a list of words in a document, the image's or that of its label, to put. */
static size_t labels_put_args(struct json_doc *doc, struct json_val list,
	void (*put)(void *arg, struct str word), void *arg)
{
	struct json_val v;
	size_t n = 0;
	int it = 0;

	while (json_next(list, &it, NULL, &v)) {
		if (put)
			put(arg, json_doc_str(doc, v));
		n++;
	}
	return n;
}

int labels_command(
	struct image *im, void (*put)(void *arg, struct str word), void *arg, size_t *n)
{
	const struct labels labels = {.base = im};
	bool ours = labels_has_own_entrypoint(&labels);
	size_t words = 0;
	int r = 0;

	for (size_t i = 0; i < ARRAY_LEN(originals) && !r; i++) {
		struct str label = image_label(im, originals[i].label);
		struct json_doc doc;

		if (!originals[i].replaced)
			continue;
		if (!ours) {
			words += labels_put_args(&im->doc,
				json_get(im->config, originals[i].member), put, arg);
		} else if (label.n) {
			r = json_doc_parse(&doc, label);
			if (!r) {
				words += labels_put_args(
					&doc, json_doc_root(&doc), put, arg);
				json_doc_free(&doc);
			}
		}
	}
	if (!r)
		*n = words;
	return r;
}

int labels_each(const struct labels *l,
	int (*put)(void *arg, const char *name, struct str value), void *arg)
{
	char layers[24];
	const struct {
		const char *name;
		struct str value;
	} own[] = {
		{"od.version", STR(OD_VERSION)},
		{"od.protocol", STR("openhands-v0")},
		{"od.arch", l->arch},
		{"od.client.sha256", l->client_sha256},
		{"od.shell", l->shell},
		/*
		 * Always written: otherwise the labels of an image below would be
		 * inherited.
		 */
		{"od.busybox.sha256", l->busybox_sha256},
		{"od.plugins.sha256", l->plugins_sha256},
		{"od.layer", l->layer},
		{"od.base.ref", l->base_ref},
		{"od.base.id", l->base_id},
		{"od.base.layers", {layers, 0}},
		{"od.base.top", l->base_top},
		{"od.deps", l->deps},
		{"od.plugins", l->plugins},
		{"od.stage", STR("")},
		{"od.key.version", l->version},
		{"od.key.lock", l->lock},
		{"od.key.source", l->key},
		{"org.opencontainers.image.base.name", l->base_ref},
		{"org.opencontainers.image.base.digest", l->base_digest},
		{"od.managed", STR("1")},
	};
	int r = 0;

	_Static_assert(ARRAY_LEN(own) + ARRAY_LEN(originals) <= LABELS_MAX, "too many");
	snprintf(layers, sizeof(layers), "%zu", l->base_layers);
	for (size_t i = 0; i < ARRAY_LEN(own) && !r; i++)
		r = put(arg, own[i].name,
			own[i].value.p == layers ? str_c(layers) : own[i].value);
	return r ? r : labels_each_original(l, put, arg);
}
