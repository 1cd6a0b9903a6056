/* By what key the server of a sandbox that speaks TLS is known. */
#ifndef INJECT_PIN_H
#define INJECT_PIN_H

#include "inject/sandbox.h"

/*
 * Its server tells stderr, before anybody else writes there, and makes a new key
 * whenever the container starts; who reads that through the engine knows that nobody
 * stands between. 0 once the state has the pin; 1 when it is not told yet; -EINTR,
 * -ENOMEM or FAIL_*, also where nobody can read the log.
 */
int pin_learn(const struct engine *e, struct sandbox *s) MUST_USE;

#endif
