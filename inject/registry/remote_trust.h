/* The certificate authorities and the certificate for connections to a registry. */
#ifndef INJECT_REGISTRY_REMOTE_TRUST_H
#define INJECT_REGISTRY_REMOTE_TRUST_H

#include "inject/registry/remote.h"

/*
 * Fills in *trust unless that was done before. home: *trust is for the registry's own
 * origin. Our certificate is sent there, and to no host that a redirect names. 0;
 * -ENOMEM; FAIL_* with a line printed.
 */
int remote_load_trust(struct remote *r, bool home, struct tls_trust **trust) MUST_USE;

#endif
