/* The TLS machine of both roles, and connections of a server. */
#include "net/tls_private.h"

#include <errno.h>
#include <stdlib.h>

struct server_state {
	struct tls_state base;
	br_ssl_server_context ctx;
	unsigned char io[BR_SSL_BUFSIZE_BIDI];
};

/* ChaCha20 is preferred if the processor has no AES instructions. */
static const uint16_t rsa_suites[] = {
	BR_TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
	BR_TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
	BR_TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
	BR_TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
};

static const uint16_t ec_suites[] = {
	BR_TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
	BR_TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
	BR_TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
	BR_TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
};

void tls_set_suites(
	br_ssl_engine_context *e, const uint16_t *suites, size_t n, size_t keys)
{
	size_t first = br_aes_x86ni_ctr_get_vtable() ? keys : 0;

	br_ssl_engine_set_suites(e, suites + first, n - keys);
}

static void tls_set_credentials(br_ssl_server_context *c, const struct tls_credentials *s)
{
	if (s->key.key_type == BR_KEYTYPE_RSA) {
		tls_set_suites(&c->eng, rsa_suites, ARRAY_LEN(rsa_suites), 1);
		br_ssl_server_set_single_rsa(c, s->chain, s->chain_n, &s->key.key.rsa,
			BR_KEYTYPE_SIGN, NULL, br_rsa_pkcs1_sign_get_default());
	} else {
		/*
		 * The issuer's key type matters only for static ECDH, which is disabled.
		 */
		tls_set_suites(&c->eng, ec_suites, ARRAY_LEN(ec_suites), 1);
		br_ssl_server_set_single_ec(c, s->chain, s->chain_n, &s->key.key.ec,
			BR_KEYTYPE_SIGN, BR_KEYTYPE_EC, br_ec_get_default(),
			br_ecdsa_sign_asn1_get_default());
	}
}

void tls_set_algorithms(br_ssl_engine_context *e)
{
	static const char *protocols[] = {"http/1.1"};

	br_ssl_engine_set_versions(e, BR_TLS12, BR_TLS12);
	br_ssl_engine_add_flags(e, BR_OPT_NO_RENEGOTIATION);
	br_ssl_engine_set_hash(e, br_sha256_ID, &br_sha256_vtable);
	br_ssl_engine_set_hash(e, br_sha384_ID, &br_sha384_vtable);
	br_ssl_engine_set_hash(e, br_sha512_ID, &br_sha512_vtable);
	br_ssl_engine_set_prf_sha256(e, &br_tls12_sha256_prf);
	br_ssl_engine_set_prf_sha384(e, &br_tls12_sha384_prf);
	br_ssl_engine_set_default_ec(e);
	br_ssl_engine_set_default_aes_gcm(e);
	/* Not the default: its SSE2 is slower than gcc's code for plain C. */
	br_ssl_engine_set_chapol(
		e, &br_sslrec_in_chapol_vtable, &br_sslrec_out_chapol_vtable);
	br_ssl_engine_set_chacha20(e, br_chacha20_ct_run);
	br_ssl_engine_set_poly1305(e, br_poly1305_ctmulq_get());
	br_ssl_engine_set_protocol_names(e, protocols, ARRAY_LEN(protocols));
}

static struct server_state *tls_server_state_new(void)
{
	return calloc(1, sizeof(struct server_state));
}

/* Adds the algorithms for the clients' signatures, too. */
static int tls_verify_clients(
	struct server_state *state, struct tls_trust *trust, int64_t now)
{
	br_ssl_engine_set_default_rsavrfy(&state->ctx.eng);
	br_ssl_engine_set_default_ecdsa(&state->ctx.eng);
	tls_trust_send_names(trust, &state->ctx);
	return tls_judge_begin(&state->base, trust, NULL, now);
}

int tls_accept(struct tls *t, const struct tls_credentials *own, int64_t now)
{
	struct server_state *state = tls_server_state_new();
	int r = 0;

	if (!state)
		return -ENOMEM;
	state->base.engine = &state->ctx.eng;
	state->base.n = sizeof(*state);
	br_ssl_server_zero(&state->ctx);
	tls_set_algorithms(&state->ctx.eng);
	br_ssl_engine_add_flags(&state->ctx.eng, BR_OPT_ENFORCE_SERVER_PREFERENCES);
	tls_set_credentials(&state->ctx, own);
	if (own->clients)
		r = tls_verify_clients(state, own->clients, now);
	br_ssl_engine_set_buffer(&state->ctx.eng, state->io, sizeof(state->io), 1);
	if (!r && !br_ssl_server_reset(&state->ctx))
		r = ERR_TLS;
	t->state = &state->base;
	if (r)
		tls_free(t);
	return r;
}

void tls_free(struct tls *t)
{
	if (!t->state)
		return;
	tls_judge_end(t->state);
	explicit_bzero(t->state, t->state->n);
	free(t->state);
	t->state = NULL;
}

