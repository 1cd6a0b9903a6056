/* Reads outputs of processes by offset: one part, at once or later, or a stream. */
#include "server/process/processes.h"

#include "server/process/process_cursor.h"
#include "server/process/process_spec.h"

enum { OCTETS_PIECE = 65536 }; /* half of what a reply may queue */

/* In the request's arena. */
struct process_reader {
	struct reader reader;
	struct process_follower follower;
	struct process *process;
	unsigned no;
	bool until_exit;
};

static struct process_reader *process_reader_of(const struct reader *r)
{
	return container_of((struct reader *)(uintptr_t)r, struct process_reader, reader);
}

static struct output_size process_read_get_size(const struct process_reader *pr)
{
	return process_cursor_get_size(pr->process, pr->no, !pr->until_exit);
}

static const char *process_read_get_state(const struct process *p)
{
	return process_get_exit(p) ? "exited" : "running";
}

static void process_read_answer(struct reader *r)
{
	struct process_reader *pr = process_reader_of(r);
	struct output_request ask = {.from = r->at, .range = r->flag};
	struct output_size size = process_read_get_size(pr);
	struct process_part part;
	uint64_t max = size.end > r->at ? size.end - r->at : 0;
	int err = process_output_read(pr->process, pr->no, r->at,
		(size_t)(max < r->max ? max : r->max), request_out(r->rq), &part);

	if (err < 0) {
		request_fail(r->rq, 500, STR("The output cannot be read."));
		return;
	}
	request_add_field(
		r->rq, STR("x-state"), str_c(process_read_get_state(pr->process)));
	output_reply(r->rq, &ask, &size, part.from, part.next);
}

static bool process_read_has_more(const struct reader *r)
{
	struct process_reader *pr = process_reader_of(r);
	struct output_size size = process_read_get_size(pr);

	return size.complete || size.end > r->at || process_is_removed(pr->process);
}

static void process_read_put_end(
	struct reader *r, struct buf *out, const struct output_size *size)
{
	struct process_reader *pr = process_reader_of(r);
	struct jw w;

	reader_put_event(out, &w, size->end, "end");
	jw_key(&w, "state");
	jw_cstr(&w, process_read_get_state(pr->process));
	jw_key(&w, "length");
	jw_uint(&w, size->end);
	process_write_exit(&w, pr->process);
	reader_put_event_end(out, &w);
}

static int process_read_put_event(
	struct reader *r, const struct output_size *size, struct buf *out)
{
	struct process_reader *pr = process_reader_of(r);
	struct buf bytes = BUF_INIT(OUTPUT_EVENT);
	uint64_t left = size->end - r->at;
	struct process_part part;
	bool last;
	int err;

	err = process_output_read(pr->process, pr->no, r->at,
		left < OUTPUT_EVENT ? (size_t)left : OUTPUT_EVENT, &bytes, &part);
	last = size->complete && part.next == size->end;
	if (!err)
		err = output_put_next(out, &r->at, part.from, buf_view(&bytes), last);
	buf_free(&bytes);
	return err;
}

/* A gap ends the stream with an error: octets cannot express it. */
static int process_read_put_octets(
	struct reader *r, const struct output_size *size, struct buf *out)
{
	struct process_reader *pr = process_reader_of(r);
	uint64_t left = size->end - r->at;
	struct process_part part;
	int err = process_output_read(pr->process, pr->no, r->at,
		left < OCTETS_PIECE ? (size_t)left : OCTETS_PIECE, out, &part);

	if (!err && part.from > r->at)
		return ERR_RANGE;
	r->at += out->n;
	return err;
}

static int process_read_put_next(struct reader *r, struct buf *out, bool *over)
{
	struct process_reader *pr = process_reader_of(r);
	struct output_size size = process_read_get_size(pr);

	if (r->at < size.end)
		return r->mode == READER_EVENTS ? process_read_put_event(r, &size, out)
						: process_read_put_octets(r, &size, out);
	if (!size.complete && !process_is_removed(pr->process))
		return 1;
	if (r->mode == READER_EVENTS)
		process_read_put_end(r, out, &size);
	else if (!size.complete)
		return ERR_CLOSED;
	*over = true;
	return out->err;
}

static void process_read_on_end(struct reader *r)
{
	process_unfollow(&process_reader_of(r)->follower);
}

static void process_read_on_sent(struct reader *r)
{
	struct process_reader *pr = process_reader_of(r);

	process_release(pr->process, pr->no, &pr->follower, r->at);
}

static const struct reader_ops ops = {
	.next = process_read_put_next,
	.answer = process_read_answer,
	.has_more = process_read_has_more,
	.on_end = process_read_on_end,
	.on_sent = process_read_on_sent,
};

static void process_read_on_change(struct waiter *f)
{
	reader_wake(&container_of(f, struct process_reader, follower.waiter)->reader);
}

/*
 * Finds the output that the path names. False: there is none, and the request is
 * answered.
 */
static bool process_read_find_output(
	const struct process *p, struct request *rq, unsigned *no)
{
	bool pty = process_outputs(p) == 1;

	*no = str_ends(rq->path, STR("/stderr")) ? PROCESS_STDERR : PROCESS_STDOUT;
	if (pty == str_ends(rq->path, STR("/pty")))
		return true;
	request_fail(rq, 404,
		pty ? STR("The process has a pty. Read its output from /pty.")
		    : STR("The process has no pty. Read its output from /stdout and "
			  "/stderr."));
	return false;
}

void processes_read(struct api *api, struct request *rq, struct str id)
{
	struct process *p = processes_find(api, rq, id);
	struct process_reader *pr;
	struct output_size size;
	struct output_request ask;
	unsigned no;

	if (!p || !process_read_find_output(p, rq, &no))
		return;
	size = process_cursor_get_size(p, no, true);
	if (!output_read_request(rq, &size, true, &ask))
		return;
	pr = arena_alloc(&rq->arena, sizeof(*pr));
	if (!pr) {
		api_reply_nomem(rq);
		return;
	}
	pr->process = p;
	pr->no = no;
	pr->until_exit = ask.until;
	pr->follower.waiter.fn = process_read_on_change;
	reader_init(&pr->reader, api->box->loop, rq, &ops);
	pr->reader.mode = ask.follow ? READER_OCTETS : reader_get_mode(rq);
	pr->reader.at = ask.from;
	pr->reader.max = ask.max;
	pr->reader.flag = ask.range;
	/* A request acknowledges everything before its offset. */
	process_release(p, no, NULL, ask.from);
	pr->follower.releases = pr->reader.mode != READER_SINGLE;
	process_follow(p, &pr->follower);
	reader_begin(&pr->reader, ask.wait_s);
}
