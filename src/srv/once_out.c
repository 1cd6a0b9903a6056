/* What an action prints, by offset: a part, the next part when there is one, or events. */
#include "srv/once_private.h"

#include "base/b64.h"
#include "base/utf8.h"
#include "limits.h"
#include "net/range.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

enum reader_state {
	READER_WAITS,   /* for a first byte behind `at`, or its patience's end */
	READER_STREAMS, /* events, as they come */
	READER_FULL,    /* the same, and more is queued than the peer has taken */
};

/* Somebody who reads; in the request's arena. */
struct reader {
	struct asked asked;
	enum reader_state state;
	struct once *once;
	struct request *rq;
	struct reader *next;
	struct timer timer; /* patience, or the next sign of life */
	char id[LEDGER_ID_MAX + 1];
	uint64_t at, max;
	bool range; /* it was asked for by the field Range */
};

/* The bytes there are; of one that has ended there will be no more. */
static uint64_t end_of(const struct ledger_entry *e)
{
	if (once_has_ended(e))
		return e->out_n;
	return e->output ? e->output->end : 0;
}

static int read_part(const struct once *o, const struct ledger_entry *e, uint64_t at,
	uint64_t max, struct buf *out, struct output_part *part)
{
	return output_read(&o->outputs, e->output, end_of(e), at, (size_t)max, out, part);
}

/* --- One part ----------------------------------------------------------------- */

static void add_number(struct request *rq, const char *field, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	request_add_field(rq, str_c(field), str_c(text));
}

static void add_range(
	struct request *rq, const struct ledger_entry *e, const struct output_part *p)
{
	char size[24] = "*", text[80];

	if (once_has_ended(e))
		snprintf(size, sizeof(size), "%" PRIu64, e->out_n);
	snprintf(text, sizeof(text), "bytes %" PRIu64 "-%" PRIu64 "/%s", p->from,
		p->next - 1, size);
	request_add_field(rq, STR("content-range"), str_c(text));
}

static void add_end(struct request *rq, const struct ledger_entry *e)
{
	char digest[SHA256_HEX + 1];

	add_number(rq, "x-length", e->out_n);
	if (!e->out_n)
		return;
	hex_encode(e->out_sha, SHA256_LEN, digest);
	request_add_field(rq, STR("x-sha256"), str_c(digest));
}

static void reply_part(struct once *o, struct request *rq, const struct ledger_entry *e,
	const struct reader *r)
{
	struct output_part part;
	char gap[48];
	int err = read_part(o, e, r->at, r->max, request_out(rq), &part);

	if (err == ERR_RANGE) {
		request_fail(rq, 416, STR("The action has not printed so much."));
		return;
	}
	if (err < 0) {
		request_fail(rq, 500, STR("What the action printed cannot be read."));
		return;
	}
	request_add_field(rq, STR("x-state"), str_c(once_word(e)));
	add_number(rq, "x-offset", part.from);
	add_number(rq, "x-next-offset", part.next);
	if (part.from > r->at) {
		snprintf(gap, sizeof(gap), "%" PRIu64 "-%" PRIu64, r->at, part.from);
		request_add_field(rq, STR("x-gap"), str_c(gap));
	}
	if (once_has_ended(e))
		add_end(rq, e);
	if (r->range && part.next > part.from)
		add_range(rq, e, &part);
	request_reply(rq, r->range && part.next > part.from ? 206 : 200,
		"application/octet-stream");
}

/* --- Events ------------------------------------------------------------------- */

static void put_event(struct buf *out, struct jw *w, uint64_t id, const char *name)
{
	buf_fmt(out, "id: %" PRIu64 "\nevent: %s\ndata: ", id, name);
	jw_init(w, out);
	jw_object(w);
}

static void put_end(struct buf *out, struct jw *w)
{
	jw_end(w);
	buf_puts(out, "\n\n");
}

static void put_gap(struct buf *out, uint64_t from, uint64_t to)
{
	struct jw w;

	put_event(out, &w, to, "gap");
	jw_key(&w, "from");
	jw_uint(&w, from);
	jw_key(&w, "to");
	jw_uint(&w, to);
	put_end(out, &w);
}