static br_ssl_engine_context *tls_get_engine(const struct tls *t)
{
	return t->state->engine;
}

/* 0 while the connection is open, else how it ended. */
static int tls_check_end(const struct tls *t)
{
	if (br_ssl_engine_current_state(tls_get_engine(t)) != BR_SSL_CLOSED)
		return 0;
	return br_ssl_engine_last_error(tls_get_engine(t)) == BR_ERR_OK ? TLS_END
									: ERR_TLS;
}

/* Frees the judge after the handshake: it takes as much memory as all the rest. */
static void tls_release_judge(struct tls *t)
{
	unsigned open = BR_SSL_SENDAPP | BR_SSL_RECVAPP;

	if (t->state->judge && br_ssl_engine_current_state(tls_get_engine(t)) & open)
		tls_judge_end(t->state);
}

char *tls_input(struct tls *t, size_t *room)
{
	return (char *)br_ssl_engine_recvrec_buf(tls_get_engine(t), room);
}

void tls_input_done(struct tls *t, size_t n)
{
	br_ssl_engine_recvrec_ack(tls_get_engine(t), n);
	tls_release_judge(t);
}

int tls_feed(struct tls *t, const void *p, size_t n, size_t *taken)
{
	const char *from = p;
	size_t at = 0, room;
	char *to;
	int r;

	while (at < n && (to = tls_input(t, &room))) {
		if (room > n - at)
			room = n - at;
		memcpy(to, from + at, room);
		tls_input_done(t, room);
		at += room;
	}
	r = tls_check_end(t);
	if (!r)
		*taken = at;
	return r;
}

int tls_feed_end(const struct tls *t)
{
	int r = tls_check_end(t);

	return r == TLS_END ? 0 : r ? r : ERR_CLOSED;
}

/*
 * The engine sends no alert about certificates, which come before anything is encrypted:
 * the alert is written here. RFC 5246 7.2.2: handshake_failure 40, bad_certificate 42,
 * unsupported_certificate 43, certificate_expired 45, unknown_ca 48, decrypt_error 51.
 */
static void tls_make_alert(struct tls_state *s)
{
	static const struct {
		int first, last;
		unsigned char alert;
	} alerts[] = {
		{BR_ERR_NO_CLIENT_AUTH, BR_ERR_NO_CLIENT_AUTH, 40},
		{BR_ERR_BAD_SIGNATURE, BR_ERR_BAD_SIGNATURE, 51},
		{BR_ERR_X509_EXPIRED, BR_ERR_X509_EXPIRED, 45},
		{BR_ERR_X509_NOT_TRUSTED, BR_ERR_X509_NOT_TRUSTED, 48},
		{TLS_REFUSED_PURPOSE, TLS_REFUSED_PURPOSE, 43},
		{TLS_REFUSED_CLIENT, TLS_REFUSED_CLIENT, 43},
		{BR_ERR_X509_OK, BR_ERR_X509_NOT_TRUSTED, 42},
		{TLS_REFUSED_NAME, TLS_REFUSED_CLIENT, 42},
	};
	static const unsigned char record[] = {21, 3, 3, 0, 2, 2};
	int err = br_ssl_engine_last_error(s->engine);

	for (size_t i = 0; i < ARRAY_LEN(alerts) && !s->alert_n; i++)
		if (err >= alerts[i].first && err <= alerts[i].last) {
			memcpy(s->alert, record, sizeof(record));
			s->alert[sizeof(record)] = alerts[i].alert;
			s->alert_n = sizeof(s->alert);
		}
}

struct str tls_output(struct tls *t)
{
	size_t n;
	unsigned char *p = br_ssl_engine_sendrec_buf(tls_get_engine(t), &n);

	if (!p && t->state->judge) {
		tls_make_alert(t->state);
		return str_skip(
			str_make((const char *)t->state->alert, t->state->alert_n),
			t->state->alert_at);
	}
	if (!p) {
		br_ssl_engine_flush(tls_get_engine(t), 0);
		p = br_ssl_engine_sendrec_buf(tls_get_engine(t), &n);
	}
	return str_make((const char *)p, p ? n : 0);
}

void tls_output_done(struct tls *t, size_t n)
{
	if (t->state->alert_at < t->state->alert_n) {
		t->state->alert_at += (unsigned char)n;
		return;
	}
	br_ssl_engine_sendrec_ack(tls_get_engine(t), n);
	tls_release_judge(t);
}

int tls_read(const struct tls *t, struct str *data)
{
	size_t n;
	unsigned char *p = br_ssl_engine_recvapp_buf(tls_get_engine(t), &n);
	int r = tls_check_end(t);

	if (!p)
		return r ? r : TLS_WAIT;
	*data = str_make((const char *)p, n);
	return 0;
}

