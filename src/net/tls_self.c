/* A self-signed certificate (RFC 5280), for a server without a certificate. */
#include "net/tls_private.h"

#include <errno.h>

enum {
	DER_MAX = 1024,
	DER_INTEGER = 0x02,
	DER_BITS = 0x03,
	DER_OCTETS = 0x04,
	DER_OID = 0x06,
	DER_TEXT = 0x0c, /* UTF8String */
	DER_TIME = 0x18, /* GeneralizedTime */
	DER_UTC = 0x17,
	DER_SEQUENCE = 0x30,
	DER_SET = 0x31,
	DER_VERSION = 0xa0, /* [0] of a certificate */
	DER_EXTENSIONS = 0xa3,
	DER_DNS = 0x82, /* of a GeneralName */
	DER_ADDRESS = 0x87,
	SERIAL = 16,
};

static const char oid_ecdsa_sha256[] = "\x2a\x86\x48\xce\x3d\x04\x03\x02";
static const char oid_ec_key[] = "\x2a\x86\x48\xce\x3d\x02\x01";
static const char oid_p256[] = "\x2a\x86\x48\xce\x3d\x03\x01\x07";
static const char oid_common_name[] = "\x55\x04\x03";
static const char oid_alt_name[] = "\x55\x1d\x11";

/* Turns the bytes from the offset at on into the content of a value with this tag. */
static void tls_self_wrap(struct buf *b, size_t at, uint8_t tag)
{
	size_t n = b->n - at;
	char head[4] = {(char)tag, (char)n};
	size_t head_n = 2;

	if (n > UINT8_MAX) {
		memcpy(head + 1, (char[]){(char)0x82, (char)(n >> 8), (char)n}, 3);
		head_n = 4;
	} else if (n > INT8_MAX) {
		memcpy(head + 1, (char[]){(char)0x81, (char)n}, 2);
		head_n = 3;
	}
	if (!buf_reserve(b, head_n))
		return;
	memmove(b->p + at + head_n, b->p + at, n);
	memcpy(b->p + at, head, head_n);
	buf_commit(b, head_n);
}

static void tls_self_put_value(struct buf *b, uint8_t tag, struct str content)
{
	size_t at = b->n;

	buf_str(b, content);
	tls_self_wrap(b, at, tag);
}

#define OID(b, oid) tls_self_put_value(b, DER_OID, str_make(oid, sizeof(oid) - 1))

static void tls_self_put_algorithm(struct buf *b)
{
	size_t at = b->n;

	OID(b, oid_ecdsa_sha256);
	tls_self_wrap(b, at, DER_SEQUENCE);
}

static void tls_self_put_name(struct buf *b)
{
	size_t at = b->n;

	OID(b, oid_common_name);
	tls_self_put_value(b, DER_TEXT, STR("od-runtime sandbox"));
	tls_self_wrap(b, at, DER_SEQUENCE);
	tls_self_wrap(b, at, DER_SET);
	tls_self_wrap(b, at, DER_SEQUENCE);
}

/* No expiry: clients trust the key by its pin, and a pin has no date. */
static void tls_self_put_validity(struct buf *b)
{
	size_t at = b->n;

	tls_self_put_value(b, DER_UTC, STR("200101000000Z"));
	tls_self_put_value(b, DER_TIME, STR("99991231235959Z"));
	tls_self_wrap(b, at, DER_SEQUENCE);
}

static void tls_self_put_bits(struct buf *b, const void *p, size_t n)
{
	size_t at = b->n;

	buf_putc(b, 0); /* number of unused bits */
	buf_put(b, p, n);
	tls_self_wrap(b, at, DER_BITS);
}

static void tls_self_put_key(struct buf *b, const br_ec_public_key *key)
{
	size_t at = b->n;

	OID(b, oid_ec_key);
	OID(b, oid_p256);
	tls_self_wrap(b, at, DER_SEQUENCE);
	tls_self_put_bits(b, key->q, key->qlen);
	tls_self_wrap(b, at, DER_SEQUENCE);
}

