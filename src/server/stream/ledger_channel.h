/* A channel that reads the ledger and is woken by its changes. */
#ifndef SERVER_STREAM_LEDGER_CHANNEL_H
#define SERVER_STREAM_LEDGER_CHANNEL_H

#include "server/idempotency/idem.h"
#include "server/stream/channel.h"

/* The first member of its kind. */
struct ledger_channel {
	struct channel channel;
	struct waiter follower;
	struct later later;
};

/* Allocates a zeroed struct of this size that begins with it; NULL: out of memory. */
struct ledger_channel *ledger_channel_new(struct idem *o, size_t size);
struct idem *ledger_channel_get_idem(const struct ledger_channel *f);
/* Implements channel_kind.free. */
void ledger_channel_free(struct channel *c);

#endif
