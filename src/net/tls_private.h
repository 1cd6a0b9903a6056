/*
 * Inside TLS: the types of BearSSL, which no other file of net sees. From the bottom up:
 *
 *   tls_pem.c          PEM texts; tls_pem.h
 *   tls_credentials.c  certificates and keys
 *   tls_self.c         a self-signed certificate
 *   tls_trust.c        authorities and pins; judges the certificates of a peer
 *   tls.c              the engine of both roles, and the server
 *   tls_client.c       the client
 */
#ifndef NET_TLS_PRIVATE_H
#define NET_TLS_PRIVATE_H

#include "base/buf.h"
#include "codec/x509.h"
#include "limits.h"
#include "net/tls.h"
#include "net/tls_credentials.h"
#include "net/tls_trust.h"

#include <bearssl.h>

struct tls_credentials {
	br_skey_decoder_context key; /* holds the bytes of the key, too */
	br_x509_certificate chain[TLS_CHAIN_MAX];
	size_t chain_n;
	struct buf der;            /* all certificates, end to end */
	struct tls_trust *clients; /* owned: authorities for clients; NULL: no check */
};

/* Allocates zeroed credentials. NULL: out of memory. */
struct tls_credentials *tls_credentials_alloc(void);

/*
 * The first member of both roles' state. n is the size of the whole state, which tls_free
 * wipes.
 */
struct tls_state {
	br_ssl_engine_context *engine;
	size_t n;
	struct tls_judge *judge; /* of the peer, until the handshake is over; or NULL */
	unsigned char alert[7];  /* the record that reports our refusal to the peer */
	unsigned char alert_n, alert_at; /* its size, 0 for none; bytes sent */
};

/*
 * Sets the cipher suites. suites has n entries: the first keys of them are the ChaCha20
 * suites, one for each kind of key, which are repeated at the end. They are preferred or
 * used last, whichever is faster on this processor.
 */
void tls_set_suites(
	br_ssl_engine_context *e, const uint16_t *suites, size_t n, size_t keys);

/*
 * Sets versions, hashes and ciphers. The caller adds the suites and what its role needs.
 */
void tls_set_algorithms(br_ssl_engine_context *e);

/*
 * The client's own credentials, or NULL; the authorities that a server sends to clients.
 */
const struct tls_credentials *tls_trust_get_own(const struct tls_trust *c);
void tls_trust_send_names(const struct tls_trust *c, br_ssl_server_context *server);

/*
 * Makes the engine check its peer's certificates against c. The peer is a server called
 * host, or a client if host is NULL. tls_judge_end frees the judge. 0 or -ENOMEM.
 */
int tls_judge_begin(struct tls_state *state, const struct tls_trust *c,
	const struct x509_host *host, int64_t now) MUST_USE;
void tls_judge_end(struct tls_state *state);

/* Reasons to refuse a peer's certificate, besides BearSSL's own codes. */
enum tls_refusal {
	TLS_REFUSED_NAME = 1024, /* larger than the codes of all alerts */
	TLS_REFUSED_PURPOSE,
	TLS_REFUSED_CONSTRAINED,
	TLS_REFUSED_SIZE,
	TLS_REFUSED_SYNTAX,
	TLS_REFUSED_PIN,
	TLS_REFUSED_CLIENT,
};

#endif
