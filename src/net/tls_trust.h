/*
 * Whom to believe: a server, when a certificate authority that was given here stands
 * behind it and its certificate is for the host, or when its key is the one that was
 * named; likewise clients of a server. There is no other trust and no revocation.
 *
 * BearSSL checks signatures, dates, the right to issue and path lengths. Ours are: the
 * host's name and address (net/x509.h), the purpose, RSA of 2048 bits or more, no hash
 * weaker than SHA-256, no name constraints (which it would pass over in silence).
 */
#ifndef NET_TLS_TRUST_H
#define NET_TLS_TRUST_H

#include "base/hash.h"
#include "base/str.h"

struct tls_credentials; /* net/tls_credentials.h */
/* Shared by all connections. */
struct tls_trust;

/*
 * Reads certificate authorities, PEM, of which those that cannot be used (a key of
 * another kind, name constraints, not readable) are passed over. spki_sha256 is NULL, or
 * the SHA-256 of the server's SubjectPublicKeyInfo: then the key has to be this one, too,
 * or, without authorities (an empty text), alone. 0; ERR_SYNTAX, ERR_LIMIT, ERR_TYPE (no
 * authority can be used), -ENOMEM, with *why set to a static sentence.
 */
int tls_trust_new(struct str authorities, const uint8_t *spki_sha256, const char **why,
	struct tls_trust **out) MUST_USE;
void tls_trust_del(struct tls_trust *c);

/*
 * From now on servers that ask for it get own's certificates, and a signature by its key.
 * own is borrowed for as long as c lives.
 */
void tls_trust_prove(struct tls_trust *c, const struct tls_credentials *own);

#endif
