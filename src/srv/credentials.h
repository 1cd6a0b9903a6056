/* What the server proves itself by: files that the command line names, or its own. */
#ifndef SRV_CREDENTIALS_H
#define SRV_CREDENTIALS_H

#include "config.h"
#include "net/tls.h"
#include "proc/store.h"

/*
 * Reads both files; what is wrong with them is logged. With --tls-self the certificate
 * is made from a secret that is put into the store, so that it stays the same after a
 * crash: secret is that of an earlier process, or -1. 0 with *out, which is NULL when TLS
 * was not asked for; errors as of tls_server_new, or -errno.
 */
int credentials_load(const struct config *c, struct store *store, int secret,
	struct tls_server **out) MUST_USE;

/* The text of a file that an option names, into text; what is wrong is logged. */
int credentials_text(const char *option, const char *path, struct buf *text) MUST_USE;

#endif
