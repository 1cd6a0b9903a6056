#include "shell/shell_restore.h"

enum { RESTORE_STEP = 16384 /* bytes */ };

/* Feeds the next part of the output: first the head, then the tail. */
static void shell_restore_feed_next(struct shell_restore *r)
{
	struct shell_output *o = r->output;
	uint64_t told = r->reported, from = r->at, at = from;
	struct spool_gap gap = spool_gap(&o->spool);
	struct str part = spool_get_bytes(&o->spool, at);

	if (part.n > RESTORE_STEP)
		part.n = RESTORE_STEP;
	/* Stop where the last report stopped, to mark it as shown. */
	if (at < told && part.n > told - at)
		part.n = (size_t)(told - at);
	at += shell_output_feed_again(o, part);
	if (at == gap.from && at < gap.to) {
		shell_output_feed_gap(o, gap);
		at = gap.to;
	}
	if (from < told && told <= at)
		vt_update_mark(o->vt, &o->shown);
	r->at = at;
	r->ops->stepped(r);
}

static bool shell_restore_is_complete(const struct shell_restore *r)
{
	return r->at >= spool_get_end(&r->output->spool);
}

static void shell_restore_finish(struct shell_restore *r)
{
	r->under_way = false;
	r->output->reported = r->reported;
	r->ops->done(r);
}

static void shell_restore_on_step(struct timer *t)
{
	struct shell_restore *r = container_of(t, struct shell_restore, timer);

	if (!shell_restore_is_complete(r))
		shell_restore_feed_next(r);
	if (shell_restore_is_complete(r))
		shell_restore_finish(r);
	else
		timer_set(r->loop, t, 0, shell_restore_on_step);
}

void shell_restore_begin(struct shell_restore *r, uint64_t reported)
{
	r->reported = reported;
	r->under_way = true;
	shell_restore_on_step(&r->timer);
}

void shell_restore_complete(struct shell_restore *r)
{
	if (!r->under_way)
		return;
	timer_cancel(r->loop, &r->timer);
	while (!shell_restore_is_complete(r))
		shell_restore_feed_next(r);
	shell_restore_finish(r);
}

void shell_restore_cancel(struct shell_restore *r)
{
	timer_cancel(r->loop, &r->timer);
}
