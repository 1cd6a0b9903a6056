#include "server/idempotency/idem_reader.h"

#include "server/idempotency/idem_private.h"

/* Called from the event loop, because a reply may begin the next request. */
static void idem_reader_on_wake(struct timer *t)
{
	struct idem *o = container_of(t, struct idem, wake);

	wait_queue_wake_all(&o->followers);
	LIST_EACH (struct idem_reader, r, &o->readers, node)
		reader_wake(&r->reader);
}

void idem_wake(struct idem *o)
{
	if ((!list_is_empty(&o->readers) || !wait_queue_is_empty(&o->followers)) &&
		!timer_is_armed(&o->wake))
		timer_set(o->box->loop, &o->wake, 0, idem_reader_on_wake);
}

void idem_follow(struct idem *o, struct waiter *f)
{
	wait_queue_prepend(&o->followers, f);
}

void idem_unfollow(struct idem *o, struct waiter *f)
{
	wait_queue_remove(&o->followers, f);
}

void idem_end_readers(struct idem *o)
{
	struct idem_reader *r;

	while ((r = LIST_FIRST(&o->readers, struct idem_reader, node)))
		reader_end(&r->reader);
}

struct idem *idem_reader_get_idem(const struct reader *r)
{
	return container_of(r, const struct idem_reader, reader)->idem;
}

void idem_reader_on_end(struct reader *r)
{
	list_remove(&container_of(r, struct idem_reader, reader)->node);
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
	list_prepend(&o->readers, &r->node);
	reader_init(&r->reader, o->box->loop, rq, ops);
	r->reader.mode = reader_get_mode(rq);
	return r;
}
