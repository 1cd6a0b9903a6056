/* The output of an action by offset: a part, at once or later, or a stream of events. */
#include "server/idempotency/idem_private.h"
#include "server/idempotency/idem_reader.h"

#include "limits.h"
#include "server/output_reply.h"

/* NULL: the action is not recorded any more. */
static struct ledger_entry *idem_output_find_entry(const struct reader *r)
{
	const struct idem_reader *of = container_of(r, const struct idem_reader, reader);
	struct ledger_entry *e;

	return ledger_find(&of->idem->ledger, str_c(of->id), &e) == LEDGER_PRESENT ? e
										   : NULL;
}

uint64_t idem_output_end(const struct ledger_entry *e)
{
	if (idem_has_ended(e))
		return e->out_n;
	return e->output ? e->output->end : 0;
}

int idem_read_output(const struct idem *o, const struct ledger_entry *e, uint64_t at,
	uint64_t max, struct buf *out, struct output_part *part)
{
	return output_read(
		&o->outputs, e->output, idem_output_end(e), at, (size_t)max, out, part);
}

/* --- Single parts ------------------------------------------------------------- */

static void idem_output_add_digest(struct request *rq, const struct ledger_entry *e)
{
	char digest[SHA256_HEX + 1];

	if (!e->out_n)
		return;
	hex_encode(e->out_sha, SHA256_LEN, digest);
	request_add_field(rq, STR("x-sha256"), str_c(digest));
}

static struct output_size idem_output_get_size(const struct ledger_entry *e)
{
	return (struct output_size){idem_output_end(e), idem_has_ended(e)};
}

static void idem_output_reply_part(struct idem *o, struct request *rq,
	const struct ledger_entry *e, const struct reader *r)
{
	struct output_request ask = {.from = r->at, .range = r->flag};
	struct output_size size = idem_output_get_size(e);
	struct output_part part;
	int err = idem_read_output(o, e, r->at, r->max, request_out(rq), &part);

	if (err == ERR_RANGE) {
		output_refuse(rq);
		return;
	}
	if (err < 0) {
		request_fail(rq, 500, STR("The output of the action cannot be read."));
		return;
	}
	request_add_field(rq, STR("x-state"), str_c(idem_get_entry_state(e)));
	if (idem_has_ended(e))
		idem_output_add_digest(rq, e);
	output_reply(rq, &ask, &size, part.from, part.next);
}

/* --- Events ------------------------------------------------------------------- */

void idem_put_end(struct jw *w, const struct ledger_entry *e)
{
	char digest[SHA256_HEX + 1];

	jw_key(w, "state");
	jw_cstr(w, idem_get_entry_state(e));
	jw_key(w, "length");
	jw_uint(w, e->out_n);
	if (!e->out_n)
		return;
	hex_encode(e->out_sha, SHA256_LEN, digest);
	jw_key(w, "sha256");
	jw_cstr(w, digest);
}

static void idem_output_put_end(struct buf *out, const struct ledger_entry *e)
{
	struct jw w;

	reader_put_event(out, &w, e->out_n, "end");
	idem_put_end(&w, e);
	reader_put_event_end(out, &w);
}

static int idem_output_read_event(struct reader *r, struct buf *out, bool *over)
{
	struct buf bytes = BUF_INIT(OUTPUT_EVENT);
	const struct ledger_entry *e = idem_output_find_entry(r);
	struct output_part part;
	bool ended, last;
	int err;

	if (!e)
		return ERR_CLOSED;
	ended = idem_has_ended(e);
	if (r->at == idem_output_end(e) && !ended)
		return 1;
	if (r->at == idem_output_end(e)) {
		idem_output_put_end(out, e);
		*over = true;
		return out->err;
	}
	err = idem_read_output(
		idem_reader_get_idem(r), e, r->at, OUTPUT_EVENT, &bytes, &part);
	/* If the piece is not full, it ends at the end of the output or before a gap. */
	last = bytes.n < OUTPUT_EVENT && (ended || part.next < idem_output_end(e));
	if (!err)
		err = output_put_next(out, &r->at, part.from, buf_view(&bytes), last);
	buf_free(&bytes);
	return err;
}

static void idem_output_answer(struct reader *r)
{
	const struct ledger_entry *e = idem_output_find_entry(r);

	if (e)
		idem_output_reply_part(idem_reader_get_idem(r), r->rq, e, r);
	else
		request_fail(r->rq, 410, STR("The output of the action is not stored."));
}

static bool idem_output_has_more(const struct reader *r)
{
	const struct ledger_entry *e = idem_output_find_entry(r);

	return !e || idem_has_ended(e) || idem_output_end(e) > r->at;
}

static const struct reader_ops ops = {
	.next = idem_output_read_event,
	.answer = idem_output_answer,
	.has_more = idem_output_has_more,
	.on_end = idem_reader_on_end,
};

/* --- The route ----------------------------------------------------------------- */

void idem_get_output(struct api *api, struct request *rq, struct str id)
{
	const struct ledger_entry *e = idem_find(api->idem, rq, id);
	struct output_size size;
	struct output_request ask;
	struct idem_reader *r;

	if (!e)
		return;
	size = idem_output_get_size(e);
	if (!output_read_request(rq, &size, false, &ask))
		return;
	r = idem_reader_new(api->idem, rq, &ops);
	if (!r)
		return;
	r->reader.at = ask.from;
	r->reader.max = ask.max;
	r->reader.flag = ask.range;
	memcpy(r->id, e->id, sizeof(r->id));
	reader_begin(&r->reader, ask.wait_s);
}
