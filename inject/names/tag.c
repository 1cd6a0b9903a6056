#include "inject/names/tag.h"

#include "base/hash.h"

#include <bearssl.h>

/*
 * The maximum length of a base's name in a tag, as in former versions; a longer name is
 * cut in front.
 */
enum { BASE_MAX = 96, BASE_DIGITS = 12 };

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

/* Every part ends in a NUL, which no part contains, so that the parts are separated. */
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

void tag_lock(const struct tag_inputs *in, struct buf *out)
{
	br_md5_context h;

	buf_puts(out, "oh_v" OD_VERSION);
	br_md5_init(&h);
	part(&h, in->base_ref);
	part(&h, in->base_id);
	part(&h, in->arch);
	part(&h, in->deps);
	part(&h, in->plugins);
	part(&h, STR(TAG_TEMPLATE));
	put(out, &h);
}

void tag_source(const struct tag_inputs *in, struct buf *out)
{
	br_md5_context h;

	tag_lock(in, out);
	br_md5_init(&h);
	part(&h, in->client_sha256);
	part(&h, in->busybox_sha256);
	if (in->plugins_sha256.n)
		part(&h, in->plugins_sha256);
	put(out, &h);
}

/* The replacements of characters that a tag must not have. */
struct spelling {
	const char *slash, *colon;
};

/* The name as docker shows it: without the prefixes of Docker Hub. */
static struct str familiar(struct str ref)
{
	static const struct str hub = STR("docker.io/"), library = STR("library/");

	if (str_starts(ref, hub))
		ref = str_skip(ref, hub.n);
	return str_starts(ref, library) ? str_skip(ref, library.n) : ref;
}

static const char *stand_in(const struct spelling *s, char c)
{
	switch (c) {
	case '/':
		return s->slash;
	case ':':
		return s->colon;
	case '@':
		return "_d_";
	default:
		return "_";
	}
}

static void spell(const struct spelling *s, struct str name, struct buf *out)
{
	for (size_t i = 0; i < name.n; i++) {
		char c = name.p[i];

		if (c >= 'A' && c <= 'Z')
			buf_putc(out, (char)(c + 'a' - 'A'));
		else if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
			c == '.' || c == '-')
			buf_putc(out, c);
		else
			buf_puts(out, stand_in(s, c));
	}
}

/* A long name gets a hash, because two long names may have equal ends. */
static void put_base(const struct spelling *s, struct str ref, struct buf *out)
{
	size_t from = out->n;
	uint8_t digest[SHA256_LEN];
	char hex[SHA256_HEX + 1];
	char kept[BASE_MAX - BASE_DIGITS - 1];

	spell(s, familiar(ref), out);
	if (out->err || out->n - from <= BASE_MAX)
		return;
	sha256_of(ref, digest);
	hex_encode(digest, SHA256_LEN, hex);
	memcpy(kept, out->p + out->n - sizeof(kept), sizeof(kept));
	out->n = from;
	buf_fmt(out, "%.*s_%.*s", BASE_DIGITS, hex, (int)sizeof(kept), kept);
}

void tag_versioned(const struct tag_inputs *in, struct buf *out)
{
	static const struct spelling s = {"_s_", "_t_"};

	buf_puts(out, "oh_v" OD_VERSION "_");
	put_base(&s, in->base_ref, out);
}

void tag_legacy(const struct tag_inputs *in, struct buf *out)
{
	static const struct spelling s = {"___", "__"};

	buf_puts(out, "od_v" OD_VERSION "_image_");
	put_base(&s, in->base_ref, out);
}
