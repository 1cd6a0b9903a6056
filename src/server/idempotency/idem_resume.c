/* Actions of an earlier process: begun, or accepted and not begun. */
#include "server/idempotency/idem_private.h"

#include "base/log.h"
#include "limits.h"

/*
 * Restores a pending action from its recorded request. NULL: the request was not
 * recorded, or cannot be read.
 */
static struct pending_action *idem_resume_read_request(
	struct idem *o, struct ledger_entry *e)
{
	struct buf request = BUF_INIT(HTTP_BODY_MAX);
	struct pending_action *d = NULL;
	struct params p = {0};

	if (e->request_n && ledger_read_request(&o->ledger, e, &request) == 0)
		d = pending_action_new(o);
	if (d && pending_action_read(d, buf_view(&request), e->request_kind, &p) == 0) {
		pending_action_bind(d, e);
	} else if (d) {
		pending_action_free(d);
		d = NULL;
	}
	buf_free(&request);
	return d;
}

/*
 * The requests that waited are lost with the earlier process. A cancellation continues,
 * and an action that ends with its waiters is cancelled unless a new one comes.
 */
static void idem_resume_apply_cancel(struct pending_action *d)
{
	d->cancel_unattended = d->entry->request_kind & IDEM_CANCEL_UNATTENDED;
	d->grace_ms = IDEM_GRACE_MS;
	if (idem_has_ended(d->entry))
		return;
	if (d->entry->cancel)
		pending_action_stop(d);
	else if (d->cancel_unattended)
		idem_schedule_cancel(d);
}

static bool idem_resume_action(struct idem *o, struct ledger_entry *e)
{
	struct pending_action *d = idem_resume_read_request(o, e);

	if (!d)
		return false;
	if (pending_action_resume(d) == 0) {
		idem_resume_apply_cancel(d);
		return true;
	}
	e->owner = NULL;
	pending_action_free(d);
	return false;
}

void idem_resume_started(struct idem *o)
{
	int first = 0;

	/*
	 * The end of an action may remove entries of actions that ended before, never its
	 * own.
	 */
	for (struct ledger_entry *e = o->ledger.oldest; e; e = e->newer) {
		int r;

		if (e->state != LEDGER_STARTED || idem_resume_action(o, e))
			continue;
		r = ledger_end(&o->ledger, e, LEDGER_INTERRUPTED, 0, (struct str){0});
		if (r && !first)
			first = r;
	}
	if (first)
		log_warn("the ends of interrupted actions cannot be recorded: %s",
			err_text(first));
}

void idem_resume(struct idem *o)
{
	for (struct ledger_entry *e = o->ledger.oldest; e; e = e->newer) {
		struct pending_action *d = NULL;

		if (e->state == LEDGER_ACCEPTED && !e->owner)
			d = idem_resume_read_request(o, e);
		if (d) {
			pending_action_start_recorded(d);
			idem_resume_apply_cancel(d);
		}
	}
}
