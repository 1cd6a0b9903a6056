#include "server/idempotency/idem_reader.h"

#include "server/idempotency/idem_private.h"

/* Called from the event loop, because a reply may begin the next request. */
static void idem_reader_on_wake(struct timer *t)
{
	struct idem *o = container_of(t, struct idem, wake);
	struct idem_reader *next;

	for (struct idem_follower *f = o->followers; f; f = f->next)
		f->fn(f);
	for (struct idem_reader *r = o->readers; r; r = next) {
		next = r->next;
		reader_wake(&r->reader);
	}
}

void idem_wake(struct idem *o)
{
	/* Without memory for the timer, readers are woken by the next change. */
	if ((o->readers || o->followers) && !o->wake.slot &&
		timer_set(o->box->loop, &o->wake, 0, idem_reader_on_wake) < 0)
		return;
}

void idem_follow(struct idem *o, struct idem_follower *f)
{
	f->next = o->followers;
	o->followers = f;
}

void idem_unfollow(struct idem *o, struct idem_follower *f)
{
	struct idem_follower **at = &o->followers;

	while (*at != f)
		at = &(*at)->next;
	*at = f->next;
}

void idem_end_readers(struct idem *o)
{
	while (o->readers)
		reader_end(&o->readers->reader);
}

struct idem *idem_reader_get_idem(const struct reader *r)
{
	return container_of(r, const struct idem_reader, reader)->idem;
}

void idem_reader_on_end(struct reader *r)
{
	struct idem_reader *left = container_of(r, struct idem_reader, reader);
	struct idem_reader **at = &left->idem->readers;

	while (*at != left)
		at = &(*at)->next;
	*at = left->next;
}

struct idem_reader *idem_reader_new(
	struct idem *o, struct request *rq, const struct reader_ops *ops)
{
	struct idem_reader *r = arena_alloc(&rq->arena, sizeof(*r));

	if (!r) {
		api_reply_nomem(rq);
		return NULL;
	}
	r->idem = o;
	r->next = o->readers;
	o->readers = r;
	reader_init(&r->reader, o->box->loop, rq, ops);
	r->reader.mode = reader_get_mode(rq);
	return r;
}
