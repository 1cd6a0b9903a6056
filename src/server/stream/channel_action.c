/*
 * The channel of an action with an id. It submits the action, or finds it, and carries
 * its output by offset and then its answer. The action continues when the channel ends.
 */
#include "server/stream/ledger_channel.h"

#include "limits.h"
#include "server/idempotency/idem_private.h"

#include <stdio.h>

enum action_channel_state {
	ACTION_CHANNEL_OUTPUT,
	ACTION_CHANNEL_ANSWER, /* all output was sent; the final state is sent */
};

struct action_channel {
	struct ledger_channel base;
	enum action_channel_state state;
	char id[LEDGER_ID_MAX + 1];
	enum ledger_state sent_state;
	uint64_t at; /* offset in the output, then in the answer */
};

static struct action_channel *channel_action_cast(struct channel *c)
{
	return container_of(c, struct action_channel, base.channel);
}

static struct action_channel *channel_action_new(
	struct idem *o, const struct ledger_entry *e)
{
	struct ledger_channel *made =
		ledger_channel_new(o, sizeof(struct action_channel));
	struct action_channel *f =
		made ? container_of(made, struct action_channel, base) : NULL;

	if (!f)
		return NULL;
	memcpy(f->id, e->id, sizeof(f->id));
	f->sent_state = e->state;
	return f;
}

/* NULL: the action is not recorded any more. */
static struct ledger_entry *channel_action_find_entry(const struct action_channel *f)
{
	const struct idem *o = ledger_channel_get_idem(&f->base);
	struct ledger_entry *e;

	return ledger_find(&o->ledger, str_c(f->id), &e) == LEDGER_PRESENT ? e : NULL;
}

static struct channel *channel_action_refuse(
	struct channel_refusal *why, unsigned status, const char *words)
{
	why->status = status;
	snprintf(why->text, sizeof(why->text), "%.*s", (int)sizeof(why->text) - 1, words);
	why->message = why->text;
	return NULL;
}

static struct channel *channel_action_begin(struct stream *s,
	const struct stream_request *ask, struct jw *w, struct channel_refusal *why)
{
	uint64_t from = ask->offset == UINT64_MAX ? 0 : ask->offset;
	struct idem *o = stream_get_api(s)->idem;
	const struct action_spec spec = {
		.id_kind = ACTION_CALLER_ID,
		.id = ask->action_id,
		.body = ask->action,
		/* If output was received before, the action is not begun again. */
		.only_known = from > 0 || !ask->action.n,
		.find = !ask->action.n,
	};
	/* The channel reads the ledger at the speed of the peer, so no sink waits. */
	struct action_sink sink = {0};
	struct action_refusal refused;
	struct ledger_entry *e;
	struct action_channel *f;

	if (action_submit(stream_get_api(s), &spec, &sink, &refused))
		return channel_action_refuse(why, refused.status, refused.message);
	e = sink.entry;
	if (from > idem_output_end(e))
		return channel_action_refuse(
			why, 416, "The offset is beyond the end of the output.");
	f = channel_action_new(o, e);
	if (!f)
		return channel_action_refuse(why, 503, "Out of memory.");
	f->at = from;
	jw_key(w, "state");
	jw_cstr(w, idem_get_entry_state(e));
	jw_key(w, "replayed");
	jw_bool(w, sink.replayed);
	return &f->base.channel;
}

/* --- Frames about the action ----------------------------------------------------- */

static void channel_action_send_state(
	struct action_channel *f, const struct ledger_entry *e)
{
	struct jw w;

	f->sent_state = e->state;
	channel_begin_text(&f->base.channel, &w, "state");
	jw_key(&w, "state");
	jw_cstr(&w, idem_get_entry_state(e));
	channel_end_text(&f->base.channel, &w);
}

static void channel_action_send_ended(
	struct action_channel *f, const struct ledger_entry *e, uint64_t answer)
{
	struct jw w;

	channel_begin_text(&f->base.channel, &w, "ended");
	idem_put_end(&w, e);
	jw_key(&w, "status");
	jw_uint(&w, e->status ? e->status : 200);
	jw_key(&w, "answer");
	jw_uint(&w, answer);
	channel_end_text(&f->base.channel, &w);
}

static int channel_action_send_output(
	struct action_channel *f, const struct ledger_entry *e, size_t max)
{
	struct buf bytes = BUF_INIT(STREAM_PIECE);
	struct output_part part;
	struct channel *c = &f->base.channel;
	int r = idem_read_output(
		ledger_channel_get_idem(&f->base), e, f->at, max, &bytes, &part);

	if (r < 0) {
		channel_close(c, -1, "The output of the action cannot be read.");
	} else {
		if (part.from > f->at)
			channel_send_gap(c, f->at, part.from);
		f->at = part.next;
		if (bytes.n)
			channel_send(
				c, CHANNEL_OUTPUT, part.from, bytes.n, buf_view(&bytes));
	}
	buf_free(&bytes);
	return r < 0 ? -1 : 0;
}

/*
 * Sends a part of the answer. "ended" goes before its first bytes; the channel ends after
 * its last.
 */
static int channel_action_send_answer(
	struct action_channel *f, const struct ledger_entry *e, size_t max)
{
	struct buf bytes = BUF_INIT(STREAM_PIECE);
	uint64_t all;
	int r = idem_read_answer(
		ledger_channel_get_idem(&f->base), e, f->at, max, &bytes, &all);

	if (r < 0) {
		channel_close(
			&f->base.channel, -1, "The answer of the action cannot be read.");
		buf_free(&bytes);
		return -1;
	}
	if (!f->at)
		channel_action_send_ended(f, e, all);
	if (bytes.n)
		channel_send(&f->base.channel, CHANNEL_ANSWER, f->at, bytes.n,
			buf_view(&bytes));
	f->at += bytes.n;
	buf_free(&bytes);
	if (f->at < all)
		return 0;
	channel_close(&f->base.channel, -1, NULL);
	return -1;
}

static int channel_action_send_next(struct channel *c, size_t max)
{
	struct action_channel *f = channel_action_cast(c);
	const struct ledger_entry *e = channel_action_find_entry(f);

	if (max > STREAM_PIECE)
		max = STREAM_PIECE;
	if (!e) {
		channel_close(c, -1, "The action is no longer stored.");
		return -1;
	}
	if (f->state == ACTION_CHANNEL_ANSWER)
		return channel_action_send_answer(f, e, max);
	if (e->state != f->sent_state && !idem_has_ended(e))
		channel_action_send_state(f, e);
	if (f->at < idem_output_end(e))
		return channel_action_send_output(f, e, max);
	if (!idem_has_ended(e))
		return 1;
	f->state = ACTION_CHANNEL_ANSWER;
	f->at = 0;
	return 0;
}

/* --- Requests of the peer -------------------------------------------------------- */

static void channel_action_input(struct channel *c, struct str bytes)
{
	(void)bytes;
	channel_close(c, -1, "A channel of an action accepts no input.");
}

static void channel_action_cancel(struct channel *c, unsigned mode)
{
	struct action_channel *f = channel_action_cast(c);
	struct ledger_entry *e = channel_action_find_entry(f);

	if (e &&
		idem_cancel_action(
			ledger_channel_get_idem(&f->base), e, mode + ACT_STOP_INT) < 0)
		channel_send_error(c, "The end of the action cannot be recorded.");
}

const struct channel_kind channel_action = {
	.begin = channel_action_begin,
	.more = channel_action_send_next,
	.input = channel_action_input,
	.cancel = channel_action_cancel,
	.free = ledger_channel_free,
};
