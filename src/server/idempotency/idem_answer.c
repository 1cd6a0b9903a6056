/* The answers of actions that have ended, and the states of all. */
#include "server/idempotency/idem_private.h"

#include "action/observe.h"
#include "limits.h"

enum { IDEM_MESSAGE_MAX = 512 };

static const char *const words[LEDGER_STATES] = {
	[LEDGER_ACCEPTED] = "accepted",
	[LEDGER_STARTED] = "running",
	[LEDGER_DONE] = "done",
	[LEDGER_CANCELLED] = "cancelled",
	[LEDGER_INTERRUPTED] = "interrupted",
};

const char *idem_get_state_name(unsigned state)
{
	return state < LEDGER_STATES ? words[state] : "";
}

const char *idem_get_entry_state(const struct ledger_entry *e)
{
	return words[e->state];
}

static const char interrupted[] =
	"ERROR: The sandbox was restarted while this action was on its way. Whether it "
	"had an effect is not known; it is not done again under the same id.";
static const char cancelled[] =
	"ERROR: This action was cancelled before it was started; it had no effect.";
static const char stopped[] =
	"ERROR: This action was cancelled while it was on its way. Whether it had an "
	"effect is not known; it is not done again under the same id.";
static const char lost[] =
	"ERROR: This action has ended, but its answer could not be stored: no space "
	"was left.";

/* --- Answers ------------------------------------------------------------------ */

static void idem_answer_put_error(struct buf *out, const char *text)
{
	struct act a = {.out = out};

	observe_error(&a, str_c(text));
}

/*
 * The HTTP status of the answer, which waiting sinks get even if it cannot be recorded.
 */
static unsigned idem_answer_get_status(const struct ledger_entry *e)
{
	const struct pending_action *d = e->owner;

	return e->status || !d ? e->status : d->unrecorded_status;
}

/* The message of an action without an answer of its own; NULL: it has an answer. */
static const char *idem_answer_get_message(const struct ledger_entry *e)
{
	if (e->state == LEDGER_INTERRUPTED)
		return e->cancel ? stopped : interrupted;
	if (e->state == LEDGER_CANCELLED)
		return cancelled;
	return e->state == LEDGER_DONE && !e->status ? lost : NULL;
}

/* Returns 0, or the error of reading the answer. */
static int idem_answer_put(
	const struct idem *o, const struct ledger_entry *e, struct buf *out)
{
	const struct pending_action *d = e->owner;
	const char *told = idem_answer_get_message(e);

	if (d && d->unrecorded_status)
		buf_str(out, buf_view(&d->out));
	else if (told)
		idem_answer_put_error(out, told);
	else
		return ledger_read_answer(&o->ledger, e, out);
	return out->err;
}

int idem_read_answer(const struct idem *o, const struct ledger_entry *e, uint64_t at,
	size_t max, struct buf *out, uint64_t *all)
{
	struct buf whole = BUF_INIT(2 * IDEM_MESSAGE_MAX);
	const char *told = idem_answer_get_message(e);
	struct str part;
	int r;

	if (told) {
		idem_answer_put_error(&whole, told);
		*all = whole.n;
		part = str_skip(buf_view(&whole), (size_t)at);
		buf_put(out, part.p, part.n < max ? part.n : max);
		r = whole.err ? whole.err : out->err;
		buf_free(&whole);
		return r;
	}
	*all = e->n;
	if (max > e->n - at)
		max = (size_t)(e->n - at);
	return ledger_read_answer_part(&o->ledger, e, at, max, out);
}

bool idem_has_ended(const struct ledger_entry *e)
{
	return e->state >= LEDGER_DONE;
}

void idem_answer_sink(const struct idem *o, struct action_sink *s)
{
	const struct ledger_entry *e = s->entry;
	int status = (int)idem_answer_get_status(e), r = 0;

	if (s->out)
		r = idem_answer_put(o, e, s->out);
	s->ops->done(s, r < 0 ? r : status ? status : 200);
}

void idem_reply_state(const struct idem *o, struct request *rq,
	const struct ledger_entry *e, bool again)
{
	struct buf answer = BUF_INIT(HTTP_REPLY_MAX);
	struct jw w;

	jw_init(&w, request_out(rq));
	jw_object(&w);
	jw_key(&w, "id");
	jw_cstr(&w, e->id);
	jw_key(&w, "state");
	jw_cstr(&w, idem_get_entry_state(e));
	jw_key(&w, "replayed");
	jw_bool(&w, again);
	jw_key(&w, "acknowledged");
	jw_bool(&w, e->acked);
	if (e->cancel) {
		jw_key(&w, "cancel");
		jw_cstr(&w, idem_cancel_modes[e->cancel - 1]);
	}
	if (idem_has_ended(e) && idem_answer_put(o, e, &answer) == 0 && answer.n) {
		jw_key(&w, idem_answer_get_status(e) < 400 ? "observation" : "error");
		jw_raw(&w, buf_view(&answer));
	}
	jw_end(&w);
	buf_free(&answer);
	request_reply(rq, idem_has_ended(e) ? 200 : 202, API_JSON);
}