/* The local names of the server. */
static void tls_self_put_alt_names(struct buf *b)
{
	size_t list = b->n, at;

	OID(b, oid_alt_name);
	at = b->n;
	tls_self_put_value(b, DER_DNS, STR("localhost"));
	tls_self_put_value(b, DER_ADDRESS, STR("\x7f\0\0\1"));
	tls_self_put_value(b, DER_ADDRESS, STR("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1"));
	tls_self_wrap(b, at, DER_SEQUENCE);
	tls_self_wrap(b, at, DER_OCTETS);
	tls_self_wrap(b, list, DER_SEQUENCE);
	tls_self_wrap(b, list, DER_SEQUENCE);
	tls_self_wrap(b, list, DER_EXTENSIONS);
}

/* The serial number is positive and has no leading zeros. */
static void tls_self_put_serial(struct buf *b, const uint8_t pin[SHA256_LEN])
{
	char bytes[SERIAL];

	memcpy(bytes, pin, SERIAL);
	bytes[0] = (char)((bytes[0] & 0x3f) | 0x40);
	tls_self_put_value(b, DER_INTEGER, str_make(bytes, SERIAL));
}

static void tls_self_put_tbs(
	struct buf *b, const br_ec_public_key *key, const uint8_t pin[SHA256_LEN])
{
	size_t at = b->n;

	tls_self_put_value(b, DER_INTEGER, STR("\2")); /* v3 */
	tls_self_wrap(b, at, DER_VERSION);
	tls_self_put_serial(b, pin);
	tls_self_put_algorithm(b);
	tls_self_put_name(b); /* issuer */
	tls_self_put_validity(b);
	tls_self_put_name(b);
	tls_self_put_key(b, key);
	tls_self_put_alt_names(b);
	tls_self_wrap(b, at, DER_SEQUENCE);
}

static void tls_self_sign(struct buf *b, const br_ec_private_key *key)
{
	br_ecdsa_sign by = br_ecdsa_sign_asn1_get_default();
	uint8_t hash[SHA256_LEN];
	char signature[80];
	size_t n;

	sha256_compute(buf_view(b), hash);
	n = by(br_ec_get_default(), &br_sha256_vtable, hash, key, signature);
	tls_self_put_algorithm(b);
	tls_self_put_bits(b, signature, n);
	tls_self_wrap(b, 0, DER_SEQUENCE);
}

int tls_credentials_self(const uint8_t secret[TLS_SECRET], struct tls_credentials **out,
	uint8_t pin[SHA256_LEN])
{
	uint8_t q[BR_EC_KBUF_PUB_MAX_SIZE];
	struct buf spki = BUF_INIT(DER_MAX);
	br_ec_public_key key;
	struct tls_credentials *s = tls_credentials_alloc();

	if (!s)
		return -ENOMEM;
	buf_init(&s->der, DER_MAX);
	memcpy(s->key.key_data, secret, TLS_SECRET);
	s->key.key_data[0] &= 0x7f; /* below the order of the curve */
	s->key.key_type = BR_KEYTYPE_EC;
	s->key.key.ec = (br_ec_private_key){BR_EC_secp256r1, s->key.key_data, TLS_SECRET};
	br_ec_compute_pub(br_ec_get_default(), &key, q, &s->key.key.ec);
	tls_self_put_key(&spki, &key);
	sha256_compute(buf_view(&spki), pin);
	tls_self_put_tbs(&s->der, &key, pin);
	tls_self_sign(&s->der, &s->key.key.ec);
	buf_free(&spki);
	if (spki.err || s->der.err) {
		tls_credentials_del(s);
		return -ENOMEM;
	}
	s->chain[0] = (br_x509_certificate){(unsigned char *)s->der.p, s->der.n};
	s->chain_n = 1;
	*out = s;
	return 0;
}
