#include "server/reader.h"

#include "limits.h"

#include <inttypes.h>

void reader_put_event(struct buf *out, struct jw *w, uint64_t id, const char *name)
{
	buf_fmt(out, "id: %" PRIu64 "\nevent: %s\ndata: ", id, name);
	jw_init(w, out);
	jw_object(w);
}

/* JSON escapes line feeds, so the data is one line. */
void reader_put_event_end(struct buf *out, struct jw *w)
{
	jw_end(w);
	buf_puts(out, "\n\n");
}

uint64_t reader_last_event_id(const struct request *rq)
{
	struct str text;
	uint64_t id;

	if (request_header(rq, STR("last-event-id"), &text) != 0 ||
		str_u64(text, INT64_MAX, &id) < 0)
		return 0;
	return id;
}

enum reader_mode reader_get_mode(const struct request *rq)
{
	return request_accepts(rq, STR(REQUEST_EVENTS)) ? READER_EVENTS : READER_SINGLE;
}

static void reader_detach(struct reader *r)
{
	timer_cancel(r->loop, &r->timer);
	r->rq->user = NULL;
	r->ops->on_end(r);
}

static void reader_on_close(struct request *rq)
{
	reader_detach(rq->user);
}

static void reader_on_heartbeat(struct timer *t);

static void reader_arm_heartbeat(struct reader *r)
{
	if (r->mode == READER_EVENTS)
		timer_set(r->loop, &r->timer, OUTPUT_BEAT_MS, reader_on_heartbeat);
}

/* Sends a comment, which clients ignore. */
static void reader_on_heartbeat(struct timer *t)
{
	struct reader *r = container_of(t, struct reader, timer);

	if (r->state == READER_STREAMING && !request_write(r->rq, STR(":\n\n")))
		r->state = READER_FULL;
	reader_arm_heartbeat(r);
}

static void reader_send_pieces(struct reader *r)
{
	struct buf out = BUF_INIT(HTTP_REPLY_MAX);
	bool over = false;
	int err = 0;

	while (r->state == READER_STREAMING && !over && !err) {
		buf_reset(&out);
		err = r->ops->next(r, &out, &over);
		if (err >= 0 && out.n && !request_write(r->rq, buf_view(&out)))
			r->state = READER_FULL;
	}
	buf_free(&out);
	if (!over && err >= 0) {
		reader_arm_heartbeat(r);
		return;
	}
	reader_detach(r);
	if (over)
		request_end(r->rq);
	else
		request_abort(r->rq);
}

static void reader_on_writable(struct request *rq)
{
	struct reader *r = rq->user;

	if (r->ops->on_sent)
		r->ops->on_sent(r);
	if (r->state == READER_FULL)
		r->state = READER_STREAMING;
	if (r->state == READER_STREAMING)
		reader_send_pieces(r);
}

static void reader_answer(struct reader *r)
{
	reader_detach(r);
	r->ops->answer(r);
}

static void reader_on_timeout(struct timer *t)
{
	reader_answer(container_of(t, struct reader, timer));
}

void reader_wake(struct reader *r)
{
	if (r->state == READER_STREAMING)
		reader_send_pieces(r);
	else if (r->state == READER_WAITING && r->ops->has_more(r))
		reader_answer(r);
}

void reader_end(struct reader *r)
{
	if (r->state == READER_WAITING) {
		reader_answer(r);
		return;
	}
	reader_detach(r);
	request_end(r->rq);
}

void reader_init(struct reader *r, struct loop *loop, struct request *rq,
	const struct reader_ops *ops)
{
	r->ops = ops;
	r->loop = loop;
	r->rq = rq;
}

static void reader_begin_stream(struct reader *r)
{
	r->state = READER_STREAMING;
	if (r->mode == READER_EVENTS)
		request_begin_events(r->rq);
	else
		request_begin(
			r->rq, 200, "application/octet-stream", REQUEST_LENGTH_UNKNOWN);
	reader_send_pieces(r);
}

void reader_begin(struct reader *r, uint64_t wait_s)
{
	static const struct request_ops ops = {
		.on_close = reader_on_close, .on_writable = reader_on_writable};

	r->rq->ops = &ops;
	r->rq->user = r;
	r->rq->needs_peer = true;
	if (r->mode != READER_SINGLE)
		reader_begin_stream(r);
	else if (!wait_s || r->ops->has_more(r))
		reader_answer(r);
	else
		timer_set(r->loop, &r->timer, wait_s * 1000, reader_on_timeout);
}
