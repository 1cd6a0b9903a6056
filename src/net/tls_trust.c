/* Certificate authorities and pins, and the check of a peer's certificates. */
#include "net/tls_trust.h"

#include "base/arena.h"
#include "base/hash.h"
#include "net/tls_pem.h"
#include "net/tls_private.h"

#include <errno.h>
#include <stdlib.h>

enum {
	TLS_AUTHORITIES_MAX = 400,       /* Mozilla has 150 */
	TLS_AUTHORITIES_BYTES = 1 << 20, /* their names and keys, 700 bytes each */
};

enum {
	RSA_BYTES_MIN = 2048 / 8,
	DAY = 86400,
	DAYS_TO_1970 = 719528, /* since the year 0, which BearSSL counts from */
};

struct tls_trust {
	br_x509_trust_anchor anchors[TLS_AUTHORITIES_MAX];
	size_t anchors_n;
	struct arena arena; /* what the anchors point to */
	bool pinned;
	uint8_t pin[SHA256_LEN];
	const struct tls_credentials *own; /* see tls_trust_prove */
};

/* --- Authorities -------------------------------------------------------------------- */

static unsigned char *tls_trust_copy(struct arena *a, const void *p, size_t n)
{
	unsigned char *copy = arena_alloc(a, n ? n : 1);

	if (copy && n)
		memcpy(copy, p, n);
	return copy;
}

static int tls_trust_copy_key(struct arena *a, const br_x509_pkey *from, br_x509_pkey *to)
{
	br_x509_pkey key = *from;

	if (from->key_type == BR_KEYTYPE_RSA) {
		key.key.rsa.n = tls_trust_copy(a, from->key.rsa.n, from->key.rsa.nlen);
		key.key.rsa.e = tls_trust_copy(a, from->key.rsa.e, from->key.rsa.elen);
		if (!key.key.rsa.n || !key.key.rsa.e)
			return -ENOMEM;
	} else {
		key.key.ec.q = tls_trust_copy(a, from->key.ec.q, from->key.ec.qlen);
		if (!key.key.ec.q)
			return -ENOMEM;
	}
	*to = key;
	return 0;
}

static bool tls_trust_is_key_long(const br_x509_pkey *key)
{
	return key->key_type == BR_KEYTYPE_EC || key->key.rsa.nlen >= RSA_BYTES_MIN;
}

/* Adds a certificate as an authority. 1: it cannot be an authority. */
static int tls_trust_add_authority(struct tls_trust *c, struct str der)
{
	br_x509_trust_anchor *anchor = &c->anchors[c->anchors_n];
	br_x509_decoder_context d;
	const br_x509_pkey *key;
	struct x509 cert;

	br_x509_decoder_init(&d, NULL, NULL);
	br_x509_decoder_push(&d, der.p, der.n);
	key = br_x509_decoder_get_pkey(&d);
	if (!key || !tls_trust_is_key_long(key) || x509_read(&cert, der) ||
		cert.constrained)
		return 1;
	anchor->dn.data = tls_trust_copy(&c->arena, cert.subject.p, cert.subject.n);
	anchor->dn.len = cert.subject.n;
	/* Without the flag the anchor is trusted as the server's own certificate. */
	anchor->flags = br_x509_decoder_isCA(&d) ? BR_X509_TA_CA : 0;
	if (!anchor->dn.data || tls_trust_copy_key(&c->arena, key, &anchor->pkey))
		return -ENOMEM;
	c->anchors_n++;
	return 0;
}

static int tls_trust_read_authorities(
	struct tls_trust *c, struct str text, const char **why)
{
	br_pem_decoder_context d;
	struct buf der = BUF_INIT(TLS_CERT_MAX);
	const char *name;
	bool any = text.n > 0;
	int r;

	br_pem_decoder_init(&d);
	*why = "the file of certificate authorities is not PEM, or too large";
	while ((r = tls_pem_next(&d, &text, &der, &name)) == 0) {
		if (tls_pem_is_certificate(name)) {
			if (c->anchors_n == TLS_AUTHORITIES_MAX) {
				*why = "there are too many certificate authorities";
				r = ERR_LIMIT;
				break;
			}
			r = tls_trust_add_authority(c, buf_view(&der));
			if (r < 0)
				break;
		}
		buf_reset(&der);
	}
	buf_free(&der);
	if (r != TLS_END)
		return r;
	if (any && !c->anchors_n) {
		*why = "there is no usable certificate authority in the file";
		return ERR_TYPE;
	}
	return 0;
}

