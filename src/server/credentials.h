/* The certificate of the server: from files of the command line, or self-signed. */
#ifndef SERVER_CREDENTIALS_H
#define SERVER_CREDENTIALS_H

#include "config.h"
#include "net/tls_credentials.h"
#include "net/tls_trust.h"
#include "proc/store.h"

/*
 * Reads the files of --tls-cert and --tls-key, and that of --tls-client-ca. Errors are
 * logged. With --tls-self, the certificate is derived from a secret in the fd store, so
 * that it stays the same after a crash. secret is the fd of the secret of an earlier
 * process, or -1. Returns 0 with *out (NULL: TLS is not requested), an error of
 * tls_credentials_new, or -errno.
 */
int credentials_load(const struct config *c, struct store *store, int secret,
	struct tls_credentials **out) MUST_USE;

/*
 * Reads a certificate chain and its key from the files of two options. Returns 0, an
 * error of tls_credentials_new, or -errno. Errors are logged.
 */
int credentials_pair(const char *const option[2], const char *const path[2],
	struct tls_credentials **out) MUST_USE;

/*
 * The trusted authorities: from the file that an option names (path may be NULL), and a
 * pin as in tls_trust_new. Errors are logged.
 */
int credentials_trust(const char *option, const char *path, const uint8_t *pin,
	struct tls_trust **out) MUST_USE;

/*
 * Appends the file that an option names to text. Errors are logged. If text is a secret
 * and other users have access to the file, a warning is logged.
 */
int credentials_text(const char *option, const char *path, struct buf *text) MUST_USE;

#endif
