/*
 * The files that docker keeps in a folder for a peer: a certificate authority for that
 * peer alone, and a client certificate with its key. For a registry the folder is in
 * certs.d.
 */
#ifndef INJECT_HTTP_CERTS_H
#define INJECT_HTTP_CERTS_H

#include "base/buf.h"
#include "net/tls.h"

struct certs_names {
	const char *authority, *own, *key; /* files */
};
extern const struct certs_names certs_of_registry;

/*
 * Finds the folder of host ("name" or "name:port"): below ~/.config/docker/certs.d, else
 * below /etc/docker/certs.d. *folder receives its path, or stays empty.
 */
void certs_find(struct str host, struct buf *folder);

/*
 * Appends the authority to pem. 0, also if there is none or the folder is empty; FAIL_*
 * with a line printed; -ENOMEM.
 */
int certs_read_authority(
	struct buf *folder, const struct certs_names *names, struct buf *pem) MUST_USE;

/*
 * Reads the client certificate and its key: 0 with *own, NULL if there are none; errors
 * as above.
 */
int certs_read_pair(struct buf *folder, const struct certs_names *names,
	struct tls_credentials **own) MUST_USE;

#endif
