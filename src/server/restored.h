/*
 * Restored state: what an earlier process left in the fd store. This is the listener, the
 * sessions, the ledger and the outputs of actions, the secret of the certificate, and the
 * entrypoint.
 */
#ifndef SERVER_RESTORED_H
#define SERVER_RESTORED_H

#include "action/act.h"
#include "proc/process/process.h"
#include "server/entrypoint.h"

#define RESTORED_LISTENER "listen"
#define RESTORED_TLS "tls"

struct restored_state {
	int listener;       /* fd; -1: none */
	int ledger;         /* fd; -1: none */
	int tls;            /* fd; -1: none */
	int outputs;        /* fd; -1: none */
	struct buf entries; /* records of sessions, until restored_adopt */
};

/* Takes all records out of the store. Returns 0, -ENOMEM or -errno. */
int restored_load(struct restored_state *k, struct store *store,
	struct entrypoint *entrypoint, struct processes *processes) MUST_USE;
/* Whether there are sessions to restore. The sandbox is set up already then. */
bool restored_has_sessions(const struct restored_state *k);
/* Restores the sessions. A session that cannot be restored is logged and dropped. */
void restored_adopt(struct restored_state *k, struct box *box);
/* Closes the descriptors that were not taken. */
void restored_free(struct restored_state *k);

#endif
