/* What one proves oneself by: a certificate chain and its key; of a server, as a rule. */
#ifndef NET_TLS_CREDENTIALS_H
#define NET_TLS_CREDENTIALS_H

#include "base/hash.h"

struct tls_trust; /* net/tls_trust.h */

enum { TLS_SECRET = 32 };

/* A certificate chain and its key, shared by all connections. */
struct tls_credentials;

/*
 * Reads a certificate chain, leaf first, and its private key, both PEM, the key
 * PKCS#1, SEC1 or PKCS#8 without a passphrase: RSA of 2048 to 4096 bits, or EC
 * on P-256. The texts are not kept; tls_credentials_del wipes what was made of them.
 * 0; ERR_LIMIT, ERR_SYNTAX, ERR_TYPE (a key of another kind), ERR_RANGE (an RSA
 * key of another size), -EKEYREJECTED (not the key of the leaf), -ENOMEM, with
 * *why set to a static sentence for the operator.
 */
int tls_credentials_new(struct str chain, struct str key, const char **why,
	struct tls_credentials **out) MUST_USE;
/*
 * The same with a certificate of its own making for localhost, on P-256: with the same
 * random secret it is the same one. pin becomes the SHA-256 of its SubjectPublicKeyInfo,
 * by which clients can believe it. 0 or -ENOMEM.
 */
int tls_credentials_self(const uint8_t secret[TLS_SECRET], struct tls_credentials **out,
	uint8_t pin[SHA256_LEN]) MUST_USE;
/* In the log of a server, before that in hexadecimal. */
#define TLS_PIN_IS "TLS: the SHA-256 of the key is "
/*
 * From now on clients have to show a certificate for clients behind which one of trust's
 * authorities stands, and prove to have its key. trust now belongs to s.
 */
void tls_credentials_demand(struct tls_credentials *s, struct tls_trust *trust);
void tls_credentials_del(struct tls_credentials *s);

#endif
