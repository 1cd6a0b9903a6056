/*
 * What an earlier process left in the fd store: the listener, the sessions, the ledger
 * with what actions have printed, the secret of a certificate, the entrypoint.
 */
#ifndef SRV_KEPT_H
#define SRV_KEPT_H

#include "act/act.h"
#include "proc/process.h"
#include "srv/entrypoint.h"

#define KEPT_LISTENER "listen"
#define KEPT_TLS "tls"

struct kept {
	int listener;       /* -1: none, as before kept_take */
	int ledger;         /* the same, */
	int tls;            /* and this, */
	int outputs;        /* and this */
	struct buf entries; /* of sessions, until kept_adopt */
};

/* Takes everything out of the store. -ENOMEM, or -errno. */
int kept_take(struct kept *k, struct store *store, struct entrypoint *entrypoint,
	struct processes *processes) MUST_USE;
/* Whether there are sessions to take over: the sandbox is set up then. */
bool kept_sessions(const struct kept *k);
/* Makes these sessions anew; what cannot be taken over is logged and let go. */
void kept_adopt(struct kept *k, struct box *box);
/* Closes what nobody has taken. */
void kept_free(struct kept *k);

#endif