static struct tls_trust *tls_trust_empty_new(void)
{
	return calloc(1, sizeof(struct tls_trust));
}

int tls_trust_new(struct str authorities, const uint8_t *spki_sha256, const char **why,
	struct tls_trust **out)
{
	struct tls_trust *c = tls_trust_empty_new();
	int r;

	*why = "out of memory";
	if (!c)
		return -ENOMEM;
	arena_init(&c->arena, TLS_AUTHORITIES_BYTES);
	if (spki_sha256) {
		c->pinned = true;
		memcpy(c->pin, spki_sha256, SHA256_LEN);
	}
	r = tls_trust_read_authorities(c, authorities, why);
	if (!r && !c->anchors_n && !c->pinned) {
		*why = "no certificate authority is given";
		r = ERR_TYPE;
	}
	if (r)
		tls_trust_del(c);
	else
		*out = c;
	return r;
}

void tls_trust_del(struct tls_trust *c)
{
	if (!c)
		return;
	arena_reset(&c->arena);
	free(c);
}

const struct tls_credentials *tls_trust_get_own(const struct tls_trust *c)
{
	return c->own;
}

void tls_trust_prove(struct tls_trust *c, const struct tls_credentials *own)
{
	c->own = own;
}

void tls_trust_send_names(const struct tls_trust *c, br_ssl_server_context *server)
{
	br_ssl_server_set_trust_anchor_names_alt(server, c->anchors, c->anchors_n);
}

/* --- Check of a peer's certificates ------------------------------------------------- */

struct tls_judge {
	const br_x509_class *vtable; /* must be the first member */
	const struct tls_trust *trust;
	bool of_clients;
	struct x509_host host; /* if the peer is a server */
	br_x509_minimal_context chain;
	br_x509_decoder_context leaf; /* for a key that is trusted by its pin */
	size_t certs_n;
	bool counts;    /* the current certificate is part of the trusted chain */
	unsigned fault; /* first fault found by this file; 0: none */
	size_t cert_n;
	char cert[TLS_CERT_MAX];
};

static struct tls_judge *tls_trust_get_judge(const br_x509_class **ctx)
{
	return (struct tls_judge *)(void *)ctx;
}

static bool tls_trust_is_pin_only(const struct tls_judge *j)
{
	return j->trust->anchors_n == 0;
}

static void tls_trust_set_fault(struct tls_judge *j, unsigned fault)
{
	if (!j->fault)
		j->fault = fault;
}

static void tls_trust_start_chain(const br_x509_class **ctx, const char *server_name)
{
	struct tls_judge *j = tls_trust_get_judge(ctx);

	(void)server_name;
	j->certs_n = 0;
	j->fault = 0;
	/* BearSSL receives no name: it does not check addresses, and accepts a CN. */
	j->chain.vtable->start_chain(&j->chain.vtable, NULL);
	br_x509_decoder_init(&j->leaf, NULL, NULL);
}

static void tls_trust_start_cert(const br_x509_class **ctx, uint32_t length)
{
	struct tls_judge *j = tls_trust_get_judge(ctx);

	j->cert_n = 0;
	/* Certificates after the one that an authority has signed are ignored. */
	j->counts = tls_trust_is_pin_only(j) ? j->certs_n == 0 : j->chain.err == 0;
	if (length > TLS_CERT_MAX || j->certs_n == TLS_CHAIN_MAX)
		tls_trust_set_fault(j, TLS_REFUSED_SIZE);
	j->chain.vtable->start_cert(&j->chain.vtable, length);
}

static void tls_trust_append(const br_x509_class **ctx, const unsigned char *p, size_t n)
{
	struct tls_judge *j = tls_trust_get_judge(ctx);

	if (n > sizeof(j->cert) - j->cert_n) {
		tls_trust_set_fault(j, TLS_REFUSED_SIZE);
		return;
	}
	memcpy(j->cert + j->cert_n, p, n);
	j->cert_n += n;
	j->chain.vtable->append(&j->chain.vtable, p, n);
}

