/* Common parts of the channels that read the ledger. */
#include "server/stream/stream_private.h"

#include <stdlib.h>

struct once *followed_once(const struct followed *f)
{
	return stream_api(f->channel.stream)->once;
}

static void on_news(struct once_follower *follower)
{
	channel_wake(&container_of(follower, struct followed, follower)->channel);
}

struct followed *followed_new(struct once *o, size_t size)
{
	struct followed *f = calloc(1, size);

	if (!f)
		return NULL;
	f->follower.fn = on_news;
	once_follow(o, &f->follower);
	return f;
}

static void free_now(struct later *later)
{
	free(container_of(later, struct followed, later));
}

void followed_free(struct channel *c)
{
	struct followed *f = container_of(c, struct followed, channel);

	once_unfollow(followed_once(f), &f->follower);
	loop_free_later(stream_api(c->stream)->box->loop, &f->later, free_now);
}
