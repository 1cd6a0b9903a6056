/* What the two roles of a connection share: for the files net/tls*.c alone. */
#ifndef NET_TLS_PRIVATE_H
#define NET_TLS_PRIVATE_H

#include "base/buf.h"
#include "limits.h"
#include "net/tls.h"
#include "net/tls_credentials.h"
#include "net/tls_trust.h"
#include "net/x509.h"

#include <bearssl.h>

struct tls_credentials {
	br_skey_decoder_context key; /* holds the key's bytes, too */
	br_x509_certificate chain[TLS_CHAIN_MAX];
	size_t chain_n;
	struct buf der;            /* all certificates, end to end */
	struct tls_trust *clients; /* owned: who is let in; NULL: anybody */
};

/* Where credentials lie; zeroed, or NULL. */
struct tls_credentials *tls_credentials_alloc(void);

/* How both roles' memory begins; n is its whole size, which tls_free wipes. */
struct tls_state {
	br_ssl_engine_context *engine;
	size_t n;
	struct tls_judge *judge; /* of the peer, until the handshake is over; or NULL */
	unsigned char alert[7];  /* the record that tells the peer why we refuse it */
	unsigned char alert_n, alert_at; /* its size, 0 for none, and how much is sent */
};

/*
 * Sets the suites: n of them, of which the last keys (as many as there are kinds of keys)
 * are once more the first, ChaCha20; those come first or last, as is faster here.
 */
void tls_use_suites(
	br_ssl_engine_context *e, const uint16_t *suites, size_t n, size_t keys);

/* Versions, hashes and ciphers; then the caller adds suites and what is its own. */
void tls_use_algorithms(br_ssl_engine_context *e);

/* By what a client proves itself, or NULL; the authorities that a server asks for. */
const struct tls_credentials *tls_trust_own(const struct tls_trust *c);
void tls_trust_names(const struct tls_trust *c, br_ssl_server_context *server);

/*
 * Has the engine's peer judged by what c says: a server, which is to be host, or, when
 * that is NULL, a client. tls_judge_end frees it. 0 or -ENOMEM.
 */
int tls_judge_begin(struct tls_state *state, const struct tls_trust *c,
	const struct x509_host *host, int64_t now) MUST_USE;
void tls_judge_end(struct tls_state *state);

/*
 * The next object of a PEM text (RFC 7468), its bytes appended to der. 0 with its
 * name, which d holds; TLS_END when there is no more; ERR_SYNTAX; the error of der.
 */
int tls_pem_next(br_pem_decoder_context *d, struct str *text, struct buf *der,
	const char **name) MUST_USE;
bool tls_pem_is_certificate(const char *name);

/* Why a peer's certificate was refused, beside BearSSL's own codes. */
enum tls_refusal {
	TLS_REFUSED_NAME = 1024, /* beyond all alerts */
	TLS_REFUSED_PURPOSE,
	TLS_REFUSED_CONSTRAINED,
	TLS_REFUSED_SIZE,
	TLS_REFUSED_SYNTAX,
	TLS_REFUSED_PIN,
	TLS_REFUSED_CLIENT,
};

#endif
