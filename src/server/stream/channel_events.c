/* The channel of events: events of the sandbox from a number on, as they happen. */
#include "server/stream/stream_private.h"

#include "limits.h"
#include "server/idempotency/once_private.h"

enum { LINE = 256 /* bytes of an event, at most */ };

struct news {
	struct followed base;
	uint64_t at; /* number of the last event that was sent */
};

static struct news *news_of(struct channel *c)
{
	return container_of(c, struct news, base.channel);
}

static struct news *news_new(struct once *o, uint64_t at)
{
	struct followed *f = followed_new(o, sizeof(struct news));
	struct news *n = f ? container_of(f, struct news, base) : NULL;

	if (n)
		n->at = at;
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
	return &n->base.channel;
}

/* Sends as many events as fit into the frame, one per line. */
static int send_lines(struct news *n, size_t max)
{
	const struct once *o = followed_once(&n->base);
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
		channel_send(&n->base.channel, CHANNEL_OUTPUT, n->at, at - n->at,
			buf_view(&out));
		n->at = at;
	}
	buf_free(&out);
	return r;
}

static int more(struct channel *c, size_t max)
{
	struct news *n = news_of(c);
	const struct once *o = followed_once(&n->base);
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

const struct channel_kind channel_events = {
	.begin = begin,
	.more = more,
	.input = input,
	.free = followed_free,
};
