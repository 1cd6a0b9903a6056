/* Cancellation of actions: a queued action never starts, a running one gets a signal. */
#include "server/idempotency/idem_private.h"

#include "base/log.h"
#include "limits.h"

#include <stddef.h>

_Static_assert((int)ACT_STOP_KILL == (int)LEDGER_CANCEL_MAX, "all are known there");

const char *const idem_cancel_modes[] = {
	[ACT_STOP_INT - 1] = "int",
	[ACT_STOP_TERM - 1] = "term",
	[ACT_STOP_KILL - 1] = "kill",
	NULL,
};

static void idem_cancel_on_escalate(struct timer *t)
{
	struct pending_action *d = container_of(t, struct pending_action, escalate_timer);

	/*
	 * If the step cannot be recorded, it is done anyway. After a crash the
	 * cancellation continues with the step before.
	 */
	if (ledger_cancel(&d->idem->ledger, d->entry, d->entry->cancel + 1) < 0)
		d->entry->cancel++;
	pending_action_stop(d);
}

void pending_action_stop(struct pending_action *d)
{
	static const uint64_t patience[] = {
		[ACT_STOP_INT] = IDEM_TERM_MS,
		[ACT_STOP_TERM] = IDEM_KILL_MS,
	};
	enum act_stop how = d->entry->cancel;
	int r = act_stop(&d->act, how);

	if (r == ERR_CLOSED) {
		act_cancel(&d->act);
		pending_action_end(d, LEDGER_INTERRUPTED);
		return;
	}
	if (r < 0)
		log_warn("action %s: the signal to end it cannot be sent: %s",
			d->entry->id, err_text(r));
	if (how < ACT_STOP_KILL && !idem_has_ended(d->entry))
		timer_set(d->idem->box->loop, &d->escalate_timer, patience[how],
			idem_cancel_on_escalate);
}

int idem_cancel_action(struct idem *o, struct ledger_entry *e, enum act_stop how)
{
	struct pending_action *d = e->owner;
	int r;

	if (idem_has_ended(e) || how <= e->cancel)
		return 0;
	r = ledger_cancel(&o->ledger, e, (uint8_t)how);
	if (r)
		return r;
	idem_wake(o);
	if (e->state == LEDGER_STARTED) {
		pending_action_stop(d);
	} else if (d) {
		act_cancel(&d->act);
		pending_action_end(d, LEDGER_CANCELLED);
	} else {
		r = ledger_end(&o->ledger, e, LEDGER_CANCELLED, 0, (struct str){0});
		idem_compact(o);
	}
	return r;
}

static void idem_cancel_on_unattended(struct timer *t)
{
	struct pending_action *d = container_of(t, struct pending_action, cancel_timer);
	int r = idem_cancel_action(d->idem, d->entry, ACT_STOP_INT);

	if (r < 0)
		log_warn("action %s: it cannot be cancelled after the loss of its "
			 "connection: %s",
			d->entry->id, err_text(r));
}

void idem_schedule_cancel(struct pending_action *d)
{
	timer_set(d->idem->box->loop, &d->cancel_timer, d->grace_ms,
		idem_cancel_on_unattended);
}

struct idem_cancel_params {
	unsigned mode;
	uint64_t wait_s;
};

void idem_cancel(struct api *api, struct request *rq, struct str id)
{
	static const struct param params[] = {
		{"mode", PARAM_CHOICE, .at = offsetof(struct idem_cancel_params, mode),
			.words = idem_cancel_modes},
		{"wait", PARAM_NUMBER, .at = offsetof(struct idem_cancel_params, wait_s),
			.max = IDEM_WAIT_MAX_S},
	};
	struct params p = {.arena = &rq->arena, .query = rq->query};
	struct idem_cancel_params w = {0};
	int r = rq->body.n ? params_parse_body(&p, rq->body) : 0;
	struct ledger_entry *e;

	if (!r)
		r = params_read(&p, params, ARRAY_LEN(params), &w);
	if (r) {
		api_refuse(rq, (unsigned)r, p.error);
		return;
	}
	e = idem_find(api->idem, rq, id);
	if (!e)
		return;
	r = idem_cancel_action(api->idem, e, w.mode + ACT_STOP_INT);
	if (r < 0)
		idem_refuse(rq, r);
	else if (w.wait_s && !idem_has_ended(e))
		idem_wait(api, rq, e, w.wait_s * 1000);
	else
		idem_reply_state(api->idem, rq, e, true);
}
