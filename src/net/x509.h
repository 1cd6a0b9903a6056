/*
 * What a certificate (RFC 5280) says beside what BearSSL looks at: the names it is
 * for, its purposes, its key as bytes. Engines without I/O that borrow the DER.
 */
#ifndef NET_X509_H
#define NET_X509_H

#include "base/str.h"

enum { X509_NAME_MAX = 253 }; /* of a host: DNS has no longer ones */

struct x509 {
	struct str subject; /* a Name, as DER */
	struct str spki;    /* SubjectPublicKeyInfo, as DER */
	struct str names;   /* the GeneralNames of subjectAltName; empty without */
	bool for_servers;   /* no extended key usage, or one that allows it */
	bool for_clients;   /* the same */
	bool constrained;   /* it limits the names of what it issues */
};

/*
 * Reads one certificate. 0; ERR_SYNTAX; ERR_DUPLICATE for an extension that stands
 * twice, where two readers could each believe another one.
 */
int x509_read(struct x509 *c, struct str der) MUST_USE;

/* A host as certificates know it: a DNS name, or the 4 or 16 bytes of an address. */
struct x509_host {
	bool is_address;
	size_t n;
	char bytes[X509_NAME_MAX + 1]; /* of a name with a NUL behind it */
};

/*
 * Reads text: an address (IPv6 with or without brackets) or a name. 0 or ERR_SYNTAX;
 * the empty text is no host.
 */
int x509_host_read(struct x509_host *h, struct str text) MUST_USE;

/*
 * Whether the certificate is for the host (RFC 6125, RFC 9525): subjectAltName alone
 * counts, never the subject's CN; a wildcard stands for exactly one label, the whole
 * left-most one, with two more behind it; an address only equals an iPAddress.
 */
bool x509_is_for(const struct x509 *c, const struct x509_host *h);

#endif
