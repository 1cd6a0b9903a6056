/*
 * A certificate chain and its private key: the identity of a server or, less often, of a
 * client.
 */
#ifndef NET_TLS_CREDENTIALS_H
#define NET_TLS_CREDENTIALS_H

#include "base/hash.h"

struct tls_trust; /* net/tls_trust.h */

enum { TLS_SECRET = 32 };

/* A certificate chain and its key, shared by all connections. */
struct tls_credentials;

/*
 * Reads a certificate chain, leaf first, and its private key, both PEM. The key is
 * PKCS#1, SEC1 or PKCS#8 without a passphrase: RSA of 2048 to 4096 bits, or EC on P-256.
 * The texts are not kept; tls_credentials_del wipes what was made of them. 0; ERR_LIMIT,
 * ERR_SYNTAX, ERR_TYPE (a key of another kind), ERR_RANGE (an RSA key of another size),
 * -EKEYREJECTED (not the key of the leaf), -ENOMEM, with *why set to a static sentence
 * for the operator.
 */
int tls_credentials_new(struct str chain, struct str key, const char **why,
	struct tls_credentials **out) MUST_USE;
/*
 * Creates credentials with a self-signed certificate for localhost, on P-256. secret must
 * be random; an equal secret yields an equal certificate. pin becomes the SHA-256 of the
 * SubjectPublicKeyInfo, by which clients can trust the certificate. 0 or -ENOMEM.
 */
int tls_credentials_self(const uint8_t secret[TLS_SECRET], struct tls_credentials **out,
	uint8_t pin[SHA256_LEN]) MUST_USE;
/* In the log of a server, before the pin in hexadecimal. */
#define TLS_PIN_IS "TLS: the SHA-256 of the key is "
/*
 * From now on clients have to present a client certificate that an authority of trust has
 * issued, and prove that they have its key. s owns trust from now on.
 */
void tls_credentials_demand(struct tls_credentials *s, struct tls_trust *trust);
void tls_credentials_del(struct tls_credentials *s);

#endif
