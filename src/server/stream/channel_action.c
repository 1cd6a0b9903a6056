/*
 * The channel of an action with an id. It submits the action, or finds it, and carries
 * its output by offset and then its answer. The action continues when the channel ends.
 */
#include "server/stream/stream_private.h"

#include "base/clock.h"
#include "limits.h"
#include "server/idempotency/once_private.h"

#include <stdio.h>

enum follow_state {
	FOLLOW_OUTPUT,
	FOLLOW_ANSWER, /* all output was sent; the final state is sent */
};

struct follow {
	struct followed base;
	enum follow_state state;
	char id[LEDGER_ID_MAX + 1];
	enum ledger_state told;
	uint64_t at; /* offset in the output, then in the answer */
};

static struct follow *follow_of(struct channel *c)
{
	return container_of(c, struct follow, base.channel);
}

static struct follow *follow_new(struct once *o, const struct ledger_entry *e)
{
	struct followed *made = followed_new(o, sizeof(struct follow));
	struct follow *f = made ? container_of(made, struct follow, base) : NULL;

	if (!f)
		return NULL;
	memcpy(f->id, e->id, sizeof(f->id));
	f->told = e->state;
	return f;
}

/* NULL: the action is not recorded any more. */
static struct ledger_entry *entry_of(const struct follow *f)
{
	const struct once *o = followed_once(&f->base);
	struct ledger_entry *e;

	return ledger_find(&o->ledger, str_c(f->id), &e) == LEDGER_HERE ? e : NULL;
}

static struct channel *no(struct channel_refusal *why, unsigned status, const char *words)
{
	why->status = status;
	snprintf(why->text, sizeof(why->text), "%s", words);
	why->words = why->text;
	return NULL;
}

static struct channel *begin(struct stream *s, const struct stream_ask *ask, struct jw *w,
	struct channel_refusal *why)
{
	uint64_t from = ask->offset == UINT64_MAX ? 0 : ask->offset;
	struct once *o = stream_api(s)->once;
	struct once_refusal refused;
	struct ledger_entry *e;
	struct follow *f;
	bool known;

	if (once_submit(o, ask->action_id, ask->action, from > 0, &e, &known, &refused))
		return no(why, refused.status, refused.words);
	if (!known)
		stream_api(s)->last_action = clock_ms();
	if (from > once_output_end(e))
		return no(why, 416, "The action has not printed so much.");
	f = follow_new(o, e);
	if (!f)
		return no(why, 503, "Out of memory.");
	f->at = from;
	jw_key(w, "state");
	jw_cstr(w, once_word(e));
	jw_key(w, "replayed");
	jw_bool(w, known);
	return &f->base.channel;
}

/* --- Frames about the action ----------------------------------------------------- */

static void say_state(struct follow *f, const struct ledger_entry *e)
{
	struct jw w;

	f->told = e->state;
	channel_say(&f->base.channel, &w, "state");
	jw_key(&w, "state");
	jw_cstr(&w, once_word(e));
	channel_said(&f->base.channel, &w);
}

static void say_ended(struct follow *f, const struct ledger_entry *e, uint64_t answer)
{
	struct jw w;

	channel_say(&f->base.channel, &w, "ended");
	once_put_end(&w, e);
	jw_key(&w, "status");
	jw_uint(&w, e->status ? e->status : 200);
	jw_key(&w, "answer");
	jw_uint(&w, answer);
	channel_said(&f->base.channel, &w);
}

static int send_output(struct follow *f, const struct ledger_entry *e, size_t max)
{
	struct buf bytes = BUF_INIT(STREAM_PIECE);
	struct output_part part;
	struct channel *c = &f->base.channel;
	int r = once_read_output(followed_once(&f->base), e, f->at, max, &bytes, &part);

	if (r < 0) {
		channel_close(c, -1, "What the action printed cannot be read.");
	} else {
		if (part.from > f->at)
			channel_say_gap(c, f->at, part.from);
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
static int send_answer(struct follow *f, const struct ledger_entry *e, size_t max)
{
	struct buf bytes = BUF_INIT(STREAM_PIECE);
	uint64_t all;
	int r = once_read_answer(followed_once(&f->base), e, f->at, max, &bytes, &all);

	if (r < 0) {
		channel_close(&f->base.channel, -1,
			"The answer to this action cannot be read.");
		buf_free(&bytes);
		return -1;
	}
	if (!f->at)
		say_ended(f, e, all);
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

static int more(struct channel *c, size_t max)
{
	struct follow *f = follow_of(c);
	const struct ledger_entry *e = entry_of(f);

	if (max > STREAM_PIECE)
		max = STREAM_PIECE;
	if (!e) {
		channel_close(c, -1, "The action is not kept any more.");
		return -1;
	}
	if (f->state == FOLLOW_ANSWER)
		return send_answer(f, e, max);
	if (e->state != f->told && !once_has_ended(e))
		say_state(f, e);
	if (f->at < once_output_end(e))
		return send_output(f, e, max);
	if (!once_has_ended(e))
		return 1;
	f->state = FOLLOW_ANSWER;
	f->at = 0;
	return 0;
}

/* --- Requests of the peer -------------------------------------------------------- */

static void input(struct channel *c, struct str bytes)
{
	(void)bytes;
	channel_close(c, -1, "An action takes no input.");
}

static void cancel(struct channel *c, unsigned mode)
{
	struct follow *f = follow_of(c);
	struct ledger_entry *e = entry_of(f);

	if (e && once_tell_to_end(followed_once(&f->base), e, mode + ACT_STOP_INT) < 0)
		channel_complain(c, "The end of the action cannot be recorded.");
}

const struct channel_kind channel_action = {
	.begin = begin,
	.more = more,
	.input = input,
	.cancel = cancel,
	.free = followed_free,
};
