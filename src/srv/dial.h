/*
 * Dialling out: where nobody can reach the sandbox, it connects to its backend and
 * serves the same stream there, for ever.
 */
#ifndef SRV_DIAL_H
#define SRV_DIAL_H

#include "srv/api.h"

struct dial;

/*
 * Makes what config->connect asks for, without beginning; what is wrong is logged. 0
 * with *out, which is NULL when nothing is asked for; ERR_SYNTAX, ERR_LIMIT, errors of
 * tls_trust_new and of reading files, -ENOMEM.
 */
int dial_new(struct api *api, struct dial **out) MUST_USE;
void dial_start(struct dial *d);
/* No more attempts. */
void dial_stop(struct dial *d);
void dial_del(struct dial *d);

#endif
