/*
 * Outbound connection: where the sandbox is not reachable, it connects to its backend and
 * serves the stream there. It reconnects without end.
 */
#ifndef SERVER_DIAL_H
#define SERVER_DIAL_H

#include "server/api.h"

struct dial;

/*
 * Makes the dialler for config->connect; dial_start begins. Errors are logged. Returns 0
 * with *out (NULL: --connect is not set), ERR_SYNTAX, ERR_LIMIT, errors of tls_trust_new
 * and of reading files, or -ENOMEM.
 */
int dial_new(struct api *api, struct dial **out) MUST_USE;
void dial_start(struct dial *d);
/* Ends the attempts to connect. */
void dial_stop(struct dial *d);
void dial_del(struct dial *d);

#endif
