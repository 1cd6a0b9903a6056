/* The channel of events: events of the sandbox from a number on, as they happen. */
#include "server/stream/ledger_channel.h"

#include "limits.h"
#include "server/idempotency/idem_private.h"

enum { LINE = 256 /* bytes of an event, at most */ };

struct events_channel {
	struct ledger_channel base;
	uint64_t at; /* number of the last event that was sent */
};

static struct events_channel *channel_events_cast(struct channel *c)
{
	return container_of(c, struct events_channel, base.channel);
}

static struct events_channel *channel_events_new(struct idem *o, uint64_t at)
{
	struct ledger_channel *f = ledger_channel_new(o, sizeof(struct events_channel));
	struct events_channel *n =
		f ? container_of(f, struct events_channel, base) : NULL;

	if (n)
		n->at = at;
	return n;
}

static struct channel *channel_events_begin(struct stream *s,
	const struct stream_request *ask, struct jw *w, struct channel_refusal *why)
{
	struct idem *o = stream_get_api(s)->idem;
	struct events_channel *n = NULL;

	if (idem_prepare(o))
		*why = (struct channel_refusal){
			507, "Events are not recorded in this sandbox.", ""};
	else if (ask->offset != UINT64_MAX && ask->offset > o->ledger.event)
		*why = (struct channel_refusal){416,
			"The number is higher than that of the last event of this "
			"sandbox.",
			""};
	else
		n = channel_events_new(
			o, ask->offset == UINT64_MAX ? o->ledger.event : ask->offset);
	if (!n) {
		if (!why->message)
			*why = (struct channel_refusal){503, "Out of memory.", ""};
		return NULL;
	}
	jw_key(w, "offset");
	jw_uint(w, n->at);
	return &n->base.channel;
}

/* Sends as many events as fit into the frame, one per line. */
static int channel_events_send_lines(struct events_channel *n, size_t max)
{
	const struct idem *o = ledger_channel_get_idem(&n->base);
	struct buf out = BUF_INIT(STREAM_PIECE);
	uint64_t at = n->at;
	int r = 0;

	while (!r && at < o->ledger.event && out.n + LINE <= max) {
		struct ledger_event e;
		struct jw w;

		r = idem_read_event(o, at + 1, &e);
		if (r)
			break;
		jw_init(&w, &out);
		jw_object(&w);
		idem_put_event(&w, &e);
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

static int channel_events_send_next(struct channel *c, size_t max)
{
	struct events_channel *n = channel_events_cast(c);
	const struct idem *o = ledger_channel_get_idem(&n->base);
	uint64_t first = ledger_first_event(&o->ledger);

	if (n->at >= o->ledger.event || max < LINE)
		return 1;
	if (n->at + 1 < first) {
		channel_send_gap(c, n->at, first - 1);
		n->at = first - 1;
		return 0;
	}
	if (channel_events_send_lines(n, max < STREAM_PIECE ? max : STREAM_PIECE) == 0)
		return 0;
	channel_close(c, -1, "The events cannot be read.");
	return -1;
}

static void channel_events_input(struct channel *c, struct str bytes)
{
	(void)bytes;
	channel_close(c, -1, "A channel of events accepts no input.");
}

const struct channel_kind channel_events = {
	.begin = channel_events_begin,
	.more = channel_events_send_next,
	.input = channel_events_input,
	.free = ledger_channel_free,
};