static void tls_trust_check_leaf(struct tls_judge *j, const struct x509 *cert)
{
	uint8_t hash[SHA256_LEN];

	br_x509_decoder_push(&j->leaf, j->cert, j->cert_n);
	sha256_compute(cert->spki, hash);
	if (j->trust->pinned && !hash_equal(hash, j->trust->pin, SHA256_LEN))
		tls_trust_set_fault(j, TLS_REFUSED_PIN);
	if (!j->of_clients && !tls_trust_is_pin_only(j) && !x509_has_host(cert, &j->host))
		tls_trust_set_fault(j, TLS_REFUSED_NAME);
}

static void tls_trust_end_cert(const br_x509_class **ctx)
{
	struct tls_judge *j = tls_trust_get_judge(ctx);
	struct x509 cert;

	j->chain.vtable->end_cert(&j->chain.vtable);
	if (j->fault || !j->counts)
		return;
	if (x509_read(&cert, str_make(j->cert, j->cert_n))) {
		tls_trust_set_fault(j, TLS_REFUSED_SYNTAX);
		return;
	}
	if (j->certs_n++ == 0)
		tls_trust_check_leaf(j, &cert);
	if (tls_trust_is_pin_only(j))
		return;
	if (!j->of_clients && !cert.for_servers)
		tls_trust_set_fault(j, TLS_REFUSED_PURPOSE);
	if (j->of_clients && !cert.for_clients)
		tls_trust_set_fault(j, TLS_REFUSED_CLIENT);
	if (cert.constrained)
		tls_trust_set_fault(j, TLS_REFUSED_CONSTRAINED);
}

/*
 * BearSSL's reason goes first: the names and purposes of an untrusted certificate are
 * meaningless.
 */
static unsigned tls_trust_end_chain(const br_x509_class **ctx)
{
	struct tls_judge *j = tls_trust_get_judge(ctx);
	unsigned r = j->chain.vtable->end_chain(&j->chain.vtable);

	if (tls_trust_is_pin_only(j))
		r = br_x509_decoder_get_pkey(&j->leaf) ? 0 : TLS_REFUSED_SYNTAX;
	return j->fault == TLS_REFUSED_SIZE || !r ? j->fault : r;
}

static const br_x509_pkey *tls_trust_get_pkey(
	const br_x509_class *const *ctx, unsigned *usages)
{
	const struct tls_judge *j = (const struct tls_judge *)(const void *)ctx;

	if (!tls_trust_is_pin_only(j))
		return j->chain.vtable->get_pkey(&j->chain.vtable, usages);
	if (usages)
		*usages = BR_KEYTYPE_SIGN;
	return j->leaf.err ? NULL : &j->leaf.pkey;
}

static const br_x509_class judge_class = {
	.context_size = sizeof(struct tls_judge),
	.start_chain = tls_trust_start_chain,
	.start_cert = tls_trust_start_cert,
	.append = tls_trust_append,
	.end_cert = tls_trust_end_cert,
	.end_chain = tls_trust_end_chain,
	.get_pkey = tls_trust_get_pkey,
};

static struct tls_judge *tls_trust_judge_new(void)
{
	return calloc(1, sizeof(struct tls_judge));
}

int tls_judge_begin(struct tls_state *state, const struct tls_trust *c,
	const struct x509_host *host, int64_t now)
{
	struct tls_judge *j = tls_trust_judge_new();
	br_x509_minimal_context *x;

	if (!j)
		return -ENOMEM;
	x = &j->chain;
	j->vtable = &judge_class;
	j->trust = c;
	j->of_clients = !host;
	if (host)
		j->host = *host;
	br_x509_minimal_init(x, &br_sha256_vtable, c->anchors, c->anchors_n);
	br_x509_minimal_set_rsa(x, br_rsa_pkcs1_vrfy_get_default());
	br_x509_minimal_set_ecdsa(
		x, br_ec_get_default(), br_ecdsa_vrfy_asn1_get_default());
	br_x509_minimal_set_hash(x, br_sha256_ID, &br_sha256_vtable);
	br_x509_minimal_set_hash(x, br_sha384_ID, &br_sha384_vtable);
	br_x509_minimal_set_hash(x, br_sha512_ID, &br_sha512_vtable);
	br_x509_minimal_set_minrsa(x, RSA_BYTES_MIN);
	br_x509_minimal_set_time(
		x, (uint32_t)(DAYS_TO_1970 + now / DAY), (uint32_t)(now % DAY));
	br_ssl_engine_set_x509(state->engine, &j->vtable);
	state->judge = j;
	return 0;
}

void tls_judge_end(struct tls_state *state)
{
	free(state->judge);
	state->judge = NULL;
}
