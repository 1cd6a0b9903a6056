/* Pending actions, the requests that wait for them, and the replies. */
#include "server/idempotency/idem_private.h"

#include "action/observe.h"
#include "base/clock.h"
#include "base/log.h"
#include "limits.h"

#include <stdio.h>
#include <stdlib.h>

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
static const char lost[] = "ERROR: This action is done, but its answer could not be "
			   "kept: there was no room.";

/* --- Answers ------------------------------------------------------------------ */

static void pending_action_put_error(struct buf *out, const char *text)
{
	struct act a = {.out = out};

	observe_error(&a, str_c(text));
}

/*
 * The HTTP status of the answer, which waiting requests get even if it cannot be
 * recorded.
 */
static unsigned pending_action_get_status(const struct ledger_entry *e)
{
	const struct pending_action *d = e->owner;

	return e->status || !d ? e->status : d->unrecorded_status;
}

/* The message of an action without an answer of its own; NULL: it has an answer. */
static const char *pending_action_get_message(const struct ledger_entry *e)
{
	if (e->state == LEDGER_INTERRUPTED)
		return e->cancel ? stopped : interrupted;
	if (e->state == LEDGER_CANCELLED)
		return cancelled;
	return e->state == LEDGER_DONE && !e->status ? lost : NULL;
}

/* Returns 0, or the error of reading the answer. */
static int pending_action_put_answer(
	const struct idem *o, const struct ledger_entry *e, struct buf *out)
{
	const struct pending_action *d = e->owner;
	const char *told = pending_action_get_message(e);

	if (d && d->unrecorded_status)
		buf_str(out, buf_view(&d->out));
	else if (told)
		pending_action_put_error(out, told);
	else
		return ledger_read_answer(&o->ledger, e, out);
	return out->err;
}

