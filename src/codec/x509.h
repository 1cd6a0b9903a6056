/*
 * The parts of a certificate (RFC 5280) that BearSSL does not check: the names that it is
 * for, its purposes, its key as bytes. Engines without I/O that borrow the DER.
 */
#ifndef CODEC_X509_H
#define CODEC_X509_H

#include "base/str.h"

enum { X509_NAME_MAX = 253 }; /* of a host: DNS names are not longer */

struct x509 {
	struct str subject; /* a Name, as DER */
	struct str spki;    /* SubjectPublicKeyInfo, as DER */
	struct str names;   /* the GeneralNames of subjectAltName; empty: none */
	bool for_servers;   /* no extended key usage, or it allows servers */
	bool for_clients;   /* no extended key usage, or it allows clients */
	bool constrained;   /* has name constraints for certificates it issues */
};

/*
 * Reads a certificate. 0; ERR_SYNTAX; ERR_DUPLICATE: an extension occurs twice, so that
 * two parsers could use different values.
 */
int x509_read(struct x509 *c, struct str der) MUST_USE;

/* A host as it occurs in certificates: a DNS name, or the 4 or 16 bytes of an address. */
struct x509_host {
	bool is_address;
	size_t n;
	char bytes[X509_NAME_MAX + 1]; /* of a name with a NUL at the end */
};

/*
 * Reads text: an address (IPv6 with or without brackets) or a name. 0 or ERR_SYNTAX, also
 * for an empty text.
 */
int x509_host_read(struct x509_host *h, struct str text) MUST_USE;

/*
 * Whether the certificate is for the host (RFC 6125, RFC 9525). Only subjectAltName
 * counts, never the subject's CN. A wildcard stands for exactly one label, the whole
 * left-most one, with at least two labels behind it. An address matches only an equal
 * iPAddress.
 */
bool x509_has_host(const struct x509 *c, const struct x509_host *h);

#endif
