#include "inject/dockerfile.h"

#include "inject/labels.h"
#include "limits.h"

/*
 * One value in double quotes. Only \ " and $ have a meaning there, and a line
 * end would end the instruction; JSON has line ends between its tokens at most.
 */
static int label(void *arg, const char *name, struct str value)
{
	struct buf *out = arg;
	size_t from = out->n;

	/* The first of them stands in the line of the instruction. */
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

int dockerfile_write(const struct dockerfile *d, struct buf *out)
{
	const struct labels l = {
		.base = d->base,
		.base_ref = d->base_ref,
		.base_id = d->base->id,
		.arch = d->arch,
		.client_sha256 = d->client_sha256,
		.shell = d->shell,
		.busybox_sha256 = d->busybox_sha256,
		.key = d->key,
		.base_layers = json_count(d->base->layers),
	};
	int r;

	buf_fmt(out, "# od-runtime " OD_VERSION "\nFROM %.*s\n", STR_ARG(d->from));
	r = labels_each(&l, label, out);
	buf_puts(out, "\nCOPY rootfs/ /");
	buf_puts(out, image_has_healthcheck(d->base) ? "\nHEALTHCHECK NONE" : "");
	buf_puts(out, "\nENTRYPOINT [\"" IMAGE_CLIENT "\",\"init\"]\n");
	return r ? r : out->err;
}
