/* Common parts of the channels that read the ledger. */
#include "server/stream/ledger_channel.h"

#include <stdlib.h>

struct idem *ledger_channel_get_idem(const struct ledger_channel *f)
{
	return stream_get_api(f->channel.stream)->idem;
}

static void ledger_channel_on_change(struct waiter *follower)
{
	channel_wake(&container_of(follower, struct ledger_channel, follower)->channel);
}

struct ledger_channel *ledger_channel_new(struct idem *o, size_t size)
{
	struct ledger_channel *f = calloc(1, size);

	if (!f)
		return NULL;
	f->follower.fn = ledger_channel_on_change;
	idem_follow(o, &f->follower);
	return f;
}

static void ledger_channel_free_memory(struct later *later)
{
	free(container_of(later, struct ledger_channel, later));
}

void ledger_channel_free(struct channel *c)
{
	struct ledger_channel *f = container_of(c, struct ledger_channel, channel);

	idem_unfollow(ledger_channel_get_idem(f), &f->follower);
	loop_defer_free(stream_get_api(c->stream)->box->loop, &f->later,
		ledger_channel_free_memory);
}
