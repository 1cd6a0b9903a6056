#include "inject/image/dockerfile.h"

#include "base/jw.h"
#include "inject/names/tag.h"
#include "limits.h"

#include <stdio.h>

/*
 * Appends a label with its value in double quotes. Only \ " and $ are special there, and
 * a line end would end the instruction; JSON has line ends only between its tokens.
 */
static int dockerfile_put_label(void *arg, const char *name, struct str value)
{
	struct buf *out = arg;
	size_t from = out->n;

	/* The first label is on the line of the instruction. */
	buf_puts(out, out->n && out->p[out->n - 1] == '\n' ? "LABEL " : " \\\n\t");
	buf_fmt(out, "%s=\"", name);
	for (size_t i = 0; i < value.n; i++) {
		char c = value.p[i];

		if (c == '\\' || c == '"' || c == '$')
			buf_putc(out, '\\');
		buf_putc(out, c == '\n' || c == '\r' ? ' ' : c);
	}
	buf_putc(out, '"');
	return out->n - from > INJECT_LABEL_MAX ? ERR_LIMIT : 0;
}

/* Builders take "<<" in a RUN for the start of a here-document; JSON can escape it. */
void dockerfile_quote(struct str lines, struct buf *out)
{
	struct buf text = BUF_INIT(INJECT_LABEL_MAX);
	struct jw w;

	jw_init(&w, &text);
	jw_str(&w, lines);
	for (size_t i = 0; i < text.n; i++)
		if (text.p[i] == '<')
			buf_puts(out, "\\u003c");
		else
			buf_putc(out, text.p[i]);
	if (text.err)
		out->err = text.err;
	buf_free(&text);
}

bool dockerfile_has_stage(const struct dockerfile *d, enum image_stage rung)
{
	switch (rung) {
	case IMAGE_STAGE_VERSIONED:
		return d->deps.n != 0;
	case IMAGE_STAGE_LOCK:
		return d->plugins && d->plugins->n;
	default:
		return true;
	}
}

/*
 * Writes the labels of an intermediate image: what it is made from, and od.stage, which
 * marks that it is no product.
 */
static int dockerfile_label_stage(
	const struct dockerfile *d, enum image_stage rung, struct buf *out)
{
	bool lock = rung == IMAGE_STAGE_LOCK;
	char layers[24];
	const struct {
		const char *name;
		struct str value;
	} rows[] = {
		{"od.version", STR(OD_VERSION)},
		{"od.stage", lock ? STR("lock") : STR("versioned")},
		{"od.template", STR(TAG_TEMPLATE)},
		{"od.arch", d->arch},
		{"od.base.ref", d->base_ref},
		{"od.base.id", d->base->id},
		{"od.base.layers", {layers, 0}},
		{"od.base.top", image_top_layer(d->base)},
		{"od.layer", STR("")},
		{"od.deps", d->deps},
		{"od.plugins", lock ? d->plugins_label : STR("")},
		{"od.key.version", d->version},
		{"od.key.lock", lock ? d->lock : STR("")},
		{"od.key.source", STR("")},
		{"od.managed", STR("1")},
	};
	int r = 0;

	snprintf(layers, sizeof(layers), "%zu", json_count(d->base->layers));
	for (size_t i = 0; i < ARRAY_LEN(rows) && !r; i++)
		r = dockerfile_put_label(out, rows[i].name,
			rows[i].value.p == layers ? str_c(layers) : rows[i].value);
	buf_putc(out, '\n');
	return r;
}

/* Whether the user's name needs no quoting; other names do not occur. */
static bool dockerfile_is_plain_user(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') &&
			!(c >= '0' && c <= '9') && !(c && strchr("_.:@-", c)))
			return false;
	}
	return true;
}

/* Writes the RUN for the base's own shell, as the shell form of RUN does. */
static int dockerfile_write_run(const struct dockerfile *d, struct buf *out)
{
	struct str user = json_doc_str(&d->base->doc, json_get(d->base->config, "User"));
	struct json_val shell = json_get(d->base->config, "Shell"), word;
	int it = 0;

	if (!dockerfile_is_plain_user(user))
		return ERR_SYNTAX;
	buf_puts(out, "USER 0:0\nRUN [");
	if (json_count(shell))
		while (json_next(shell, &it, NULL, &word)) {
			dockerfile_quote(json_doc_str(&d->base->doc, word), out);
			buf_putc(out, ',');
		}
	else
		buf_puts(out, "\"/bin/sh\",\"-c\",");
	buf_fmt(out, "%.*s]\nUSER %.*s\n", STR_ARG(d->deps),
		STR_ARG(user.n ? user : STR("0:0")));
	return 0;
}

static void dockerfile_write_plugins(const struct dockerfile *d, struct buf *out)
{
	for (size_t i = 0; i < d->plugins->n; i++) {
		const struct plugin *p = &d->plugins->list[i];

		if (p->image)
			buf_fmt(out, "COPY --from=%.*s / " PLUGIN_FOLDER "%.*s/\n",
				STR_ARG(buf_view(&d->plugin_refs[i])), STR_ARG(p->name));
		else
			buf_fmt(out, "COPY plugins/%.*s/ /\n", STR_ARG(p->name));
	}
}

struct labels dockerfile_get_labels(const struct dockerfile *d)
{
	return (struct labels){
		.base = d->base,
		.base_ref = d->base_ref,
		.base_id = d->base->id,
		.arch = d->arch,
		.client_sha256 = d->client_sha256,
		.shell = d->shell,
		.busybox_sha256 = d->busybox_sha256,
		.plugins_sha256 = d->plugins_sha256,
		.key = d->key,
		.lock = d->lock,
		.version = d->version,
		.deps = d->deps,
		.plugins = d->plugins_label,
		.base_digest = image_digest(d->base),
		.base_layers = json_count(d->base->layers),
		.base_top = image_top_layer(d->base),
	};
}

static int dockerfile_write_client(const struct dockerfile *d, struct buf *out)
{
	const struct labels l = dockerfile_get_labels(d);
	int r = labels_each(&l, dockerfile_put_label, out);

	buf_puts(out, "\nCOPY rootfs/ /");
	buf_puts(out, image_has_healthcheck(d->base) ? "\nHEALTHCHECK NONE" : "");
	buf_puts(out, "\nENTRYPOINT [\"" IMAGE_CLIENT "\",\"init\"]\n");
	return r;
}

int dockerfile_write(const struct dockerfile *d, struct buf *out)
{
	int r = 0;

	buf_fmt(out, "# od-runtime " OD_VERSION "\nFROM %.*s\n", STR_ARG(d->from));
	for (enum image_stage rung = d->below + 1; rung <= d->upto && !r; rung++) {
		if (!dockerfile_has_stage(d, rung))
			continue;
		r = rung == IMAGE_STAGE_SOURCE ? dockerfile_write_client(d, out)
					       : dockerfile_label_stage(d, rung, out);
		if (!r && rung == IMAGE_STAGE_VERSIONED)
			r = dockerfile_write_run(d, out);
		if (!r && rung == IMAGE_STAGE_LOCK)
			dockerfile_write_plugins(d, out);
	}
	return r ? r : out->err;
}
