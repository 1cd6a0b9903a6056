#include "server/output_reply.h"

#include "base/b64.h"
#include "base/utf8.h"
#include "codec/http/range.h"
#include "limits.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

void output_refuse(struct request *rq)
{
	request_fail(rq, 416, STR("The offset is beyond the end of the output."));
}

/* Reads Range. If the output is not complete, only the first byte of the range counts. */
static bool output_read_range(
	struct request *rq, const struct output_size *size, struct output_request *ask)
{
	struct str field;
	struct range part;
	int r = request_header(rq, STR("range"), &field);

	if (r == 0)
		r = range_read(field, size->complete ? size->end : INT64_MAX, &part);
	/* ERR_RANGE: the range begins beyond the end. */
	if (r)
		return r == ERR_RANGE;
	ask->from = part.from;
	if (part.n < ask->max)
		ask->max = part.n;
	return true;
}

bool output_read_request(struct request *rq, const struct output_size *size, bool follows,
	struct output_request *out)
{
	static const char *const until[] = {"end", "exit", NULL};
	static const struct param table[] = {
		{"from", PARAM_NUMBER, .at = offsetof(struct output_request, from),
			.max = INT64_MAX},
		{"max", PARAM_NUMBER, .at = offsetof(struct output_request, max),
			.min = 1, .max = OUTPUT_PART_MAX},
		{"wait", PARAM_NUMBER, .at = offsetof(struct output_request, wait_s),
			.max = IDEM_WAIT_MAX_S},
		{"follow", PARAM_BOOL, .at = offsetof(struct output_request, follow)},
		{"until", PARAM_CHOICE, .at = offsetof(struct output_request, until),
			.words = until},
	};
	struct params p = {.arena = &rq->arena, .query = rq->query};
	size_t n = follows ? ARRAY_LEN(table) : 3;
	int err;

	*out = (struct output_request){.from = UINT64_MAX, .max = OUTPUT_PART_MAX};
	err = params_read(&p, table, n, out);
	if (err) {
		api_refuse(rq, (unsigned)err, p.error);
		return false;
	}
	if (out->from == UINT64_MAX)
		out->range = output_read_range(rq, size, out);
	if (out->from == UINT64_MAX && !out->range)
		out->from = reader_last_event_id(rq);
	if (out->from <= size->end)
		return true;
	output_refuse(rq);
	return false;
}

static void output_add_range(
	struct request *rq, const struct output_size *size, uint64_t from, uint64_t next)
{
	char all[24] = "*", text[80];

	if (size->complete)
		snprintf(all, sizeof(all), "%" PRIu64, size->end);
	snprintf(text, sizeof(text), "bytes %" PRIu64 "-%" PRIu64 "/%s", from, next - 1,
		all);
	request_add_field(rq, STR("content-range"), str_c(text));
}

void output_reply(struct request *rq, const struct output_request *ask,
	const struct output_size *size, uint64_t from, uint64_t next)
{
	bool part = ask->range && next > from;
	char length[24];

	api_add_part(rq, ask->from, from, next);
	if (size->complete) {
		snprintf(length, sizeof(length), "%" PRIu64, size->end);
		request_add_field(rq, STR("x-length"), str_c(length));
	}
	if (part)
		output_add_range(rq, size, from, next);
	request_reply(rq, part ? 206 : 200, "application/octet-stream");
}

static void output_put_gap(struct buf *out, uint64_t from, uint64_t to)
{
	struct jw w;

	reader_put_event(out, &w, to, "gap");
	jw_key(&w, "from");
	jw_uint(&w, from);
	jw_key(&w, "to");
	jw_uint(&w, to);
	reader_put_event_end(out, &w);
}

static void output_put_bytes(struct buf *out, uint64_t at, struct str bytes)
{
	struct buf coded = BUF_INIT(2 * OUTPUT_EVENT);
	struct jw w;

	reader_put_event(out, &w, at + bytes.n, "out");
	jw_key(&w, "from");
	jw_uint(&w, at);
	jw_key(&w, "to");
	jw_uint(&w, at + bytes.n);
	if (utf8_is_valid(bytes)) {
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
	reader_put_event_end(out, &w);
}

/* Cuts off half a character at the end, which waits for its rest, unless last is set. */
static struct str output_trim_partial(struct str bytes, bool last)
{
	size_t half = utf8_unfinished_length(bytes);

	if (half < bytes.n || !last)
		bytes.n -= half;
	return bytes;
}

int output_put_next(
	struct buf *out, uint64_t *at, uint64_t from, struct str bytes, bool last)
{
	struct str show = output_trim_partial(bytes, last);

	if (from > *at) {
		output_put_gap(out, *at, from);
		*at = from;
	}
	if (bytes.n && !show.n)
		return 1;
	if (show.n)
		output_put_bytes(out, *at, show);
	*at += show.n;
	return out->err;
}
