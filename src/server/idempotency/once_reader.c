#include "server/idempotency/once_reader.h"

#include "server/idempotency/once_private.h"

/* Called from the event loop, because a reply may begin the next request. */
static void on_wake(struct timer *t)
{
	struct once *o = container_of(t, struct once, wake);
	struct once_reader *next;

	for (struct once_follower *f = o->followers; f; f = f->next)
		f->fn(f);
	for (struct once_reader *r = o->readers; r; r = next) {
		next = r->next;
		reader_wake(&r->reader);
	}
}

void once_wake(struct once *o)
{
	/* Without memory for the timer, readers are woken by the next change. */
	if ((o->readers || o->followers) && !o->wake.slot &&
		timer_set(o->box->loop, &o->wake, 0, on_wake) < 0)
		return;
}

void once_follow(struct once *o, struct once_follower *f)
{
	f->next = o->followers;
	o->followers = f;
}

void once_unfollow(struct once *o, struct once_follower *f)
{
	struct once_follower **at = &o->followers;

	while (*at != f)
		at = &(*at)->next;
	*at = f->next;
}

void once_cut_readers(struct once *o)
{
	while (o->readers)
		reader_end(&o->readers->reader);
}

struct once *once_of(const struct reader *r)
{
	return container_of(r, const struct once_reader, reader)->once;
}

void once_reader_left(struct reader *r)
{
	struct once_reader *left = container_of(r, struct once_reader, reader);
	struct once_reader **at = &left->once->readers;

	while (*at != left)
		at = &(*at)->next;
	*at = left->next;
}

struct once_reader *once_reader_new(
	struct once *o, struct request *rq, const struct reader_ops *ops)
{
	struct once_reader *r = arena_alloc(&rq->arena, sizeof(*r));

	if (!r) {
		api_no_memory(rq);
		return NULL;
	}
	r->once = o;
	r->next = o->readers;
	o->readers = r;
	reader_init(&r->reader, o->box->loop, rq, ops);
	r->reader.mode = reader_mode_of(rq);
	return r;
}