void tls_read_done(struct tls *t, size_t n)
{
	br_ssl_engine_recvapp_ack(tls_get_engine(t), n);
}

int tls_write(struct tls *t, const void *p, size_t n, size_t *taken)
{
	size_t room;
	unsigned char *to = br_ssl_engine_sendapp_buf(tls_get_engine(t), &room);
	int r = tls_check_end(t);

	if (r)
		return r == TLS_END ? ERR_CLOSED : r;
	if (!to)
		return TLS_WAIT;
	if (room > n)
		room = n;
	if (room)
		memcpy(to, p, room);
	br_ssl_engine_sendapp_ack(tls_get_engine(t), room);
	*taken = room;
	return 0;
}

void tls_close(struct tls *t)
{
	struct str unread;

	/* The engine does not close while received data is unread. */
	while (tls_read(t, &unread) == 0)
		tls_read_done(t, unread.n);
	br_ssl_engine_close(tls_get_engine(t));
}

const char *tls_error_text(const struct tls *t)
{
	/* Alerts: RFC 5246 7.2. */
	enum { RECEIVED = BR_ERR_RECV_FATAL_ALERT, SENT = BR_ERR_SEND_FATAL_ALERT };
	static const struct {
		int first, last;
		const char *text;
	} reasons[] = {
		{BR_ERR_OK, BR_ERR_OK, "no failure"},
		{BR_ERR_UNSUPPORTED_VERSION, BR_ERR_BAD_VERSION,
			"the peer does not speak TLS 1.2, or not TLS at all"},
		{BR_ERR_BAD_MAC, BR_ERR_BAD_MAC, "a record was altered on its way"},
		{BR_ERR_NO_RANDOM, BR_ERR_NO_RANDOM, "the system gives no random bytes"},
		{BR_ERR_X509_EXPIRED, BR_ERR_X509_EXPIRED,
			"a certificate has expired or is not valid yet, or the clock of "
			"this machine is wrong"},
		{BR_ERR_X509_NOT_TRUSTED, BR_ERR_X509_NOT_TRUSTED,
			"the certificate is not signed by a trusted authority"},
		{BR_ERR_X509_BAD_SIGNATURE, BR_ERR_X509_BAD_SIGNATURE,
			"a certificate's signature is wrong"},
		{BR_ERR_X509_UNSUPPORTED, BR_ERR_X509_UNSUPPORTED,
			"a certificate is signed by an algorithm that is not accepted"},
		{BR_ERR_X509_WEAK_PUBLIC_KEY, BR_ERR_X509_WEAK_PUBLIC_KEY,
			"a certificate's key is too short"},
		{BR_ERR_X509_NOT_CA, BR_ERR_X509_NOT_CA,
			"the issuer of a certificate is not an authority, or the chain "
			"is longer than it allows"},
		{BR_ERR_X509_OK, BR_ERR_X509_NOT_TRUSTED,
			"a certificate cannot be read, or has an unsupported critical "
			"extension"},
		{TLS_REFUSED_NAME, TLS_REFUSED_NAME,
			"the certificate is for another name"},
		{TLS_REFUSED_PURPOSE, TLS_REFUSED_PURPOSE,
			"the certificate is not for servers"},
		{TLS_REFUSED_CONSTRAINED, TLS_REFUSED_CONSTRAINED,
			"a certificate has name constraints, which are not supported"},
		{TLS_REFUSED_SIZE, TLS_REFUSED_SIZE,
			"the certificates are too many or too large"},
		{TLS_REFUSED_SYNTAX, TLS_REFUSED_SYNTAX, "a certificate cannot be read"},
		{TLS_REFUSED_PIN, TLS_REFUSED_PIN,
			"the key of the certificate is not the pinned key"},
		{TLS_REFUSED_CLIENT, TLS_REFUSED_CLIENT,
			"the certificate is not for clients"},
		{BR_ERR_NO_CLIENT_AUTH, BR_ERR_NO_CLIENT_AUTH,
			"the client did not send a certificate"},
		{BR_ERR_BAD_SIGNATURE, BR_ERR_BAD_SIGNATURE,
			"the peer does not have its certificate's key"},
		{RECEIVED + 42, RECEIVED + 49,
			"the peer does not accept our certificate"},
		{RECEIVED + 40, RECEIVED + 40,
			"the peer ended the handshake: no common cipher, or it requires "
			"a client certificate"},
		{RECEIVED, RECEIVED + 255, "the peer ended the handshake"},
		{SENT + 40, SENT + 40, "no cipher suite, curve or hash in common"},
		{SENT + 70, SENT + 70, "the peer does not offer TLS 1.2"},
		{SENT + 86, SENT + 86, "the peer fell back to an older version of TLS"},
	};
	int err = br_ssl_engine_last_error(tls_get_engine(t));

	for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
		if (err >= reasons[i].first && err <= reasons[i].last)
			return reasons[i].text;
	return "the peer violated the protocol";
}
