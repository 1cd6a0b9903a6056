#include "server/files/transfer.h"

#include "limits.h"
#include "proc/job.h"
#include "server/files/priv_writer.h"
#include "server/files/transfer_io.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

enum {
	TRANSFER_PIPE = 1 << 20,   /* bytes between job and server: fewer turns */
	TRANSFER_MOVE = 16384,     /* bytes of a reply: less is copied, not spliced */
	TRANSFER_QUICK_MS = 60000, /* to list, to move...: a network disk may hang */
};

enum transfer_state {
	TRANSFER_RECEIVING,  /* the body is passed to the job; there is no reply yet */
	TRANSFER_DISCARDING, /* the body is discarded, because the job has ended */
	TRANSFER_WAITING,    /* waits for the head of the job's reply */
	TRANSFER_REPLYING,   /* the reply is passed from the job to the peer */
	TRANSFER_ENDED,
};

struct transfer {
	struct list node; /* in the list of endless transfers */
	enum transfer_state state;
	struct job job;
	struct request *rq;
	struct transfer_request ask;
	struct later later;
	struct buf early; /* output that cannot be passed on yet */
};

static struct list endless;

static void transfer_set_state(struct transfer *t, enum transfer_state to)
{
	static const bool legal[TRANSFER_ENDED + 1][TRANSFER_ENDED + 1] = {
		[TRANSFER_RECEIVING] = {[TRANSFER_DISCARDING] = true,
			[TRANSFER_WAITING] = true,
			[TRANSFER_ENDED] = true},
		[TRANSFER_DISCARDING] =
			{[TRANSFER_WAITING] = true, [TRANSFER_ENDED] = true},
		[TRANSFER_WAITING] =
			{[TRANSFER_REPLYING] = true, [TRANSFER_ENDED] = true},
		[TRANSFER_REPLYING] = {[TRANSFER_ENDED] = true},
	};

	assert(legal[t->state][to]);
	t->state = to;
}

static void transfer_free_memory(struct later *later)
{
	struct transfer *t = container_of(later, struct transfer, later);

	buf_free(&t->early);
	free(t);
}

/* Frees t; no callback follows. */
static void transfer_free(struct transfer *t)
{
	struct loop *l = t->job.loop;

	transfer_set_state(t, TRANSFER_ENDED);
	list_remove(&t->node);
	t->rq->user = NULL;
	job_free(&t->job);
	loop_defer_free(l, &t->later, transfer_free_memory);
}

/* The string in an array of a head. The terminating NUL may be missing. */
static struct str transfer_bound_text(const char *p, size_t room)
{
	return str_make(p, strnlen(p, room));
}

/*
 * Begins the reply if its head is complete. The job is not trusted, so its strings are
 * bounded.
 */
static void transfer_begin_reply(struct transfer *t)
{
	struct transfer_head head;

	if (t->early.n < sizeof(head))
		return;
	transfer_set_state(t, TRANSFER_REPLYING);
	memcpy(&head, t->early.p, sizeof(head));
	buf_consume(&t->early, sizeof(head));
	for (size_t i = 0; i < ARRAY_LEN(head.fields) && head.fields[i].name[0]; i++) {
		const struct transfer_add_field *f = &head.fields[i];

		request_add_field(t->rq, transfer_bound_text(f->name, sizeof(f->name)),
			transfer_bound_text(f->value, sizeof(f->value)));
	}
	head.type[sizeof(head.type) - 1] = '\0';
	request_begin(t->rq, head.status, head.type[0] ? head.type : NULL, head.length);
}

/* Passes on all output that may be sent. Returns whether more may come. */
static bool transfer_pass_output(struct transfer *t)
{
	bool more;

	if (t->state == TRANSFER_WAITING)
		transfer_begin_reply(t);
	if (t->state != TRANSFER_REPLYING)
		return t->early.n < JOB_PIECE;
	more = request_write(t->rq, buf_view(&t->early));
	buf_reset(&t->early);
	return more;
}

/* The job and the body have ended. */
static void transfer_finish(struct transfer *t)
{
	struct request *rq = t->rq;
	enum job_outcome outcome = t->job.outcome;
	bool begun;

	/* During a reply no output is early, and nothing may follow what was offered. */
	if (t->state != TRANSFER_REPLYING)
		(void)transfer_pass_output(t);
	begun = t->state == TRANSFER_REPLYING;
	transfer_free(t);
	if (!begun)
		request_fail(rq, job_has_no_effect(outcome) ? 503 : 500,
			str_c(job_outcome_text(outcome)));
	else if (outcome == JOB_DONE)
		request_end(rq);
	else
		request_abort(rq);
}

static void transfer_on_output(struct job *j, struct str piece)
{
	struct transfer *t = container_of(j, struct transfer, job);

	bool more;

	if (t->state == TRANSFER_REPLYING) {
		more = request_write(t->rq, piece);
	} else {
		buf_str(&t->early, piece);
		more = transfer_pass_output(t);
	}
	if (!more)
		job_pause(j, true);
}

/* Offers the job's output for splicing, if that is possible and there is enough. */
static bool transfer_offer_splice(struct transfer *t)
{
	size_t n = t->state == TRANSFER_REPLYING ? job_count_output(&t->job) : 0;

	return n >= TRANSFER_MOVE && request_offer(t->rq, n);
}

static bool transfer_on_waiting(struct job *j)
{
	if (!transfer_offer_splice(container_of(j, struct transfer, job)))
		return false;
	job_pause(j, true);
	return true;
}

static void transfer_on_job_writable(struct job *j)
{
	request_resume_body(container_of(j, struct transfer, job)->rq);
}

