#include "inject/dockerfile.h"

#include "limits.h"

#include <stdio.h>

/* Members of an image's Config that our instructions replace or a server needs. */
static const struct {
	const char *member, *label;
} originals[] = {
	{"Entrypoint", "od.orig.entrypoint"},
	{"Cmd", "od.orig.cmd"},
	{"User", "od.orig.user"},
	{"WorkingDir", "od.orig.workdir"},
	{"StopSignal", "od.orig.stopsignal"},
	{"Healthcheck", "od.orig.healthcheck"},
};

/*
 * One value in double quotes. Only \ " and $ have a meaning there, and a line
 * end would end the instruction; JSON has line ends between its tokens at most.
 */
static int label(struct buf *out, const char *name, struct str value)
{
	size_t from = out->n;

	buf_fmt(out, " \\\n\t%s=\"", name);
	for (size_t i = 0; i < value.n; i++) {
		char c = value.p[i];

		if (c == '\\' || c == '"' || c == '$')
			buf_putc(out, '\\');
		buf_putc(out, c == '\n' || c == '\r' ? ' ' : c);
	}
	buf_putc(out, '"');
	return out->n - from > INJECT_LABEL_MAX ? ERR_LIMIT : 0;
}

static bool is_empty(struct json_val v)
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

/* A base that was made from an image of ours has our entry point, not its own. */
static bool starts_client(const struct dockerfile *d)
{
	struct json_val first;
	int it = 0;

	return json_next(json_get(d->base->config, "Entrypoint"), &it, NULL, &first) &&
		str_eq(doc_str(&d->base->doc, first), STR(IMAGE_CLIENT));
}

static int label_originals(const struct dockerfile *d, struct buf *out)
{
	bool ours = starts_client(d);
	int r = 0;

	for (size_t i = 0; i < ARRAY_LEN(originals) && !r; i++) {
		struct json_val v = json_get(d->base->config, originals[i].member);

		if (!is_empty(v) && !(ours && i < 2))
			r = label(out, originals[i].label, json_raw(v));
	}
	return r;
}

static bool has_healthcheck(const struct dockerfile *d)
{
	struct json_val test = json_get(json_get(d->base->config, "Healthcheck"), "Test");
	struct json_val first;
	int it = 0;

	return json_next(test, &it, NULL, &first) &&
		!str_eq(doc_str(&d->base->doc, first), STR("NONE"));
}

static int labels(const struct dockerfile *d, struct str layers, struct buf *out)
{
	const struct {
		const char *name;
		struct str value;
	} own[] = {
		{"od.protocol", STR("openhands-v0")},
		{"od.arch", d->arch},
		{"od.client.sha256", d->client_sha256},
		{"od.shell", d->shell},
		/* Always there, lest that of an image below shines through. */
		{"od.busybox.sha256", d->busybox_sha256},
		{"od.base.ref", d->base_ref},
		{"od.base.id", d->base->id},
		{"od.base.layers", layers},
		{"od.key.source", d->key},
		{"od.managed", STR("1")},
	};
	int r = 0;

	buf_puts(out, "LABEL od.version=\"" OD_VERSION "\"");
	for (size_t i = 0; i < ARRAY_LEN(own) && !r; i++)
		r = label(out, own[i].name, own[i].value);
	return r ? r : label_originals(d, out);
}

int dockerfile_write(const struct dockerfile *d, struct buf *out)
{
	char layers[24];
	int r;

	snprintf(layers, sizeof(layers), "%zu", json_count(d->base->layers));
	buf_fmt(out, "# od-runtime " OD_VERSION "\nFROM %.*s\n", STR_ARG(d->from));
	r = labels(d, str_c(layers), out);
	buf_puts(out, "\nCOPY rootfs/ /");
	buf_puts(out, has_healthcheck(d) ? "\nHEALTHCHECK NONE" : "");
	buf_puts(out, "\nENTRYPOINT [\"" IMAGE_CLIENT "\",\"init\"]\n");
	return r ? r : out->err;
}
