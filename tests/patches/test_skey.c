/*
 * A private key that does not fit the decoder's buffer is an error, not a write
 * past its end (third_party/patches/bearssl/01-skey-bound.patch). The context is
 * on the heap in its exact size, so that the sanitizer sees the first byte.
 */
#include "tests/tap.h"

#include <bearssl.h>
#include <stdlib.h>

struct der {
	unsigned char p[4096];
	size_t n;
};

static void put(struct der *d, const void *p, size_t n)
{
	memcpy(d->p + d->n, p, n);
	d->n += n;
}

/* Tag, length in its long form of two bytes, then n bytes 0x01. */
static void put_field(struct der *d, unsigned char tag, size_t n)
{
	const unsigned char head[] = {
		tag, 0x82, (unsigned char)(n >> 8), (unsigned char)n};

	put(d, head, sizeof(head));
	memset(d->p + d->n, 1, n);
	d->n += n;
}

static void wrap_sequence(struct der *d)
{
	const unsigned char head[] = {
		0x30, 0x82, (unsigned char)(d->n >> 8), (unsigned char)d->n};

	memmove(d->p + sizeof(head), d->p, d->n);
	memcpy(d->p, head, sizeof(head));
	d->n += sizeof(head);
}

/* RFC 8017 A.1.2, with total bytes in p, q, dp, dq and qInv. */
static void rsa_key(struct der *d, size_t total)
{
	d->n = 0;
	put(d, "\x02\x01\x00", 3);
	put_field(d, 0x02, 512);
	put(d, "\x02\x01\x03", 3);
	put_field(d, 0x02, 512);
	for (int i = 0; i < 4; i++)
		put_field(d, 0x02, total / 5);
	put_field(d, 0x02, total - total / 5 * 4);
	wrap_sequence(d);
}

/* RFC 5915, with total bytes in privateKey, on P-256. */
static void ec_key(struct der *d, size_t total)
{
	d->n = 0;
	put(d, "\x02\x01\x01", 3);
	put_field(d, 0x04, total);
	put(d, "\xa0\x0a\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07", 12);
	wrap_sequence(d);
}

static int decode(const struct der *d)
{
	br_skey_decoder_context *c = malloc(sizeof(*c));
	int err = -1;

	if (c) {
		br_skey_decoder_init(c);
		br_skey_decoder_push(c, d->p, d->n);
		err = br_skey_decoder_last_error(c);
	}
	free(c);
	return err;
}

int main(void)
{
	const size_t room = sizeof(((br_skey_decoder_context *)0)->key_data);
	struct der d;

	rsa_key(&d, room);
	is_int(decode(&d), 0, "an RSA key that just fits is taken");
	ec_key(&d, room);
	is_int(decode(&d), 0, "an EC key that just fits is taken");
	for (size_t over = 1; over <= 40; over++) {
		rsa_key(&d, room + over);
		is_int(decode(&d), BR_ERR_X509_LIMIT_EXCEEDED,
			"an RSA key %zu bytes too large is refused", over);
		ec_key(&d, room + over);
		is_int(decode(&d), BR_ERR_X509_UNSUPPORTED,
			"an EC key %zu bytes too large is refused", over);
	}
	return done_testing();
}
