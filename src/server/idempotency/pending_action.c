/* Pending actions: those that have not ended. */
#include "server/idempotency/idem_private.h"

#include "base/clock.h"
#include "base/log.h"
#include "limits.h"

#include <stdio.h>
#include <stdlib.h>

struct pending_action *pending_action_new(struct idem *o)
{
	struct pending_action *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	*d = (struct pending_action){.idem = o,
		.body = BUF_INIT(HTTP_BODY_MAX),
		.out = BUF_INIT(HTTP_REPLY_MAX)};
	arena_init(&d->arena, HTTP_ARENA_MAX);
	list_prepend(&o->pending, &d->node);
	return d;
}

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

static struct action_sink *pending_action_get_sink(const struct pending_action *d)
{
	return LIST_FIRST(&d->sinks, struct action_sink, node);
}

/* --- The end ------------------------------------------------------------------- */

static void pending_action_answer_sinks(struct pending_action *d)
{
	struct action_sink *s;

	while ((s = pending_action_get_sink(d))) {
		action_sink_detach(s);
		if (!d->entry)
			s->ops->done(s, 200);
		else if (idem_has_ended(d->entry))
			idem_answer_sink(d->idem, s);
		else
			s->ops->done(s, ERR_CLOSED);
	}
}

/* Records the answer, if the ledger has space. */
static void pending_action_record(
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
		log_warn("the answer of action %s cannot be stored: %s", d->entry->id,
			err_text(r));
	idem_compact(o);
	idem_wake(o);
}

/* The answer is recorded before any sink receives it. */
static void pending_action_finish(
	struct pending_action *d, enum ledger_state how, unsigned status)
{
	/* Code of the action may still run on the stack, so its memory is freed later. */
	timer_set(d->idem->box->loop, &d->end, 0, pending_action_on_free);
	if (d->entry)
		pending_action_record(d, how, status);
	pending_action_answer_sinks(d);
	if (d->entry)
		d->entry->owner = NULL;
}

void pending_action_end(struct pending_action *d, enum ledger_state how)
{
	buf_reset(&d->out);
	pending_action_finish(d, how, 0);
}

void idem_answer_all(struct idem *o)
{
	LIST_EACH (struct pending_action, d, &o->pending, node)
		if (d->entry)
			pending_action_answer_sinks(d);
	idem_end_readers(o);
}

/* --- Callbacks of the action --------------------------------------------------- */

static void pending_action_on_done(struct act *a)
{
	pending_action_finish(a->user, LEDGER_DONE, 200);
}

/* The peer of an action that is not recorded. */
static bool pending_action_is_disconnected(const struct act *a)
{
	const struct action_sink *s = pending_action_get_sink(a->user);

	return s && s->ops->is_closed(s);
}

/*
 * Whether all waiting peers seem to have left. False if no peer has waited for the
 * answer: the client can request the answer later.
 */
static bool pending_action_is_detached(const struct act *a)
{
	const struct pending_action *d = a->user;
	bool alone = d->has_peer;

	LIST_EACH (const struct action_sink, s, &d->sinks, node)
		alone = alone && s->ops->is_closed(s);
	return alone;
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

/* --- The start ----------------------------------------------------------------- */

static void pending_action_init_act(struct pending_action *d, struct arena *arena,
	struct buf *out, const struct act_call *call)
{
	d->act = (struct act){
		.box = d->idem->box,
		.arena = arena,
		.out = out,
		.name = call->name,
		.args = call->args,
		.timeout = call->timeout,
		.done = pending_action_on_done,
		.user = d,
	};
}

void pending_action_set_call(
	struct pending_action *d, const struct action_spec *spec, struct buf *out)
{
	pending_action_init_act(d, spec->arena, out, &spec->call);
	d->act.is_disconnected = pending_action_is_disconnected;
}

int pending_action_read(
	struct pending_action *d, struct str body, uint8_t kind, struct params *p)
{
	struct act_call call = {0};
	struct json_val event;
	int r;

	buf_str(&d->body, body);
	p->arena = &d->arena;
	r = d->body.err ? 503 : params_parse_body(p, buf_view(&d->body));
	if (r)
		return r;
	event = kind & IDEM_WRAPPED ? json_get(p->body, "action") : p->body;
	if (json_type(event) != JSON_OBJECT) {
		snprintf(p->error, sizeof(p->error), "%s", API_NO_ACTION);
		return 422;
	}
	d->read_error = act_read_call(event, &d->arena, &call, &d->why);
	pending_action_init_act(d, &d->arena, &d->out, &call);
	d->act.is_detached = pending_action_is_detached;
	d->act.before_effect = pending_action_on_start;
	d->act.printed = kind & IDEM_NO_ID ? NULL : pending_action_on_output;
	return 0;
}

void pending_action_bind(struct pending_action *d, struct ledger_entry *e)
{
	e->owner = d;
	d->entry = e;
	d->act.id = str_c(e->id);
}

int pending_action_start(struct pending_action *d)
{
	int r = act_start(&d->act);

	if (r == ACT_DONE)
		pending_action_finish(d, LEDGER_DONE, 200);
	return r == ACT_DONE || r == ACT_WAIT ? 0 : r;
}

void pending_action_start_recorded(struct pending_action *d)
{
	struct action_refusal why = {.status = 422};
	int r = d->read_error ? d->read_error : pending_action_start(d);

	if (!r)
		return;
	if (r == ERR_TYPE)
		snprintf(why.message, sizeof(why.message), "%s", d->why);
	else
		action_refusal_set_start(&why, r, &d->act);
	buf_reset(&d->out);
	action_refusal_write(&why, &d->out);
	pending_action_finish(d, LEDGER_DONE, why.status);
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