static void put_bytes(struct buf *out, uint64_t at, struct str bytes)
{
	struct buf coded = BUF_INIT(2 * OUTPUT_EVENT);
	struct jw w;

	put_event(out, &w, at + bytes.n, "out");
	jw_key(&w, "from");
	jw_uint(&w, at);
	jw_key(&w, "to");
	jw_uint(&w, at + bytes.n);
	if (utf8_valid(bytes)) {
		jw_key(&w, "text");
		jw_str(&w, bytes);
	} else {
		jw_key(&w, "base64");
		b64_encode(&coded, bytes);
		jw_str(&w, buf_view(&coded));
		if (coded.err)
			out->err = coded.err;
		buf_free(&coded);
	}
	put_end(out, &w);
}

static void put_over(struct buf *out, const struct ledger_entry *e)
{
	char digest[SHA256_HEX + 1];
	struct jw w;

	put_event(out, &w, e->out_n, "end");
	jw_key(&w, "state");
	jw_cstr(&w, once_word(e));
	jw_key(&w, "length");
	jw_uint(&w, e->out_n);
	if (e->out_n) {
		hex_encode(e->out_sha, SHA256_LEN, digest);
		jw_key(&w, "sha256");
		jw_cstr(&w, digest);
	}
	put_end(out, &w);
}

/* The half of a character waits for the other, unless there will be none. */
static struct str whole(struct str bytes, bool last)
{
	size_t half = utf8_tail(bytes);

	if (half < bytes.n || !last)
		bytes.n -= half;
	return bytes;
}

/* The next event: 0; 1: there is none yet; an error. *over: it is the last. */
static int next_event(struct once *o, struct reader *r, const struct ledger_entry *e,
	struct buf *out, bool *over)
{
	struct buf bytes = BUF_INIT(OUTPUT_EVENT);
	bool ended = once_has_ended(e);
	struct output_part part;
	struct str show;
	int err;

	if (r->at == end_of(e) && !ended)
		return 1;
	if (r->at == end_of(e)) {
		put_over(out, e);
		*over = true;
		return out->err;
	}
	err = read_part(o, e, r->at, OUTPUT_EVENT, &bytes, &part);
	if (!err && part.from > r->at) {
		put_gap(out, r->at, part.from);
		r->at = part.from;
	}
	show = whole(buf_view(&bytes), ended && part.next == e->out_n);
	if (!err && show.n)
		put_bytes(out, r->at, show);
	else if (!err && bytes.n)
		err = 1;
	r->at += show.n;
	buf_free(&bytes);
	return err ? err : out->err;
}

/* --- Those who read ------------------------------------------------------------ */

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

/* NULL: it was let go of. */
static struct ledger_entry *entry_of(const struct reader *r)
{
	struct ledger_entry *e;

	return ledger_find(&r->once->ledger, str_c(r->id), &e) == LEDGER_HERE ? e : NULL;
}

static void beat(struct timer *t);

static void arm_beat(struct reader *r)
{
	/* Without memory for it a proxy may lose patience, that is all. */
	if (timer_set(r->once->box->loop, &r->timer, OUTPUT_BEAT_MS, beat) < 0)
		return;
}

static void send_events(struct reader *r)
{
	struct buf out = BUF_INIT(8 * OUTPUT_EVENT);
	bool over = false;
	int err = 0;

	while (r->state == READER_STREAMS && !over && !err) {
		const struct ledger_entry *e = entry_of(r);

		buf_reset(&out);
		err = e ? next_event(r->once, r, e, &out, &over) : ERR_CLOSED;
		if (err > 0 && !out.n)
			break;
		if (err >= 0 && !request_write(r->rq, buf_view(&out)))
			r->state = READER_FULL;
		arm_beat(r);
	}
	buf_free(&out);
	if (!over && err >= 0)
		return;
	leave(r);
	if (over)
		request_end(r->rq);
	else
		request_cut(r->rq);
}

/* A comment, which clients pass over. */
static void beat(struct timer *t)
{
	struct reader *r = container_of(t, struct reader, timer);

	if (r->state == READER_STREAMS && !request_write(r->rq, STR(":\n\n")))
		r->state = READER_FULL;
	arm_beat(r);
}

static void reader_room(struct request *rq)
{
	struct reader *r = rq->user;

	if (r->state == READER_FULL)
		r->state = READER_STREAMS;
	if (r->state == READER_STREAMS)
		send_events(r);
}

/* Answers one who waits, with what there is. */
static void answer(struct reader *r)
{
	const struct ledger_entry *e = entry_of(r);
	struct request *rq = r->rq;

	leave(r);
	if (e)
		reply_part(r->once, rq, e, r);
	else
		request_fail(rq, 410, STR("What the action printed is not kept."));
}

