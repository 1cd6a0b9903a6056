#include "inject/tag.h"

#include <bearssl.h>

/*
 * Part of every lock hash: counts up whenever the Dockerfile or the context
 * would differ for the same inputs.
 */
#define TEMPLATE "3"

void tag_truncate(const uint8_t digest[16], char out[TAG_HASH_MAX])
{
	static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
	unsigned __int128 v = 0;
	size_t n = 0;

	for (size_t i = 0; i < 16; i++)
		v = v << 8 | digest[i];
	for (; v && n < TAG_DIGITS; v /= 36)
		out[n++] = digits[(unsigned)(v % 36)];
	out[n] = '\0';
}

/* Every part ends in a NUL, which none can hold, so that none runs into the next. */
static void part(br_md5_context *h, struct str s)
{
	br_md5_update(h, s.p, s.n);
	br_md5_update(h, "", 1);
}

static void put(struct buf *out, const br_md5_context *h)
{
	uint8_t digest[br_md5_SIZE];
	char text[TAG_HASH_MAX];

	br_md5_out(h, digest);
	tag_truncate(digest, text);
	buf_putc(out, '_');
	buf_puts(out, text);
}

void tag_source(const struct tag_inputs *in, struct buf *out)
{
	br_md5_context h;

	buf_puts(out, "oh_v" OD_VERSION);
	br_md5_init(&h);
	part(&h, in->base_ref);
	part(&h, in->base_id);
	part(&h, in->arch);
	part(&h, STR(TEMPLATE));
	put(out, &h);
	br_md5_init(&h);
	part(&h, in->client_sha256);
	part(&h, in->busybox_sha256);
	put(out, &h);
}
