/*
 * TLS for one connection, the client's side: the machine of net/tls.h with another
 * beginning. TLS 1.2, ECDHE with AEAD; a server is believed when a certificate
 * authority that was given here stands behind it and its certificate is for the host,
 * or when its key is the one that was named. There is no other trust and no revocation.
 *
 * BearSSL checks signatures, dates, the right to issue and path lengths. Ours are: the
 * host's name and address (net/x509.h), the purpose, RSA of 2048 bits or more, no hash
 * weaker than SHA-256, no name constraints (which it would pass over in silence).
 */
#ifndef NET_TLS_CLIENT_H
#define NET_TLS_CLIENT_H

#include "net/tls.h"

/* Whom to believe, shared by all connections; a server may judge its clients so, too. */
struct tls_client;

/*
 * Reads certificate authorities, PEM, of which those that cannot be used (a key of
 * another kind, name constraints, not readable) are passed over. spki_sha256 is NULL, or
 * the SHA-256 of the server's SubjectPublicKeyInfo: then the key has to be this one, too,
 * or, without authorities (an empty text), alone. 0; ERR_SYNTAX, ERR_LIMIT, ERR_TYPE (no
 * authority can be used), -ENOMEM, with *why set to a static sentence.
 */
int tls_client_new(struct str authorities, const uint8_t *spki_sha256, const char **why,
	struct tls_client **out) MUST_USE;
void tls_client_del(struct tls_client *c);

/*
 * From now on servers that ask for it get own's certificates, and a signature by its key.
 * own is borrowed for as long as c lives.
 */
void tls_client_prove(struct tls_client *c, const struct tls_server *own);

/*
 * Starts a connection to host, a name or an address; its first bytes are ready in
 * tls_output. now is the time of day, as seconds since 1970. Allocates about 37 KB, and
 * 24 more during the handshake. The client must outlive it. 0; -ENOMEM; ERR_SYNTAX when
 * that is no host; ERR_RANGE when the clock cannot have been set; ERR_TLS without random
 * bytes.
 */
int tls_connect(
	struct tls *t, const struct tls_client *c, struct str host, int64_t now) MUST_USE;

#endif
