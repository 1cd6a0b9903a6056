/* Reads and checks a certificate chain and its key. */
#include "net/tls_credentials.h"

#include "net/tls_pem.h"
#include "net/tls_private.h"

#include <errno.h>
#include <sys/mman.h>

enum {
	RSA_BITS_MIN = 2048,
	RSA_BITS_MAX = 4096, /* BearSSL's maximum */
	RSA_BYTES_MAX = RSA_BITS_MAX / 8,
};

static int tls_credentials_read_chain(
	struct tls_credentials *s, struct str text, const char **why)
{
	br_pem_decoder_context d;
	const char *name;
	size_t at = 0;
	int r;

	br_pem_decoder_init(&d);
	*why = "the certificate chain is not PEM";
	while ((r = tls_pem_next(&d, &text, &s->der, &name)) == 0) {
		if (!tls_pem_is_certificate(name)) {
			*why = "the certificate chain contains an entry that is not a "
			       "certificate";
			return ERR_TYPE;
		}
		if (s->chain_n == TLS_CHAIN_MAX) {
			*why = "the certificate chain is too long";
			return ERR_LIMIT;
		}
		s->chain[s->chain_n++].data_len = s->der.n - at;
		at = s->der.n;
	}
	if (r < 0)
		return r;
	if (s->chain_n == 0) {
		*why = "the certificate chain contains no certificate";
		return ERR_SYNTAX;
	}
	at = 0;
	for (size_t i = 0; i < s->chain_n; i++) {
		s->chain[i].data = (unsigned char *)s->der.p + at;
		at += s->chain[i].data_len;
	}
	return 0;
}

static int tls_credentials_check_key(const br_skey_decoder_context *key, const char **why)
{
	if (key->key_type == BR_KEYTYPE_EC) {
		if (key->key.ec.curve == BR_EC_secp256r1)
			return 0;
		*why = "the private key is on another curve than P-256";
		return ERR_TYPE;
	}
	if (key->key.rsa.n_bitlen >= RSA_BITS_MIN &&
		key->key.rsa.n_bitlen <= RSA_BITS_MAX)
		return 0;
	*why = "the RSA key has fewer than 2048 or more than 4096 bits";
	return ERR_RANGE;
}

static int tls_credentials_read_key(
	struct tls_credentials *s, struct str text, const char **why)
{
	br_pem_decoder_context d;
	struct buf der = BUF_INIT(TLS_PEM_MAX);
	const char *name;
	int r;

	/*
	 * Allocates all space at once: a buffer that grows would leave copies of the key
	 * behind.
	 */
	*why = "the private key is too long";
	if (!buf_reserve(&der, text.n + 1))
		return der.err;
	br_pem_decoder_init(&d);
	*why = "the private key is not PEM";
	/* openssl ecparam writes the curve's name before the key. */
	while ((r = tls_pem_next(&d, &text, &der, &name)) == 0 &&
		strcmp(name, "EC PARAMETERS") == 0)
		buf_reset(&der);
	if (r == 0) {
		br_skey_decoder_init(&s->key);
		br_skey_decoder_push(&s->key, der.p, der.n);
		*why = "the private key is neither RSA nor EC, or has a passphrase";
		r = br_skey_decoder_last_error(&s->key) ? ERR_TYPE : 0;
	} else if (r > 0) {
		r = ERR_SYNTAX;
	}
	explicit_bzero(der.p, der.cap);
	explicit_bzero(&d, sizeof(d));
	buf_free(&der);
	return r ? r : tls_credentials_check_key(&s->key, why);
}

static bool tls_credentials_match_rsa(
	const br_rsa_private_key *key, const br_rsa_public_key *cert)
{
	unsigned char n[RSA_BYTES_MAX];
	br_rsa_compute_modulus modulus = br_rsa_compute_modulus_get_default();
	size_t len = modulus(NULL, key);

	return len == cert->nlen && len <= sizeof(n) && modulus(n, key) == len &&
		memcmp(n, cert->n, len) == 0;
}

static bool tls_credentials_match_ec(
	const br_ec_private_key *key, const br_ec_public_key *cert)
{
	unsigned char q[BR_EC_KBUF_PUB_MAX_SIZE];
	size_t len = br_ec_compute_pub(br_ec_get_default(), NULL, q, key);

	return key->curve == cert->curve && len && len == cert->qlen &&
		memcmp(q, cert->q, len) == 0;
}

/* Without this check a wrong pair would fail only when the first client connects. */
static int tls_credentials_match_key(const struct tls_credentials *s, const char **why)
{
	br_x509_decoder_context d;
	const br_x509_pkey *cert;
	bool fits;

	br_x509_decoder_init(&d, NULL, NULL);
	br_x509_decoder_push(&d, s->chain[0].data, s->chain[0].data_len);
	cert = br_x509_decoder_get_pkey(&d);
	if (!cert) {
		*why = "the first certificate cannot be read";
		return ERR_SYNTAX;
	}
	fits = cert->key_type == s->key.key_type &&
		(cert->key_type == BR_KEYTYPE_RSA
				? tls_credentials_match_rsa(
					  &s->key.key.rsa, &cert->key.rsa)
				: tls_credentials_match_ec(
					  &s->key.key.ec, &cert->key.ec));
	*why = "the private key does not belong to the first certificate";
	return fits ? 0 : -EKEYREJECTED;
}

/* If the kernel supports it, child processes see zeros: they do not need the key. */
struct tls_credentials *tls_credentials_alloc(void)
{
	void *p = mmap(NULL, sizeof(struct tls_credentials), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	(void)!madvise(p, sizeof(struct tls_credentials), MADV_WIPEONFORK);
	return p;
}

int tls_credentials_new(
	struct str chain, struct str key, const char **why, struct tls_credentials **out)
{
	struct tls_credentials *s = tls_credentials_alloc();
	int r;

	*why = "out of memory";
	if (!s)
		return -ENOMEM;
	buf_init(&s->der, TLS_PEM_MAX);
	r = tls_credentials_read_chain(s, chain, why);
	if (!r)
		r = tls_credentials_read_key(s, key, why);
	if (!r)
		r = tls_credentials_match_key(s, why);
	if (r)
		tls_credentials_del(s);
	else
		*out = s;
	return r;
}

void tls_credentials_demand(struct tls_credentials *s, struct tls_trust *trust)
{
	s->clients = trust;
}

void tls_credentials_del(struct tls_credentials *s)
{
	if (!s)
		return;
	buf_free(&s->der);
	tls_trust_del(s->clients);
	explicit_bzero(s, sizeof(*s));
	munmap(s, sizeof(*s));
}
