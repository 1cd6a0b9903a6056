/*
 * Restored state: what an earlier process left in the fd store. This is the listener, the
 * sessions, the ledger and the outputs of actions, the secret of the certificate, and the
 * entrypoint.
 */
#ifndef SERVER_KEPT_H
#define SERVER_KEPT_H

#include "action/act.h"
#include "proc/process/process.h"
#include "server/entrypoint.h"

#define KEPT_LISTENER "listen"
#define KEPT_TLS "tls"

struct kept {
	int listener;       /* fd; -1: none */
	int ledger;         /* fd; -1: none */
	int tls;            /* fd; -1: none */
	int outputs;        /* fd; -1: none */
	struct buf entries; /* records of sessions, until kept_adopt */
};

/* Takes all records out of the store. Returns 0, -ENOMEM or -errno. */
int kept_take(struct kept *k, struct store *store, struct entrypoint *entrypoint,
	struct processes *processes) MUST_USE;
/* Whether there are sessions to restore. The sandbox is set up already then. */
bool kept_sessions(const struct kept *k);
/* Restores the sessions. A session that cannot be restored is logged and dropped. */
void kept_adopt(struct kept *k, struct box *box);
/* Closes the descriptors that were not taken. */
void kept_free(struct kept *k);

#endif
