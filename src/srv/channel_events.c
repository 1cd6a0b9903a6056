/* What happens in the sandbox, from a number on, as it happens. */
#include "srv/stream_private.h"

#include "limits.h"
#include "srv/once_private.h"

#include <stdlib.h>

enum { LINE = 256 /* of an event, at most */ };

struct news {
	struct channel channel;
	struct once_follower follower;
	uint64_t at; /* number of the last one that was told */
	struct later later;
};

static struct news *news_of(struct channel *c)
{
	return container_of(c, struct news, channel);
}

static struct once *once_of(const struct news *n)
{
	return stream_api(n->channel.stream)->once;
}

static void on_news(struct once_follower *follower)
{
	channel_wake(&container_of(follower, struct news, follower)->channel);
}

static struct news *news_new(struct once *o, uint64_t at)
{
	struct news *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->at = at;
	n->follower.fn = on_news;
	once_follow(o, &n->follower);
	return n;
}

static struct channel *begin(struct stream *s, const struct stream_ask *ask, struct jw *w,
	struct channel_refusal *why)
{
	struct once *o = stream_api(s)->once;
	struct news *n = NULL;

	if (once_make_ready(o))
		*why = (struct channel_refusal){507, "What happens is not recorded.", ""};
	else if (ask->offset != UINT64_MAX && ask->offset > o->ledger.event)
		*why = (struct channel_refusal){
			416, "So much has not happened in this sandbox.", ""};
	else
		n = news_new(
			o, ask->offset == UINT64_MAX ? o->ledger.event : ask->offset);
	if (!n) {
		if (!why->words)
			*why = (struct channel_refusal){503, "Out of memory.", ""};
		return NULL;
	}
	jw_key(w, "offset");
	jw_uint(w, n->at);
	return &n->channel;
}

/* As many as the frame has room for, a line each. */
static int send_lines(struct news *n, size_t max)
{
	const struct once *o = once_of(n);
	struct buf out = BUF_INIT(STREAM_PIECE);
	uint64_t at = n->at;
	int r = 0;

	while (!r && at < o->ledger.event && out.n + LINE <= max) {
		struct ledger_event e;
		struct jw w;

		r = once_read_event(o, at + 1, &e);
		if (r)
			break;
		jw_init(&w, &out);
		jw_object(&w);
		once_put_members(&w, &e);
		jw_end(&w);
		buf_putc(&out, '\n');
		r = out.err;
		at++;
	}
	if (!r) {
		channel_send(
			&n->channel, CHANNEL_OUTPUT, n->at, at - n->at, buf_view(&out));
		n->at = at;
	}
	buf_free(&out);
	return r;
}

static int more(struct channel *c, size_t max)
{
	struct news *n = news_of(c);
	const struct once *o = once_of(n);
	uint64_t first = ledger_first_event(&o->ledger);

	if (n->at >= o->ledger.event || max < LINE)
		return 1;
	if (n->at + 1 < first) {
		channel_say_gap(c, n->at, first - 1);
		n->at = first - 1;
		return 0;
	}
	if (send_lines(n, max < STREAM_PIECE ? max : STREAM_PIECE) == 0)
		return 0;
	channel_close(c, -1, "The events cannot be read.");
	return -1;
}

static void input(struct channel *c, struct str bytes)
{
	(void)bytes;
	channel_close(c, -1, "Events take no input.");
}

static void free_now(struct later *later)
{
	free(container_of(later, struct news, later));
}

static void free_news(struct channel *c)
{
	struct news *n = news_of(c);

	once_unfollow(once_of(n), &n->follower);
	loop_free_later(stream_api(c->stream)->box->loop, &n->later, free_now);
}

const struct channel_kind channel_events = {
	.name = "events",
	.begin = begin,
	.more = more,
	.input = input,
	.free = free_news,
};