static void transfer_on_job_done(struct job *j)
{
	struct transfer *t = container_of(j, struct transfer, job);

	if (t->state != TRANSFER_RECEIVING) {
		transfer_finish(t);
		return;
	}
	transfer_set_state(t, TRANSFER_DISCARDING);
	request_resume_body(t->rq);
}

static int transfer_run_job(void *arg, int in, int out)
{
	const struct transfer *t = arg;

	int r = transfer_io_run(&t->ask, in, out);

	priv_writer_end();
	return r;
}

static void transfer_prepare(void *arg)
{
	const struct transfer *t = arg;

	priv_writer_start(t->ask.privileged);
}

/* Allocates the space for early output: a failure could not be reported later. */
static struct transfer *transfer_new(void)
{
	struct transfer *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	buf_init(&t->early, 2 * JOB_PIECE + sizeof(struct transfer_head));
	if (buf_reserve(&t->early, t->early.max))
		return t;
	free(t);
	return NULL;
}

/* Endless transfers keep their jobs, so a queue behind them would never move. */
static bool transfer_has_slot(const struct transfer_request *ask)
{
	return !ask->endless || list_count(&endless) < WATCHES_MAX;
}

static void transfer_refuse(struct request *rq, bool watch)
{
	request_fail(rq, 503,
		watch ? STR("The sandbox cannot watch anything more now: too many "
			    "watches and transfers run. End one and try again.")
		      : STR("The sandbox cannot start another transfer now. Try again "
			    "later."));
}

/* Whether the body of the request is the input of the job. */
static bool transfer_has_body(const struct request *rq)
{
	return rq->body_max > HTTP_BODY_MAX;
}

static int transfer_start_job(struct transfer *t, struct api *api)
{
	static const struct job_ops ops = {
		.output = transfer_on_output,
		.output_ready = transfer_on_waiting,
		.writable = transfer_on_job_writable,
		.done = transfer_on_job_done,
	};
	const struct transfer_request *ask = &t->ask;
	struct job_conf conf = {
		.ops = &ops,
		.user = api->box->user,
		.work = transfer_run_job,
		.prepare = ask->privileged ? transfer_prepare : NULL,
		.arg = t,
		/* A small pipe, so that a watch without a reader notices it soon. */
		.pipe_size = ask->quick || ask->endless ? 0 : TRANSFER_PIPE,
		/* An endless job ends at the end of its input. */
		.input = transfer_has_body(t->rq) || ask->endless,
		.kind = !ask->quick  ? JOB_LASTING
			: ask->aside ? JOB_LONG
				     : JOB_SHORT,
		.ms = ask->quick ? TRANSFER_QUICK_MS : 0,
	};
	int r = job_start(&t->job, api->box->loop, &conf);

	if (!r && ask->endless && t->job.state == JOB_WAITS)
		r = ERR_LIMIT;
	if (!r || t->job.state == JOB_NONE)
		return r;
	job_free(&t->job);
	return r;
}

static size_t transfer_on_body(struct request *rq, struct str piece)
{
	struct transfer *t = rq->user;

	return t->state == TRANSFER_DISCARDING ? piece.n : job_feed(&t->job, piece);
}

static ssize_t transfer_on_splice_in(struct request *rq, int fd, size_t n)
{
	struct transfer *t = rq->user;

	return t->state == TRANSFER_DISCARDING ? -EPIPE : job_splice_in(&t->job, fd, n);
}

static ssize_t transfer_on_splice_out(struct request *rq, int fd, size_t n)
{
	struct transfer *t = rq->user;

	return job_splice_out(&t->job, fd, n);
}

static void transfer_on_ready(struct request *rq)
{
	struct transfer *t = rq->user;
	bool over = t->state == TRANSFER_DISCARDING;

	transfer_set_state(t, TRANSFER_WAITING);
	if (over) {
		transfer_finish(t);
		return;
	}
	job_feed_end(&t->job);
	job_pause(&t->job, !transfer_pass_output(t));
}

static void transfer_on_writable(struct request *rq)
{
	struct transfer *t = rq->user;

	/* Continues the job, unless its output is offered. */
	job_pause(&t->job, transfer_offer_splice(t));
}

static void transfer_on_close(struct request *rq)
{
	transfer_free(rq->user);
}

static const struct request_ops transfer_request_ops = {
	.on_ready = transfer_on_ready,
	.on_close = transfer_on_close,
	.on_writable = transfer_on_writable,
	.on_body = transfer_on_body,
	.on_splice_in = transfer_on_splice_in,
	.on_splice_out = transfer_on_splice_out,
};

void transfer_start(
	struct api *api, struct request *rq, const struct transfer_request *ask)
{
	struct transfer *t;

	if (!transfer_has_slot(ask)) {
		transfer_refuse(rq, true);
		return;
	}
	t = transfer_new();
	if (!t) {
		api_reply_nomem(rq);
		return;
	}
	t->rq = rq;
	t->ask = *ask;
	if (transfer_start_job(t, api) < 0) {
		transfer_free_memory(&t->later);
		transfer_refuse(rq, ask->endless);
		return;
	}
	rq->ops = &transfer_request_ops;
	rq->user = t;
	rq->body_streams = transfer_has_body(rq);
	if (!rq->body_streams)
		transfer_set_state(t, TRANSFER_WAITING);
	rq->needs_peer = ask->endless;
	if (ask->endless)
		list_prepend(&endless, &t->node);
}

void transfer_stop(void)
{
	LIST_EACH (struct transfer, t, &endless, node)
		job_feed_end(&t->job);
}
