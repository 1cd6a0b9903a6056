/*
 * An engine on another machine: tcp://HOST[:PORT], only over TLS. The certificate folder
 * is found as docker does: DOCKER_CERT_PATH, else DOCKER_CONFIG, else ~/.docker. The only
 * trusted authority is its ca.pem; our client certificate is its cert.pem with key.pem.
 */
#ifndef INJECT_ENGINE_REMOTE_ENGINE_H
#define INJECT_ENGINE_REMOTE_ENGINE_H

#include "inject/http/http_client.h"

struct remote_engine;

/*
 * Reads the engine's address from text, and the certificates from the folder. There is
 * one such object, which lives as long as the process. 0 with *out; -EINTR; FAIL_* with a
 * line printed.
 */
int remote_engine_open(const char *text, const struct remote_engine **out) MUST_USE;

/*
 * Connects and begins c; on failure c needs no close. 0; -EINTR, but not if calm is set;
 * another error of the socket or of http_client_begin_tls.
 */
int remote_engine_begin(const struct remote_engine *f, struct http_client *c,
	uint32_t idle_ms, bool calm) MUST_USE;

/*
 * Wipes the private key before the process ends. May be called without
 * remote_engine_open.
 */
void remote_engine_close(void);

#endif
