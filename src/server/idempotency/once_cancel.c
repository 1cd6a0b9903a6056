/* Cancellation of actions: a queued action never starts, a running one gets a signal. */
#include "server/idempotency/once_private.h"

#include "base/log.h"
#include "limits.h"

#include <stddef.h>

_Static_assert((int)ACT_STOP_KILL == (int)LEDGER_CANCEL_MAX, "all are known there");

const char *const once_modes[] = {
	[ACT_STOP_INT - 1] = "int",
	[ACT_STOP_TERM - 1] = "term",
	[ACT_STOP_KILL - 1] = "kill",
	NULL,
};

static void harder(struct timer *t)
{
	struct doing *d = container_of(t, struct doing, harder);

	/*
	 * If the step cannot be recorded, it is done anyway. After a crash the
	 * cancellation continues with the step before.
	 */
	if (ledger_cancel(&d->once->ledger, d->entry, d->entry->cancel + 1) < 0)
		d->entry->cancel++;
	once_stop(d);
}

void once_stop(struct doing *d)
{
	static const uint64_t patience[] = {
		[ACT_STOP_INT] = ONCE_TERM_MS,
		[ACT_STOP_TERM] = ONCE_KILL_MS,
	};
	enum act_stop how = d->entry->cancel;
	int r = act_stop(&d->act, how);

	if (r == ERR_CLOSED) {
		act_cancel(&d->act);
		once_end(d, LEDGER_INTERRUPTED);
		return;
	}
	if (r < 0)
		log_warn(
			"action %s cannot be told to end: %s", d->entry->id, err_text(r));
	if (how < ACT_STOP_KILL && !once_has_ended(d->entry) &&
		timer_set(d->once->box->loop, &d->harder, patience[how], harder) < 0)
		log_warn("out of memory for the end of an action");
}

int once_tell_to_end(struct once *o, struct ledger_entry *e, enum act_stop how)
{
	struct doing *d = e->owner;
	int r;

	if (once_has_ended(e) || how <= e->cancel)
		return 0;
	r = ledger_cancel(&o->ledger, e, (uint8_t)how);
	if (r)
		return r;
	once_wake(o);
	if (e->state == LEDGER_STARTED) {
		once_stop(d);
	} else if (d) {
		act_cancel(&d->act);
		once_end(d, LEDGER_CANCELLED);
	} else {
		r = ledger_end(&o->ledger, e, LEDGER_CANCELLED, 0, (struct str){0});
		once_tidy(o);
	}
	return r;
}

static void left(struct timer *t)
{
	struct doing *d = container_of(t, struct doing, leave);
	int r = once_tell_to_end(d->once, d->entry, ACT_STOP_INT);

	if (r < 0)
		log_warn("action %s, which nobody waits for, cannot be cancelled: %s",
			d->entry->id, err_text(r));
}

void once_leave(struct doing *d)
{
	if (timer_set(d->once->box->loop, &d->leave, d->grace_ms, left) < 0)
		log_warn("out of memory for the end of an action");
}

struct wish {
	unsigned mode;
	uint64_t wait_s;
};

void once_cancel(struct api *api, struct request *rq, struct str id)
{
	static const struct param params[] = {
		{"mode", PARAM_CHOICE, .at = offsetof(struct wish, mode),
			.words = once_modes},
		{"wait", PARAM_NUMBER, .at = offsetof(struct wish, wait_s),
			.max = ONCE_WAIT_MAX_S},
	};
	struct params p = {.arena = &rq->arena, .query = rq->query};
	struct wish w = {0};
	int r = rq->body.n ? params_body(&p, rq->body) : 0;
	struct ledger_entry *e;

	if (!r)
		r = params_take(&p, params, ARRAY_LEN(params), &w);
	if (r) {
		api_refuse(rq, (unsigned)r, p.wrong);
		return;
	}
	e = once_find(api->once, rq, id);
	if (!e)
		return;
	r = once_tell_to_end(api->once, e, w.mode + ACT_STOP_INT);
	if (r < 0)
		once_refuse(rq, r);
	else if (w.wait_s && !once_has_ended(e))
		once_wait(e->owner, rq, false, w.wait_s * 1000);
	else
		once_reply_state(api->once, rq, e, once_has_ended(e) ? 200 : 202, true);
}
