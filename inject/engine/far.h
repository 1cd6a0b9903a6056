/*
 * An engine on another machine: tcp://HOST[:PORT], only over TLS. The certificate folder
 * is found as docker does: DOCKER_CERT_PATH, else DOCKER_CONFIG, else ~/.docker. The only
 * trusted authority is its ca.pem; our client certificate is its cert.pem with key.pem.
 */
#ifndef INJECT_ENGINE_FAR_H
#define INJECT_ENGINE_FAR_H

#include "inject/http/call.h"

struct far;

/*
 * Reads the engine's address from text, and the certificates from the folder. There is
 * one such object, which lives as long as the process. 0 with *out; -EINTR; FAIL_* with a
 * line printed.
 */
int far_open(const char *text, const struct far **out) MUST_USE;

/*
 * Connects and begins c; on failure c needs no close. 0; -EINTR, but not if calm is set;
 * another error of the socket or of call_begin_tls.
 */
int far_begin(const struct far *f, struct call *c, uint32_t idle_ms, bool calm) MUST_USE;

/* Wipes the private key before the process ends. May be called without far_open. */
void far_close(void);

#endif