int idem_read_answer(const struct idem *o, const struct ledger_entry *e, uint64_t at,
	size_t max, struct buf *out, uint64_t *all)
{
	struct buf whole = BUF_INIT(2 * IDEM_MESSAGE_MAX);
	const char *told = pending_action_get_message(e);
	struct str part;
	int r;

	if (told) {
		pending_action_put_error(&whole, told);
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

/* Replies with the first answer of the action. */
void idem_reply(const struct idem *o, struct request *rq, const struct ledger_entry *e,
	bool again)
{
	if (again)
		request_add_field(rq, STR("idempotent-replayed"), STR("true"));
	if (pending_action_put_answer(o, e, request_out(rq)) < 0)
		request_fail(rq, 500, STR("The answer to this action cannot be read."));
	else
		request_reply(rq,
			pending_action_get_status(e) ? pending_action_get_status(e) : 200,
			API_JSON);
}

/* Replies with the state of the action. */
void idem_reply_state(const struct idem *o, struct request *rq,
	const struct ledger_entry *e, unsigned status, bool again)
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
	if (idem_has_ended(e) && pending_action_put_answer(o, e, &answer) == 0 &&
		answer.n) {
		jw_key(&w, pending_action_get_status(e) < 400 ? "observation" : "error");
		jw_raw(&w, buf_view(&answer));
	}
	jw_end(&w);
	buf_free(&answer);
	request_reply(rq, status, API_JSON);
}

/* --- Waiting requests --------------------------------------------------------- */

static void pending_action_drop_waiter(struct idem_waiter *a)
{
	list_remove(&a->node);
	timer_cancel(a->action->idem->box->loop, &a->timeout);
	a->rq->user = NULL;
}

static void idem_answer_waiter(struct idem_waiter *a)
{
	const struct idem *o = a->action->idem;
	const struct ledger_entry *e = a->action->entry;
	struct request *rq = a->rq;
	bool plain = a->plain;

	pending_action_drop_waiter(a);
	if (!plain)
		idem_reply_state(o, rq, e, idem_has_ended(e) ? 200 : 202, false);
	else if (idem_has_ended(e))
		idem_reply(o, rq, e, false);
	else
		request_fail(rq, 503, STR("The sandbox stops before this action ends."));
}

void pending_action_answer_waiters(struct pending_action *d)
{
	struct idem_waiter *a;

	while ((a = LIST_FIRST(&d->waiters, struct idem_waiter, node)))
		idem_answer_waiter(a);
}

static void pending_action_on_timeout(struct timer *t)
{
	idem_answer_waiter(container_of(t, struct idem_waiter, timeout));
}

/* The action continues, unless it is to end with the requests that wait for it. */
static void pending_action_on_close(struct request *rq)
{
	struct idem_waiter *a = rq->user;
	struct pending_action *d = a->action;

	pending_action_drop_waiter(a);
	if (d->cancel_unattended && list_is_empty(&d->waiters))
		idem_schedule_cancel(d);
}

/* ms 0: without a limit. */
void idem_wait(struct pending_action *d, struct request *rq, bool plain, uint64_t ms)
{
	static const struct request_ops ops = {.on_close = pending_action_on_close};
	struct idem_waiter *a = arena_alloc(&rq->arena, sizeof(*a));

	if (!a) {
		api_reply_nomem(rq);
		return;
	}
	*a = (struct idem_waiter){.rq = rq, .action = d, .plain = plain};
	list_prepend(&d->waiters, &a->node);
	d->attended |= plain;
	/*
	 * If the action ends with its waiters, a peer that has closed its side counts as
	 * gone.
	 */
	rq->needs_peer = d->cancel_unattended;
	timer_cancel(d->idem->box->loop, &d->cancel_timer);
	rq->ops = &ops;
	rq->user = a;
	if (ms)
		timer_set(d->idem->box->loop, &a->timeout, ms, pending_action_on_timeout);
}

/* --- Pending actions ----------------------------------------------------------- */

void pending_action_free(struct pending_action *d)
{
	list_remove(&d->node);
	timer_cancel(d->idem->box->loop, &d->end);
	timer_cancel(d->idem->box->loop, &d->escalate_timer);
	timer_cancel(d->idem->box->loop, &d->cancel_timer);
	arena_reset(&d->arena);
	buf_free(&d->body);
	buf_free(&d->out);
	free(d);
}

static void pending_action_on_free(struct timer *t)
{
	pending_action_free(container_of(t, struct pending_action, end));
}

/* Records the answer, if the ledger has space, before any request is answered. */
static void pending_action_finish(
	struct pending_action *d, enum ledger_state how, unsigned status)
{
	struct idem *o = d->idem;
	struct str answer = buf_view(&d->out);
	int r;

	if (d->out.err) {
		answer.n = 0;
		status = 0;
	}
	timer_cancel(o->box->loop, &d->escalate_timer);
	timer_cancel(o->box->loop, &d->cancel_timer);
	r = ledger_end(&o->ledger, d->entry, how, status, answer);
	d->unrecorded_status = r < 0 && answer.n ? status : 0;
	if (r < 0)
		log_warn("the answer to action %s cannot be kept: %s", d->entry->id,
			err_text(r));
	idem_compact(o);
	idem_wake(o);
	pending_action_answer_waiters(d);
	d->entry->owner = NULL;
	/* Code of the action may still run on the stack, so its memory is freed later. */
	timer_set(o->box->loop, &d->end, 0, pending_action_on_free);
}

void pending_action_end(struct pending_action *d, enum ledger_state how)
{
	buf_reset(&d->out);
	pending_action_finish(d, how, 0);
}

/*
 * Whether all waiting requests seem closed. False if no request has waited for the
 * answer: the client can request the answer later.
 */
static bool pending_action_has_no_peer(const struct act *act)
{
	const struct pending_action *d = act->user;
	bool alone = d->attended;

	LIST_EACH (const struct idem_waiter, a, &d->waiters, node)
		alone = alone && request_is_half_closed(a->rq);
	return alone;
}

static void pending_action_on_done(struct act *a)
{
	pending_action_finish(a->user, LEDGER_DONE, 200);
}

/* Answers with the texts that api.c uses for an action without an id. */
static void pending_action_refuse(struct pending_action *d, int r, const char *why)
{
	struct buf said = BUF_INIT(IDEM_MESSAGE_MAX);
	struct jw w;

	if (r == ACT_FAIL)
		buf_fmt(&said, "Internal server error: %s", d->act.why);
	else
		buf_puts(&said,
			r == ERR_TYPE ? "Invalid request parameters"
				      : "The sandbox is out of memory for this request.");
	buf_reset(&d->out);
	jw_init(&w, &d->out);
	jw_object(&w);
	jw_key(&w, "detail");
	jw_str(&w, buf_view(&said));
	if (r == ERR_TYPE) {
		jw_key(&w, "errors");
		jw_cstr(&w, why);
	}
	jw_end(&w);
	buf_free(&said);
	pending_action_finish(d, LEDGER_DONE,
		r == ACT_FAIL           ? 500
			: r == ERR_TYPE ? 422
					: 503);
}

/* The start is recorded before the action has an effect. */
static int pending_action_on_start(struct act *a)
{
	struct pending_action *d = a->user;

	idem_wake(d->idem);
	return ledger_start(&d->idem->ledger, d->entry);
}

static void pending_action_on_output(struct act *a, struct str bytes, uint64_t source)
{
	struct pending_action *d = a->user;

	ledger_append_output(&d->idem->ledger, d->entry, bytes, source);
	idem_wake(d->idem);
}

int pending_action_read(struct pending_action *d, uint8_t how, struct params *p)
{
	struct json_val event;
	int r = d->body.err ? 503 : params_parse_body(p, buf_view(&d->body));

	if (r)
		return r;
	event = how & IDEM_WRAPPED ? json_get(p->body, "action") : p->body;
	if (json_type(event) != JSON_OBJECT) {
		snprintf(p->error, sizeof(p->error),
			"body: an object under \"action\" is required");
		return 422;
	}
	d->why = "";
	d->act = (struct act){
		.box = d->idem->box,
		.arena = &d->arena,
		.out = &d->out,
		.event = event,
		.done = pending_action_on_done,
		.is_detached = pending_action_has_no_peer,
		.before_effect = pending_action_on_start,
		.printed = how & IDEM_NO_ID ? NULL : pending_action_on_output,
		.user = d,
	};
	d->read_error = act_read(&d->act, &d->why);
	return 0;
}

void pending_action_bind(struct pending_action *d, struct ledger_entry *e)
{
	e->owner = d;
	d->entry = e;
	d->act.id = str_c(e->id);
}

void pending_action_start(struct pending_action *d)
{
	int r = d->read_error ? d->read_error : act_start_read(&d->act);

	if (r == ACT_DONE)
		pending_action_finish(d, LEDGER_DONE, 200);
	else if (r != ACT_WAIT)
		pending_action_refuse(d, r, d->why);
}

int pending_action_resume(struct pending_action *d)
{
	uint64_t now = clock_ms();

	d->act.elapsed_ms = now > d->entry->begun ? now - d->entry->begun : 0;
	d->act.printed_before = d->entry->output;
	if (d->entry->output)
		d->act.source = d->entry->output->source;
	return !d->read_error && act_resume(&d->act) == ACT_WAIT ? 0 : ERR_CLOSED;
}

struct pending_action *pending_action_new(struct idem *o, struct str body)
{
	struct pending_action *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	*d = (struct pending_action){.idem = o,
		.body = BUF_INIT(HTTP_BODY_MAX),
		.out = BUF_INIT(HTTP_REPLY_MAX)};
	arena_init(&d->arena, HTTP_ARENA_MAX);
	list_prepend(&o->pending, &d->node);
	buf_str(&d->body, body);
	return d;
}
