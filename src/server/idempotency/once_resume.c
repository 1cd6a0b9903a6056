/* Actions of an earlier process: begun, or accepted and not begun. */
#include "server/idempotency/once_private.h"

#include "base/log.h"
#include "limits.h"

/*
 * Restores a pending action from its recorded request. NULL: the request was not
 * recorded, or cannot be read.
 */
static struct doing *read_again(struct once *o, struct ledger_entry *e)
{
	struct buf request = BUF_INIT(HTTP_BODY_MAX);
	struct doing *d = NULL;
	struct params p = {0};

	if (e->ask_n && ledger_request(&o->ledger, e, &request) == 0)
		d = once_doing_new(o, buf_view(&request));
	buf_free(&request);
	if (!d)
		return NULL;
	p.arena = &d->arena;
	if (once_read(d, e->ask_how, &p) == 0) {
		once_own(d, e);
		return d;
	}
	once_free(d);
	return NULL;
}

/*
 * The requests that waited are lost with the earlier process. A cancellation continues,
 * and an action that ends with its waiters is cancelled unless a new one comes.
 */
static void wind_up(struct doing *d)
{
	d->leaves = d->entry->ask_how & ASKED_LEAVES;
	d->grace_ms = ONCE_GRACE_MS;
	if (once_has_ended(d->entry))
		return;
	if (d->entry->cancel)
		once_stop(d);
	else if (d->leaves)
		once_leave(d);
}

static bool attach(struct once *o, struct ledger_entry *e)
{
	struct doing *d = read_again(o, e);

	if (!d)
		return false;
	if (once_go_on(d) == 0) {
		wind_up(d);
		return true;
	}
	e->owner = NULL;
	once_free(d);
	return false;
}

void once_attach(struct once *o)
{
	int first = 0;

	/*
	 * The end of an action may remove entries of actions that ended before, never its
	 * own.
	 */
	for (struct ledger_entry *e = o->ledger.oldest; e; e = e->newer) {
		int r;

		if (e->state != LEDGER_STARTED || attach(o, e))
			continue;
		r = ledger_end(&o->ledger, e, LEDGER_INTERRUPTED, 0, (struct str){0});
		if (r && !first)
			first = r;
	}
	if (first)
		log_warn("the ends of interrupted actions cannot be kept: %s",
			err_text(first));
}

void once_resume(struct once *o)
{
	for (struct ledger_entry *e = o->ledger.oldest; e; e = e->newer) {
		struct doing *d = NULL;

		if (e->state == LEDGER_ACCEPTED && !e->owner)
			d = read_again(o, e);
		if (d) {
			once_start(d);
			wind_up(d);
		}
	}
}
