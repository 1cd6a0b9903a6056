/* PEM texts (RFC 7468). */
#ifndef NET_TLS_PEM_H
#define NET_TLS_PEM_H

#include "base/buf.h"

#include <bearssl.h>

/*
 * Appends the bytes of the next object of a PEM text to der. 0 with the object's name,
 * which d holds; TLS_END: text has no further object; ERR_SYNTAX; the error of der.
 */
int tls_pem_next(br_pem_decoder_context *d, struct str *text, struct buf *der,
	const char **name) MUST_USE;
bool tls_pem_is_certificate(const char *name);

#endif
