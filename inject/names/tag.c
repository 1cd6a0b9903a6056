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
static void tag_hash_part(br_md5_context *h, struct str s)
{
	br_md5_update(h, s.p, s.n);
	br_md5_update(h, "", 1);
}

static void tag_write_hash(struct buf *out, const br_md5_context *h)
{
	uint8_t digest[br_md5_SIZE];
	char text[TAG_HASH_MAX];

	br_md5_out(h, digest);
	tag_truncate(digest, text);
	buf_putc(out, '_');
	buf_puts(out, text);
}

void tag_write_lock(const struct tag_inputs *in, struct buf *out)
{
	br_md5_context h;

	buf_puts(out, "oh_v" OD_VERSION);
	br_md5_init(&h);
	tag_hash_part(&h, in->base_ref);
	tag_hash_part(&h, in->base_id);
	tag_hash_part(&h, in->arch);
	tag_hash_part(&h, in->deps);
	tag_hash_part(&h, in->plugins);
	tag_hash_part(&h, STR(TAG_TEMPLATE));
	tag_write_hash(out, &h);
}

void tag_write_source(const struct tag_inputs *in, struct buf *out)
{
	br_md5_context h;

	tag_write_lock(in, out);
	br_md5_init(&h);
	tag_hash_part(&h, in->client_sha256);
	tag_hash_part(&h, in->busybox_sha256);
	if (in->plugins_sha256.n)
		tag_hash_part(&h, in->plugins_sha256);
	tag_write_hash(out, &h);
}

/* The replacements of characters that a tag must not have. */
struct spelling {
	const char *slash, *colon;
};

/* The name as docker shows it: without the prefixes of Docker Hub. */
static struct str tag_familiar_name(struct str ref)
{
	static const struct str hub = STR("docker.io/"), library = STR("library/");

	if (str_starts(ref, hub))
		ref = str_skip(ref, hub.n);
	return str_starts(ref, library) ? str_skip(ref, library.n) : ref;
}

static const char *tag_escape_char(const struct spelling *s, char c)
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

static void tag_write_escaped(const struct spelling *s, struct str name, struct buf *out)
{
	for (size_t i = 0; i < name.n; i++) {
		char c = name.p[i];

		if (c >= 'A' && c <= 'Z')
			buf_putc(out, (char)(c + 'a' - 'A'));
		else if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
			c == '.' || c == '-')
			buf_putc(out, c);
		else
			buf_puts(out, tag_escape_char(s, c));
	}
}

/* A long name gets a hash, because two long names may have equal ends. */
static void tag_write_base(const struct spelling *s, struct str ref, struct buf *out)
{
	size_t from = out->n;
	uint8_t digest[SHA256_LEN];
	char hex[SHA256_HEX + 1];
	char kept[BASE_MAX - BASE_DIGITS - 1];

	tag_write_escaped(s, tag_familiar_name(ref), out);
	if (out->err || out->n - from <= BASE_MAX)
		return;
	sha256_compute(ref, digest);
	hex_encode(digest, SHA256_LEN, hex);
	memcpy(kept, out->p + out->n - sizeof(kept), sizeof(kept));
	out->n = from;
	buf_fmt(out, "%.*s_%.*s", BASE_DIGITS, hex, (int)sizeof(kept), kept);
}

void tag_write_versioned(const struct tag_inputs *in, struct buf *out)
{
	static const struct spelling s = {"_s_", "_t_"};

	buf_puts(out, "oh_v" OD_VERSION "_");
	tag_write_base(&s, in->base_ref, out);
}

void tag_write_legacy(const struct tag_inputs *in, struct buf *out)
{
	static const struct spelling s = {"___", "__"};

	buf_puts(out, "od_v" OD_VERSION "_image_");
	tag_write_base(&s, in->base_ref, out);
}
