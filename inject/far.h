/*
 * An engine on another machine: tcp://HOST[:PORT], over TLS alone. As docker has it, the
 * folder DOCKER_CERT_PATH, else DOCKER_CONFIG, else ~/.docker, holds ca.pem, the one
 * authority that is believed, and cert.pem with key.pem, by which we prove who we are.
 */
#ifndef INJECT_FAR_H
#define INJECT_FAR_H

#include "inject/call.h"

struct far;

/*
 * Finds the engine that text names and reads what lies in the folder. There is one for a
 * program, which lasts as long. 0 with *out; -EINTR; FAIL_* with a line printed.
 */
int far_open(const char *text, const struct far **out) MUST_USE;

/*
 * Connects and begins c; where that fails there is none to close. 0; -EINTR, not when
 * calm; another error of the socket or of call_begin_tls.
 */
int far_begin(const struct far *f, struct call *c, uint32_t idle_ms, bool calm) MUST_USE;

/* Before the program ends: wipes the key. Also where none was opened. */
void far_close(void);

#endif
