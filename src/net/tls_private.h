/* What a server's credentials are: for tls.c and tls_server.c alone. */
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

#endif
