#include "server/idempotency/action_submit.h"

#include "base/clock.h"
#include "base/log.h"
#include "server/idempotency/idem_private.h"

#include <errno.h>
#include <stdio.h>

/* --- Refusals ------------------------------------------------------------------ */

static int action_refusal_set(
	struct action_refusal *why, unsigned status, const char *message)
{
	why->status = status;
	snprintf(why->message, sizeof(why->message), "%s", message);
	return ERR_REFUSED;
}

int action_refusal_set_error(struct action_refusal *why, int r)
{
	if (r == ERR_LIMIT)
		return action_refusal_set(why, 429,
			"Too many actions are running or waiting. Try again when one "
			"has ended.");
	if (r == -ENOMEM)
		return action_refusal_set(why, 503, "Out of memory.");
	return action_refusal_set(why, 507,
		"The action cannot be recorded and was not started: the disk "
		"of the ledger is full.");
}

int action_refusal_set_start(struct action_refusal *why, int r, const struct act *act)
{
	return r == ACT_FAIL ? action_refusal_set(why, 500, act->why)
			     : action_refusal_set(why, 503, "Out of memory.");
}

void action_refusal_write(const struct action_refusal *why, struct buf *out)
{
	struct buf text = BUF_INIT(sizeof(why->message) + 32);

	if (why->status == 500)
		buf_puts(&text, "Internal server error: ");
	buf_puts(&text, why->status == 503 ? API_NO_MEMORY : why->message);
	if (why->status == 400 || why->status == 422)
		api_write_errors(out, why->message);
	else
		api_write_detail(out, buf_view(&text));
	buf_free(&text);
}

/* --- Sinks --------------------------------------------------------------------- */

static void action_sink_link(struct action_sink *s, struct pending_action *d)
{
	s->action = d;
	s->entry = d->entry;
	list_prepend(&d->sinks, &s->node);
	d->has_peer |= s->is_peer;
	timer_cancel(d->idem->box->loop, &d->cancel_timer);
	if (s->ops->wait)
		s->ops->wait(s);
}

void action_sink_wait(struct action_sink *s, struct ledger_entry *e)
{
	action_sink_link(s, e->owner);
}

void action_sink_detach(struct action_sink *s)
{
	list_remove(&s->node);
	s->action = NULL;
}

/* The only sink of an action that is not recorded leaves. */
static void action_sink_end_act(struct pending_action *d, void (*end)(struct act *a))
{
	end(&d->act);
	pending_action_free(d);
}

void action_sink_leave(struct action_sink *s)
{
	struct pending_action *d = s->action;

	if (!d)
		return;
	action_sink_detach(s);
	if (!d->entry)
		action_sink_end_act(d, act_abandon);
	else if (d->cancel_unattended && list_is_empty(&d->sinks))
		idem_schedule_cancel(d);
}

void action_sink_cancel(struct action_sink *s)
{
	struct pending_action *d = s->action;

	if (!d)
		return;
	action_sink_detach(s);
	if (!d->entry)
		action_sink_end_act(d, act_cancel);
	else if (idem_cancel_action(d->idem, d->entry, ACT_STOP_INT) < 0)
		log_warn("the end of action %s cannot be recorded", d->entry->id);
}

/* --- Submission ---------------------------------------------------------------- */

/* Begins an action that is not recorded. */
static int action_submit_begin(struct api *api, const struct action_spec *spec,
	struct action_sink *s, struct action_refusal *why)
{
	struct pending_action *d = pending_action_new(api->idem);
	int r = -ENOMEM;

	s->entry = NULL;
	s->replayed = false;
	if (d) {
		pending_action_set_call(d, spec, s->out);
		action_sink_link(s, d);
		api->last_action = clock_ms();
		r = pending_action_start(d);
	}
	if (!r)
		return 0;
	action_refusal_set_start(why, r, d ? &d->act : NULL);
	if (d) {
		action_sink_detach(s);
		pending_action_free(d);
	}
	return ERR_REFUSED;
}

/* Whether a recorded action has not begun, and no pending action belongs to it. */
static bool action_submit_is_waiting(const struct ledger_entry *e)
{
	return e->state == LEDGER_ACCEPTED && !e->owner;
}

/*
 * Finds the action by its id. Returns 0 with *e, NULL if the action is new; ERR_REFUSED
 * with *why; or the error of recording.
 */
static int action_submit_find(struct idem *o, const struct action_spec *spec,
	const uint8_t digest[SHA256_LEN], struct ledger_entry **e,
	struct action_refusal *why)
{
	int r;

