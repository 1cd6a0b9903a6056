/* The output of an action by offset: a part, at once or later, or a stream of events. */
#include "server/idempotency/once_private.h"
#include "server/idempotency/once_reader.h"

#include "limits.h"
#include "server/output_reply.h"

/* NULL: the action is not recorded any more. */
static struct ledger_entry *entry_of(const struct reader *r)
{
	const struct once_reader *of = container_of(r, const struct once_reader, reader);
	struct ledger_entry *e;

	return ledger_find(&of->once->ledger, str_c(of->id), &e) == LEDGER_HERE ? e
										: NULL;
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

/* --- Single parts ------------------------------------------------------------- */

static void add_digest(struct request *rq, const struct ledger_entry *e)
{
	char digest[SHA256_HEX + 1];

	if (!e->out_n)
		return;
	hex_encode(e->out_sha, SHA256_LEN, digest);
	request_add_field(rq, STR("x-sha256"), str_c(digest));
}

static struct output_size size_of(const struct ledger_entry *e)
{
	return (struct output_size){once_output_end(e), once_has_ended(e)};
}

static void reply_part(struct once *o, struct request *rq, const struct ledger_entry *e,
	const struct reader *r)
{
	struct output_ask ask = {.from = r->at, .range = r->flag};
	struct output_size size = size_of(e);
	struct output_part part;
	int err = once_read_output(o, e, r->at, r->max, request_out(rq), &part);

	if (err == ERR_RANGE) {
		output_refuse(rq);
		return;
	}
	if (err < 0) {
		request_fail(rq, 500, STR("What the action printed cannot be read."));
		return;
	}
	request_add_field(rq, STR("x-state"), str_c(once_word(e)));
	if (once_has_ended(e))
		add_digest(rq, e);
	output_reply(rq, &ask, &size, part.from, part.next);
}

/* --- Events ------------------------------------------------------------------- */

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

	reader_put_event(out, &w, e->out_n, "end");
	once_put_end(&w, e);
	reader_put_event_end(out, &w);
}

static int next_event(struct reader *r, struct buf *out, bool *over)
{
	struct buf bytes = BUF_INIT(OUTPUT_EVENT);
	const struct ledger_entry *e = entry_of(r);
	struct output_part part;
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
	err = once_read_output(once_of(r), e, r->at, OUTPUT_EVENT, &bytes, &part);
	/* If the piece is not full, it ends at the end of the output or before a gap. */
	last = bytes.n < OUTPUT_EVENT && (ended || part.next < once_output_end(e));
	if (!err)
		err = output_put_next(out, &r->at, part.from, buf_view(&bytes), last);
	buf_free(&bytes);
	return err;
}

static void answer(struct reader *r)
{
	const struct ledger_entry *e = entry_of(r);

	if (e)
		reply_part(once_of(r), r->rq, e, r);
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
	.left = once_reader_left,
};

/* --- The route ----------------------------------------------------------------- */

void once_out(struct api *api, struct request *rq, struct str id)
{
	const struct ledger_entry *e = once_find(api->once, rq, id);
	struct output_size size;
	struct output_ask ask;
	struct once_reader *r;

	if (!e)
		return;
	size = size_of(e);
	if (!output_ask_read(rq, &size, false, &ask))
		return;
	r = once_reader_new(api->once, rq, &ops);
	if (!r)
		return;
	r->reader.at = ask.from;
	r->reader.max = ask.max;
	r->reader.flag = ask.range;
	memcpy(r->id, e->id, sizeof(r->id));
	reader_begin(&r->reader, ask.wait_s);
}
