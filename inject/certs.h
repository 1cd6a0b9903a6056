/*
 * What docker keeps for one registry in a folder of certs.d: ca.crt, an authority for it
 * alone, and client.cert with client.key, by which we prove who we are.
 */
#ifndef INJECT_CERTS_H
#define INJECT_CERTS_H

#include "base/buf.h"
#include "net/tls.h"

/*
 * Finds the folder of host ("name" or "name:port"): below ~/.config/docker/certs.d, else
 * below /etc/docker/certs.d. Its path goes to folder, which stays empty without one.
 */
void certs_find(struct str host, struct buf *folder);

/*
 * Appends ca.crt to pem. 0, also when there is none or the folder is empty; FAIL_* with a
 * line printed; -ENOMEM.
 */
int certs_authority(struct buf *folder, struct buf *pem) MUST_USE;

/* Reads our certificate and its key: 0 with *own, NULL when there are none; as above. */
int certs_own(struct buf *folder, struct tls_server **own) MUST_USE;

#endif
