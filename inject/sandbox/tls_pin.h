/* Learns the public key of a sandbox's TLS server. */
#ifndef INJECT_SANDBOX_TLS_PIN_H
#define INJECT_SANDBOX_TLS_PIN_H

#include "inject/sandbox/sandbox.h"

/*
 * Reads the server's pin from the log of the container. The server prints it to stderr
 * before any other output, and makes a new key at each start of the container. The log is
 * read through the engine, so that a machine in the middle cannot replace the pin. 0: the
 * state has the pin; 1: it is not printed yet; -EINTR, -ENOMEM or FAIL_*, also if the log
 * driver cannot be read.
 */
int tls_pin_learn(const struct engine *e, struct sandbox *s) MUST_USE;

#endif
