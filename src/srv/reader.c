#include "srv/once_reader.h"

#include "limits.h"
#include "srv/once_private.h"

#include <inttypes.h>

void once_put_event(struct buf *out, struct jw *w, uint64_t id, const char *name)
{
	buf_fmt(out, "id: %" PRIu64 "\nevent: %s\ndata: ", id, name);
	jw_init(w, out);
	jw_object(w);
}

/* A line feed inside of JSON is always escaped: the data is one line. */
void once_put_event_end(struct buf *out, struct jw *w)
{
	jw_end(w);
	buf_puts(out, "\n\n");
}

uint64_t once_last_event_id(const struct request *rq)
{
	struct str text;
	uint64_t id;

	if (request_header(rq, STR("last-event-id"), &text) != 0 ||
		str_u64(text, INT64_MAX, &id) < 0)
		return 0;
	return id;
}

static void leave(struct reader *r)
{
	struct reader **at = &r->once->readers;

	while (*at != r)
		at = &(*at)->next;
	*at = r->next;
	timer_cancel(r->once->box->loop, &r->timer);
	r->rq->user = NULL;
}

static void reader_gone(struct request *rq)
{
	leave(rq->user);
}

static void beat(struct timer *t);

static void arm_beat(struct reader *r)
{
	/* Without memory for it a proxy may lose patience, that is all. */
	if (timer_set(r->once->box->loop, &r->timer, OUTPUT_BEAT_MS, beat) < 0)
		return;
}

/* A comment, which clients pass over. */
static void beat(struct timer *t)
{
	struct reader *r = container_of(t, struct reader, timer);

	if (r->state == READER_STREAMS && !request_write(r->rq, STR(":\n\n")))
		r->state = READER_FULL;
	arm_beat(r);
}

static void send_events(struct reader *r)
{
	struct buf out = BUF_INIT(HTTP_REPLY_MAX);
	bool over = false;
	int err = 0;

	while (r->state == READER_STREAMS && !over && !err) {
		buf_reset(&out);
		err = r->ops->next(r, &out, &over);
		if (err >= 0 && out.n && !request_write(r->rq, buf_view(&out)))
			r->state = READER_FULL;
	}
	buf_free(&out);
	if (!over && err >= 0) {
		arm_beat(r);
		return;
	}
	leave(r);
	if (over)
		request_end(r->rq);
	else
		request_cut(r->rq);
}

static void reader_room(struct request *rq)
{
	struct reader *r = rq->user;

	if (r->state == READER_FULL)
		r->state = READER_STREAMS;
	if (r->state == READER_STREAMS)
		send_events(r);
}

static void answer(struct reader *r)
{
	leave(r);
	r->ops->answer(r);
}

static void patience_over(struct timer *t)
{
	answer(container_of(t, struct reader, timer));
}

/* From the loop, for a reply may begin the next request. */
static void on_wake(struct timer *t)
{
	struct once *o = container_of(t, struct once, wake);
	struct reader *next;

	for (struct once_follower *f = o->followers; f; f = f->next)
		f->fn(f);
	for (struct reader *r = o->readers; r; r = next) {
		next = r->next;
		if (r->state == READER_STREAMS)
			send_events(r);
		else if (r->state == READER_WAITS && r->ops->has_more(r))
			answer(r);
	}
}

void once_wake(struct once *o)
{
	/* Without memory they hear of it with what comes next. */
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
	while (o->readers) {
		struct reader *r = o->readers;

		if (r->state == READER_WAITS) {
			answer(r);
			continue;
		}
		leave(r);
		request_end(r->rq);
	}
}

struct reader *once_reader_new(
	struct once *o, struct request *rq, const struct reader_ops *ops)
{
	struct reader *r = arena_alloc(&rq->arena, sizeof(*r));

	if (!r) {
		api_no_memory(rq);
		return NULL;
	}
	*r = (struct reader){
		.asked = {reader_gone, reader_room}, .ops = ops, .once = o, .rq = rq};
	return r;
}

void once_reader_begin(struct reader *r, uint64_t wait_s)
{
	bool streams = request_accepts(r->rq, STR(REQUEST_EVENTS));

	if (!streams && (!wait_s || r->ops->has_more(r))) {
		r->ops->answer(r);
		return;
	}
	r->next = r->once->readers;
	r->once->readers = r;
	r->rq->user = r;
	r->rq->needs_peer = true;
	if (streams) {
		r->state = READER_STREAMS;
		request_begin_events(r->rq);
		send_events(r);
	} else if (timer_set(r->once->box->loop, &r->timer, wait_s * 1000,
			   patience_over) < 0) {
		answer(r);
	}
}
