/*
 * The trust of a connection in its peer. A server is trusted if a given certificate
 * authority has issued its certificate and the certificate is for the host, or if its key
 * is the given one; clients of a server likewise. There is no other trust and no
 * revocation.
 *
 * BearSSL checks signatures, dates, the right to issue and path lengths. The checks here
 * are: the host's name and address (codec/x509.h), the purpose, RSA of 2048 bits or more,
 * no hash weaker than SHA-256, no name constraints (which BearSSL would ignore).
 */
#ifndef NET_TLS_TRUST_H
#define NET_TLS_TRUST_H

#include "base/hash.h"
#include "base/str.h"

struct tls_credentials; /* net/tls_credentials.h */
/* Shared by all connections. */
struct tls_trust;

/*
 * Reads certificate authorities, PEM. An authority that cannot be used (a key of another
 * kind, name constraints, not readable) is ignored. spki_sha256 is NULL, or the SHA-256
 * of the server's SubjectPublicKeyInfo: then the server must have this key, too, or,
 * without authorities (an empty text), only this key. 0; ERR_SYNTAX, ERR_LIMIT, ERR_TYPE
 * (no authority can be used), -ENOMEM, with *why set to a static sentence.
 */
int tls_trust_new(struct str authorities, const uint8_t *spki_sha256, const char **why,
	struct tls_trust **out) MUST_USE;
void tls_trust_del(struct tls_trust *c);

/*
 * From now on servers that ask for a client certificate receive own's certificates and a
 * signature by its key. own must outlive c.
 */
void tls_trust_prove(struct tls_trust *c, const struct tls_credentials *own);

#endif
