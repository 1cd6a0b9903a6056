#include "srv/transfer.h"

#include "limits.h"
#include "proc/job.h"
#include "srv/transfer_io.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

struct transfer {
	struct job job;
	struct request *rq;
	struct transfer_ask ask;
	struct later later;
	struct buf early;   /* output that cannot be handed on yet */
	size_t announced;   /* bytes of the head that have come */
	bool body_complete; /* the request is; before that nothing is answered */
	bool begun;         /* the reply is */
	bool over;          /* the job is */
};

static void free_late(struct later *later)
{
	struct transfer *t = container_of(later, struct transfer, later);

	buf_free(&t->early);
	free(t);
}

/* Nobody will call back any more. */
static void let_go(struct transfer *t)
{
	struct loop *l = t->job.loop;

	t->rq->user = NULL;
	job_free(&t->job);
	loop_free_later(l, &t->later, free_late);
}

static void begin(struct transfer *t)
{
	struct transfer_head head;

	memcpy(&head, t->early.p, sizeof(head));
	buf_consume(&t->early, sizeof(head));
	for (size_t i = 0; i < ARRAY_LEN(head.fields) && head.fields[i].name[0]; i++)
		request_add_field(
			t->rq, str_c(head.fields[i].name), str_c(head.fields[i].value));
	t->begun = true;
	request_begin(t->rq, head.status, head.type[0] ? head.type : NULL, head.length);
}

static void end(struct transfer *t)
{
	struct request *rq = t->rq;
	enum job_outcome outcome = t->job.outcome;
	bool begun = t->begun;

	let_go(t);
	if (!begun)
		request_fail(rq, 500, str_c(job_words(outcome)));
	else if (outcome == JOB_DONE)
		request_end(rq);
	else
		request_cut(rq);
}

/* Hands on what there is, as far as that may be. */
static void advance(struct transfer *t)
{
	bool more = false;

	if (t->body_complete && !t->begun && t->early.n >= sizeof(struct transfer_head))
		begin(t);
	if (t->begun) {
		more = request_write(t->rq, buf_view(&t->early));
		buf_reset(&t->early);
	}
	if (t->body_complete && t->over)
		end(t);
	else if (!t->over && (t->begun || t->early.n >= JOB_PIECE))
		job_pause(&t->job, !more);
}

static void on_output(struct job *j, struct str piece)
{
	struct transfer *t = container_of(j, struct transfer, job);

	if (t->begun) {
		if (!request_write(t->rq, piece))
			job_pause(j, true);
		return;
	}
	buf_str(&t->early, piece);
	advance(t);
}

static void on_room(struct job *j)
{
	request_take_more(container_of(j, struct transfer, job)->rq);
}

static void on_done(struct job *j)
{
	struct transfer *t = container_of(j, struct transfer, job);

	t->over = true;
	if (!t->body_complete)
		request_take_more(t->rq);
	advance(t);
}

static int work(void *arg, int in, int out)
{
	const struct transfer *t = arg;

	return transfer_work(&t->ask, in, out);
}

/* The room for early output all at once: there is no way to tell of a lack later. */
static struct transfer *transfer_new(void)
{
	struct transfer *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	buf_init(&t->early, 2 * JOB_PIECE + sizeof(struct transfer_head));
	if (buf_room(&t->early, t->early.max))
		return t;
	free(t);
	return NULL;
}

void transfer_start(struct api *api, struct request *rq, const struct transfer_ask *ask)
{
	static const struct job_ops ops = {
		.output = on_output,
		.room = on_room,
		.done = on_done,
	};
	struct transfer *t = transfer_new();
	struct job_conf conf = {
		.ops = &ops,
		.user = api->box->user,
		.work = work,
		.arg = t,
		.wide = ask->quick ? 0 : TRANSFER_PIPE,
		.input = rq->body_max > HTTP_BODY_MAX,
		.lasting = !ask->quick,
		.ms = ask->quick ? TRANSFER_QUICK_MS : 0,
	};
	int r;

	if (!t) {
		api_no_memory(rq);
		return;
	}
	t->rq = rq;
	t->ask = *ask;
	r = job_start(&t->job, api->box->loop, &conf);
	if (r < 0) {
		free_late(&t->later);
		request_fail(
			rq, 503, STR("The sandbox cannot start one more transfer now."));
		return;
	}
	rq->user = t;
	rq->body_streams = conf.input;
	t->body_complete = !conf.input;
}

size_t transfer_body(struct request *rq, struct str piece)
{
	struct transfer *t = rq->user;

	/* After its end, what is still to come is thrown away. */
	return t->over ? piece.n : job_feed(&t->job, piece);
}

ssize_t transfer_move(struct request *rq, int fd, size_t n)
{
	struct transfer *t = rq->user;

	return t->over ? -EPIPE : job_move(&t->job, fd, n);
}

void transfer_ready(struct request *rq)
{
	struct transfer *t = rq->user;

	t->body_complete = true;
	if (!t->over)
		job_feed_end(&t->job);
	advance(t);
}

void transfer_room(struct request *rq)
{
	struct transfer *t = rq->user;

	if (!t->over)
		job_pause(&t->job, false);
}

void transfer_gone(struct request *rq)
{
	let_go(rq->user);
}
