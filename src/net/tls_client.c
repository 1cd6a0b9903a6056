/* Connections of a client. */
#include "net/tls_private.h"

#include <errno.h>
#include <stdlib.h>

#define CLOCK_FLOOR INT64_C(1767225600) /* 2026-01-01, before this program was built */

struct client_state {
	struct tls_state base;
	br_ssl_client_context ctx;
	unsigned char io[BR_SSL_BUFSIZE_BIDI];
};

static struct client_state *tls_client_state_new(void)
{
	return calloc(1, sizeof(struct client_state));
}

static void tls_client_set_suites(br_ssl_engine_context *e)
{
	static const uint16_t suites[] = {
		BR_TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
		BR_TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
		BR_TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
		BR_TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
		BR_TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
		BR_TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
		BR_TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
		BR_TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
	};

	tls_set_suites(e, suites, ARRAY_LEN(suites), 2);
	br_ssl_engine_set_default_rsavrfy(e);
	br_ssl_engine_set_default_ecdsa(e);
}

static void tls_client_set_credentials(
	br_ssl_client_context *ctx, const struct tls_credentials *own)
{
	if (own->key.key_type == BR_KEYTYPE_RSA)
		br_ssl_client_set_single_rsa(ctx, own->chain, own->chain_n,
			&own->key.key.rsa, br_rsa_pkcs1_sign_get_default());
	else
		br_ssl_client_set_single_ec(ctx, own->chain, own->chain_n,
			&own->key.key.ec, BR_KEYTYPE_SIGN, BR_KEYTYPE_EC,
			br_ec_get_default(), br_ecdsa_sign_asn1_get_default());
}

int tls_connect(
	struct tls *t, const struct tls_trust *trust, struct str host, int64_t now)
{
	struct x509_host named;
	struct client_state *state;
	const struct tls_credentials *own = tls_trust_get_own(trust);
	int r = 0;

	if (x509_host_read(&named, host))
		return ERR_SYNTAX;
	if (now < CLOCK_FLOOR)
		return ERR_RANGE;
	state = tls_client_state_new();
	if (!state)
		return -ENOMEM;
	state->base.engine = &state->ctx.eng;
	state->base.n = sizeof(*state);
	br_ssl_client_zero(&state->ctx);
	tls_set_algorithms(&state->ctx.eng);
	tls_client_set_suites(&state->ctx.eng);
	if (own)
		tls_client_set_credentials(&state->ctx, own);
	r = tls_judge_begin(&state->base, trust, &named, now);
	br_ssl_engine_set_buffer(&state->ctx.eng, state->io, sizeof(state->io), 1);
	/* RFC 6066 3: an address must not be sent as server name. */
	if (!r &&
		!br_ssl_client_reset(
			&state->ctx, named.is_address ? NULL : named.bytes, 0))
		r = ERR_TLS;
	t->state = &state->base;
	if (r)
		tls_free(t);
	return r;
}