static void patience_over(struct timer *t)
{
	answer(container_of(t, struct reader, timer));
}

static bool has_more(const struct reader *r)
{
	const struct ledger_entry *e = entry_of(r);

	return !e || once_has_ended(e) || end_of(e) > r->at;
}

/* From the loop, for a reply may begin the next request. */
static void on_wake(struct timer *t)
{
	struct once *o = container_of(t, struct once, wake);
	struct reader *next;

	for (struct reader *r = o->readers; r; r = next) {
		next = r->next;
		if (r->state == READER_STREAMS)
			send_events(r);
		else if (r->state == READER_WAITS && has_more(r))
			answer(r);
	}
}

void once_wake(struct once *o)
{
	/* Without memory the readers hear of it with the next bytes, or the end. */
	if (o->readers && !o->wake.slot &&
		timer_set(o->box->loop, &o->wake, 0, on_wake) < 0)
		return;
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

/* --- The route ----------------------------------------------------------------- */

struct wish {
	uint64_t from, max, wait_s;
};

/* A range of what has an end by now, or of what has none: only its first byte counts. */
static bool read_range(struct request *rq, const struct ledger_entry *e, struct wish *w)
{
	uint64_t size = once_has_ended(e) ? e->out_n : INT64_MAX;
	struct str field;
	struct range part;
	int r = request_header(rq, STR("range"), &field);

	if (r == 0)
		r = range_read(field, size, &part);
	if (r)
		return r == ERR_RANGE && (w->from = UINT64_MAX);
	w->from = part.from;
	if (part.n < w->max)
		w->max = part.n;
	return true;
}

static uint64_t last_event(const struct request *rq, uint64_t from)
{
	struct str id;

	if (request_header(rq, STR("last-event-id"), &id) != 0 ||
		str_u64(id, INT64_MAX, &from) < 0)
		return from;
	return from;
}

static void begin_events(struct reader *r)
{
	r->state = READER_STREAMS;
	request_add_field(r->rq, STR("cache-control"), STR("no-cache"));
	request_begin(r->rq, 200, API_EVENTS, REQUEST_LENGTH_UNKNOWN);
	send_events(r);
}

static void wait_for_more(struct reader *r, uint64_t s)
{
	r->state = READER_WAITS;
	if (timer_set(r->once->box->loop, &r->timer, s * 1000, patience_over) < 0)
		answer(r);
}

void once_out(struct api *api, struct request *rq, struct str id)
{
	static const struct param params[] = {
		{"from", PARAM_NUMBER, .at = offsetof(struct wish, from),
			.max = INT64_MAX},
		{"max", PARAM_NUMBER, .at = offsetof(struct wish, max), .min = 1,
			.max = OUTPUT_PART_MAX},
		{"wait", PARAM_NUMBER, .at = offsetof(struct wish, wait_s),
			.max = ONCE_WAIT_MAX_S},
	};
	struct params p = {.arena = &rq->arena, .query = rq->query};
	struct wish w = {.from = UINT64_MAX, .max = OUTPUT_PART_MAX};
	int err = params_take(&p, params, ARRAY_LEN(params), &w);
	const struct ledger_entry *e;
	struct reader *r;
	bool range;

	if (err) {
		api_refuse(rq, (unsigned)err, p.wrong);
		return;
	}
	e = once_find(api->once, rq, id);
	if (!e)
		return;
	range = w.from == UINT64_MAX && read_range(rq, e, &w);
	if (w.from == UINT64_MAX && !range)
		w.from = last_event(rq, 0);
	r = arena_alloc(&rq->arena, sizeof(*r));
	if (!r) {
		api_no_memory(rq);
		return;
	}
	*r = (struct reader){.asked = {reader_gone, reader_room},
		.once = api->once,
		.rq = rq,
		.next = api->once->readers,
		.at = w.from,
		.max = w.max,
		.range = range};
	memcpy(r->id, e->id, sizeof(r->id));
	if (w.from > end_of(e)) {
		request_fail(rq, 416, STR("The action has not printed so much."));
		return;
	}
	if (!api_wants_events(rq) && (!w.wait_s || has_more(r))) {
		reply_part(api->once, rq, e, r);
		return;
	}
	api->once->readers = r;
	rq->user = r;
	rq->needs_peer = true;
	if (api_wants_events(rq))
		begin_events(r);
	else
		wait_for_more(r, w.wait_s);
}
