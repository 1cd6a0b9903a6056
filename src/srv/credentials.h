/* What the server proves itself by: files that the command line names, or its own. */
#ifndef SRV_CREDENTIALS_H
#define SRV_CREDENTIALS_H

#include "config.h"
#include "net/tls_credentials.h"
#include "net/tls_trust.h"
#include "proc/store.h"

/*
 * Reads both files; what is wrong with them is logged. With --tls-self the certificate
 * is made from a secret that is put into the store, so that it stays the same after a
 * crash: secret is that of an earlier process, or -1. 0 with *out, which is NULL when TLS
 * was not asked for; errors as of tls_credentials_new, or -errno.
 */
int credentials_load(const struct config *c, struct store *store, int secret,
	struct tls_credentials **out) MUST_USE;

/*
 * A certificate chain and its key from the files that two options name. Errors as of
 * tls_credentials_new, or -errno, which are logged.
 */
int credentials_pair(const char *const option[2], const char *const path[2],
	struct tls_credentials **out) MUST_USE;

/*
 * Whom to believe: the authorities in the file that an option names, whose path may be
 * NULL, and a pin as of tls_trust_new. What is wrong is logged.
 */
int credentials_trust(const char *option, const char *path, const uint8_t *pin,
	struct tls_trust **out) MUST_USE;

/*
 * The text of a file that an option names, into text; what is wrong is logged, and when
 * text is a secret, that everybody may read it.
 */
int credentials_text(const char *option, const char *path, struct buf *text) MUST_USE;

#endif
