/* What the two roles of a connection share: for the files net/tls*.c alone. */
#ifndef NET_TLS_PRIVATE_H
#define NET_TLS_PRIVATE_H

#include "base/buf.h"
#include "limits.h"
#include "net/tls.h"

#include <bearssl.h>

struct tls_server {
	br_skey_decoder_context key; /* holds the key's bytes, too */
	br_x509_certificate chain[TLS_CHAIN_MAX];
	size_t chain_n;
	struct buf der; /* all certificates, end to end */
};

/* Where credentials lie; zeroed, or NULL. */
struct tls_server *tls_server_alloc(void);

/* How both roles' memory begins; n is its whole size, which tls_free wipes. */
struct tls_state {
	br_ssl_engine_context *engine;
	size_t n;
};

/* Versions, hashes and ciphers; then the caller adds suites and what is its own. */
void tls_use_algorithms(br_ssl_engine_context *e);

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
};

#endif
