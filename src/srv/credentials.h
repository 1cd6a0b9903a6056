/* The certificate and the key that the command line names. */
#ifndef SRV_CREDENTIALS_H
#define SRV_CREDENTIALS_H

#include "config.h"
#include "net/tls.h"

/*
 * Reads both files; what is wrong with them is logged. 0 with *out, which is NULL
 * when TLS was not asked for; errors as of tls_server_new, or -errno.
 */
int credentials_load(const struct config *c, struct tls_server **out) MUST_USE;

#endif
