/* What an action prints, by offset: a part, the next part when it comes, or events. */
#include "srv/once_private.h"
#include "srv/once_reader.h"

#include "base/b64.h"
#include "base/utf8.h"
#include "limits.h"
#include "net/range.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

/* NULL: it was let go of. */
static struct ledger_entry *entry_of(const struct reader *r)
{
	struct ledger_entry *e;

	return ledger_find(&r->once->ledger, str_c(r->id), &e) == LEDGER_HERE ? e : NULL;
}

uint64_t once_output_end(const struct ledger_entry *e)
{
	if (once_has_ended(e))
		return e->out_n;
	return e->output ? e->output->end : 0;
}

int once_read_output(const struct once *o, const struct ledger_entry *e, uint64_t at,
	uint64_t max, struct buf *out, struct output_part *part)
{
	return output_read(
		&o->outputs, e->output, once_output_end(e), at, (size_t)max, out, part);
}

/* --- One part ----------------------------------------------------------------- */

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
	char length[24], digest[SHA256_HEX + 1];

	snprintf(length, sizeof(length), "%" PRIu64, e->out_n);
	request_add_field(rq, STR("x-length"), str_c(length));
	if (!e->out_n)
		return;
	hex_encode(e->out_sha, SHA256_LEN, digest);
	request_add_field(rq, STR("x-sha256"), str_c(digest));
}

static void reply_part(struct once *o, struct request *rq, const struct ledger_entry *e,
	const struct reader *r)
{
	struct output_part part;
	int err = once_read_output(o, e, r->at, r->max, request_out(rq), &part);

	if (err == ERR_RANGE) {
		request_fail(rq, 416, STR("The action has not printed so much."));
		return;
	}
	if (err < 0) {
		request_fail(rq, 500, STR("What the action printed cannot be read."));
		return;
	}
	request_add_field(rq, STR("x-state"), str_c(once_word(e)));
	api_add_part(rq, r->at, part.from, part.next);
	if (once_has_ended(e))
		add_end(rq, e);
	if (r->flag && part.next > part.from)
		add_range(rq, e, &part);
	request_reply(rq, r->flag && part.next > part.from ? 206 : 200,
		"application/octet-stream");
}

/* --- Events ------------------------------------------------------------------- */

static void put_gap(struct buf *out, uint64_t from, uint64_t to)
{
	struct jw w;

	once_put_event(out, &w, to, "gap");
	jw_key(&w, "from");
	jw_uint(&w, from);
	jw_key(&w, "to");
	jw_uint(&w, to);
	once_put_event_end(out, &w);
}

static void put_bytes(struct buf *out, uint64_t at, struct str bytes)
{
	struct buf coded = BUF_INIT(2 * OUTPUT_EVENT);
	struct jw w;

	once_put_event(out, &w, at + bytes.n, "out");
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
	once_put_event_end(out, &w);
}

void once_put_end(struct jw *w, const struct ledger_entry *e)
{
	char digest[SHA256_HEX + 1];

	jw_key(w, "state");
	jw_cstr(w, once_word(e));
	jw_key(w, "length");
	jw_uint(w, e->out_n);
	if (!e->out_n)
		return;
	hex_encode(e->out_sha, SHA256_LEN, digest);
	jw_key(w, "sha256");
	jw_cstr(w, digest);
}

static void put_over(struct buf *out, const struct ledger_entry *e)
{
	struct jw w;

	once_put_event(out, &w, e->out_n, "end");
	once_put_end(&w, e);
	once_put_event_end(out, &w);
}

/* The half of a character waits for the other, unless there will be none. */
static struct str whole(struct str bytes, bool last)
{
	size_t half = utf8_tail(bytes);

	if (half < bytes.n || !last)
		bytes.n -= half;
	return bytes;
}

static int next_event(struct reader *r, struct buf *out, bool *over)
{
	struct buf bytes = BUF_INIT(OUTPUT_EVENT);
	const struct ledger_entry *e = entry_of(r);
	struct output_part part;
	struct str show;
	bool ended, last;
	int err;

	if (!e)
		return ERR_CLOSED;
	ended = once_has_ended(e);
	if (r->at == once_output_end(e) && !ended)
		return 1;
	if (r->at == once_output_end(e)) {
		put_over(out, e);
		*over = true;
		return out->err;
	}
	err = once_read_output(r->once, e, r->at, OUTPUT_EVENT, &bytes, &part);
	if (!err && part.from > r->at) {
		put_gap(out, r->at, part.from);
		r->at = part.from;
	}
	/* What is not full ends there, or in front of a gap. */
	last = bytes.n < OUTPUT_EVENT && (ended || part.next < once_output_end(e));
	show = whole(buf_view(&bytes), last);
	if (!err && show.n)
		put_bytes(out, r->at, show);
	else if (!err && bytes.n)
		err = 1;
	r->at += show.n;
	buf_free(&bytes);
	return err ? err : out->err;
}

static void answer(struct reader *r)
{
	const struct ledger_entry *e = entry_of(r);

	if (e)
		reply_part(r->once, r->rq, e, r);
	else
		request_fail(r->rq, 410, STR("What the action printed is not kept."));
}

static bool has_more(const struct reader *r)
{
	const struct ledger_entry *e = entry_of(r);

	return !e || once_has_ended(e) || once_output_end(e) > r->at;
}

static const struct reader_ops ops = {
	.next = next_event,
	.answer = answer,
	.has_more = has_more,
};

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
	/* Then it begins beyond the end. */
	if (r)
		return r == ERR_RANGE;
	w->from = part.from;
	if (part.n < w->max)
		w->max = part.n;
	return true;
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
		w.from = once_last_event_id(rq);
	if (w.from > once_output_end(e)) {
		request_fail(rq, 416, STR("The action has not printed so much."));
		return;
	}
	r = once_reader_new(api->once, rq, &ops);
	if (!r)
		return;
	r->at = w.from;
	r->max = w.max;
	r->flag = range;
	memcpy(r->id, e->id, sizeof(r->id));
	once_reader_begin(r, w.wait_s);
}
