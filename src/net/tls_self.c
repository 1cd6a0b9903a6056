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
static void wrap(struct buf *b, size_t at, uint8_t tag)
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
	if (!buf_room(b, head_n))
		return;
	memmove(b->p + at + head_n, b->p + at, n);
	memcpy(b->p + at, head, head_n);
	buf_commit(b, head_n);
}

static void value(struct buf *b, uint8_t tag, struct str content)
{
	size_t at = b->n;

	buf_str(b, content);
	wrap(b, at, tag);
}

#define OID(b, oid) value(b, DER_OID, str_make(oid, sizeof(oid) - 1))

static void algorithm(struct buf *b)
{
	size_t at = b->n;

	OID(b, oid_ecdsa_sha256);
	wrap(b, at, DER_SEQUENCE);
}

static void name(struct buf *b)
{
	size_t at = b->n;

	OID(b, oid_common_name);
	value(b, DER_TEXT, STR("od-runtime sandbox"));
	wrap(b, at, DER_SEQUENCE);
	wrap(b, at, DER_SET);
	wrap(b, at, DER_SEQUENCE);
}

/* No expiry: clients trust the key by its pin, and a pin has no date. */
static void validity(struct buf *b)
{
	size_t at = b->n;

	value(b, DER_UTC, STR("200101000000Z"));
	value(b, DER_TIME, STR("99991231235959Z"));
	wrap(b, at, DER_SEQUENCE);
}

static void bits(struct buf *b, const void *p, size_t n)
{
	size_t at = b->n;

	buf_putc(b, 0); /* number of unused bits */
	buf_put(b, p, n);
	wrap(b, at, DER_BITS);
}

static void public_key(struct buf *b, const br_ec_public_key *key)
{
	size_t at = b->n;

	OID(b, oid_ec_key);
	OID(b, oid_p256);
	wrap(b, at, DER_SEQUENCE);
	bits(b, key->q, key->qlen);
	wrap(b, at, DER_SEQUENCE);
}

/* The local names of the server. */
static void alt_names(struct buf *b)
{
	size_t list = b->n, at;

	OID(b, oid_alt_name);
	at = b->n;
	value(b, DER_DNS, STR("localhost"));
	value(b, DER_ADDRESS, STR("\x7f\0\0\1"));
	value(b, DER_ADDRESS, STR("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1"));
	wrap(b, at, DER_SEQUENCE);
	wrap(b, at, DER_OCTETS);
	wrap(b, list, DER_SEQUENCE);
	wrap(b, list, DER_SEQUENCE);
	wrap(b, list, DER_EXTENSIONS);
}

/* The serial number is positive and has no leading zeros. */
static void serial(struct buf *b, const uint8_t pin[SHA256_LEN])
{
	char bytes[SERIAL];

	memcpy(bytes, pin, SERIAL);
	bytes[0] = (char)((bytes[0] & 0x3f) | 0x40);
	value(b, DER_INTEGER, str_make(bytes, SERIAL));
}

static void to_be_signed(
	struct buf *b, const br_ec_public_key *key, const uint8_t pin[SHA256_LEN])
{
	size_t at = b->n;

	value(b, DER_INTEGER, STR("\2")); /* v3 */
	wrap(b, at, DER_VERSION);
	serial(b, pin);
	algorithm(b);
	name(b); /* issuer */
	validity(b);
	name(b);
	public_key(b, key);
	alt_names(b);
	wrap(b, at, DER_SEQUENCE);
}

static void sign(struct buf *b, const br_ec_private_key *key)
{
	br_ecdsa_sign by = br_ecdsa_sign_asn1_get_default();
	uint8_t hash[SHA256_LEN];
	char signature[80];
	size_t n;

	sha256_of(buf_view(b), hash);
	n = by(br_ec_get_default(), &br_sha256_vtable, hash, key, signature);
	algorithm(b);
	bits(b, signature, n);
	wrap(b, 0, DER_SEQUENCE);
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
	public_key(&spki, &key);
	sha256_of(buf_view(&spki), pin);
	to_be_signed(&s->der, &key, pin);
	sign(&s->der, &s->key.key.ec);
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