	if (!ledger_is_id(spec->id))
		return action_refusal_set(
			why, 422, "an id is 1 to 64 letters, digits, - or _");
	r = idem_prepare(o);
	if (r)
		return r;
	switch (ledger_find(&o->ledger, spec->id, e)) {
	case LEDGER_EVICTED:
		return action_refusal_set(why, 410, IDEM_EVICTED);
	case LEDGER_ABSENT:
		*e = NULL;
		if (spec->only_known)
			return action_refusal_set(why, 404, IDEM_UNKNOWN);
		break;
	case LEDGER_PRESENT:
		if (!spec->find && !hash_equal((*e)->body, digest, SHA256_LEN))
			return action_refusal_set(why, 409,
				"This id was already used for another action. "
				"Use a new id.");
		break;
	}
	return 0;
}

/* The action has begun before, or has ended. */
static void action_submit_join(
	struct idem *o, struct ledger_entry *e, struct action_sink *s)
{
	s->entry = e;
	s->replayed = true;
	if (s->ops && idem_has_ended(e)) {
		idem_answer_sink(o, s);
	} else if (s->ops) {
		s->replayed = false;
		action_sink_wait(s, e);
	}
}

/*
 * Records the action: as queued if it cannot start at once, otherwise as begun. *e is its
 * entry if it was accepted before; NULL: the action is new.
 */
static int action_submit_record(struct pending_action *d, const struct action_spec *spec,
	const uint8_t digest[SHA256_LEN], uint8_t kind, struct ledger_entry **e)
{
	struct ledger *l = &d->idem->ledger;
	bool late = !d->read_error && act_is_late(&d->act);

	if (*e)
		return late ? 0 : ledger_start(l, *e);
	if (late)
		return ledger_queue(l, spec->id, digest, kind, spec->body, e);
	return ledger_begin(l, spec->id, digest, e);
}

/*
 * Records an action, new or accepted before, and does not begin it. Results as of
 * action_submit_find.
 */
static int action_submit_admit(struct idem *o, const struct action_spec *spec,
	const uint8_t digest[SHA256_LEN], struct ledger_entry *e,
	struct pending_action **out, struct action_refusal *why)
{
	uint8_t kind = (spec->wrapped ? IDEM_WRAPPED : 0) |
		(spec->id_kind == ACTION_EVENT_ID ? IDEM_NO_ID : 0) |
		(spec->cancel_unattended ? IDEM_CANCEL_UNATTENDED : 0);
	struct pending_action *d = pending_action_new(o);
	struct params p = {0};
	int r;

	if (!d)
		return -ENOMEM;
	r = pending_action_read(d, spec->body, kind, &p);
	if (r)
		r = action_refusal_set(why, (unsigned)r, p.error);
	else
		r = action_submit_record(d, spec, digest, kind, &e);
	if (r) {
		pending_action_free(d);
		return r;
	}
	pending_action_bind(d, e);
	d->cancel_unattended = spec->cancel_unattended;
	d->grace_ms = spec->grace_ms;
	idem_wake(o);
	*out = d;
	return 0;
}

/* Results as of action_submit_find. */
static int action_submit_recorded(struct api *api, const struct action_spec *spec,
	struct action_sink *s, struct action_refusal *why)
{
	uint8_t digest[SHA256_LEN];
	struct pending_action *d;
	struct ledger_entry *e;
	int r;

	sha256_compute(spec->body, digest);
	r = action_submit_find(api->idem, spec, digest, &e, why);
	if (r)
		return r;
	if (e && (spec->find || !action_submit_is_waiting(e))) {
		action_submit_join(api->idem, e, s);
		return 0;
	}
	r = action_submit_admit(api->idem, spec, digest, e, &d, why);
	if (r)
		return r;
	api->last_action = clock_ms();
	s->entry = d->entry;
	s->replayed = false;
	if (s->ops)
		action_sink_link(s, d);
	pending_action_start_recorded(d);
	return 0;
}

int action_submit(struct api *api, const struct action_spec *spec, struct action_sink *s,
	struct action_refusal *why)
{
	int r = 0;

	if (spec->id_kind != ACTION_NO_ID)
		r = action_submit_recorded(api, spec, s, why);
	if (r == 0 && spec->id_kind != ACTION_NO_ID)
		return 0;
	if (r == ERR_REFUSED)
		return r;
	if (spec->id_kind != ACTION_CALLER_ID && spec->arena)
		return action_submit_begin(api, spec, s, why);
	return action_refusal_set_error(why, r);
}
