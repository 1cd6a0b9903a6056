#include "server/files/transfer.h"

#include "limits.h"
#include "proc/job.h"
#include "server/files/priv_writer.h"
#include "server/files/transfer_io.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

enum transfer_state {
	TRANSFER_TAKES,    /* the body is passed to the job; there is no reply yet */
	TRANSFER_DISCARDS, /* the body is discarded, because the job has ended */
	TRANSFER_WAITS,    /* waits for the head of the job's reply */
	TRANSFER_REPLIES,  /* the reply is passed from the job to the peer */
	TRANSFER_OVER,
};

struct transfer {
	enum transfer_state state;
	struct job job;
	struct request *rq;
	struct transfer_ask ask;
	struct transfer *next; /* in the list of endless transfers */
	struct later later;
	struct buf early; /* output that cannot be passed on yet */
};

static struct transfer *endless;

static void enter(struct transfer *t, enum transfer_state to)
{
	static const bool legal[TRANSFER_OVER + 1][TRANSFER_OVER + 1] = {
		[TRANSFER_TAKES] = {[TRANSFER_DISCARDS] = true,
			[TRANSFER_WAITS] = true,
			[TRANSFER_OVER] = true},
		[TRANSFER_DISCARDS] = {[TRANSFER_WAITS] = true, [TRANSFER_OVER] = true},
		[TRANSFER_WAITS] = {[TRANSFER_REPLIES] = true, [TRANSFER_OVER] = true},
		[TRANSFER_REPLIES] = {[TRANSFER_OVER] = true},
	};

	assert(legal[t->state][to]);
	t->state = to;
}

static void free_late(struct later *later)
{
	struct transfer *t = container_of(later, struct transfer, later);

	buf_free(&t->early);
	free(t);
}

/* Frees t; no callback follows. */
static void let_go(struct transfer *t)
{
	struct loop *l = t->job.loop;
	struct transfer **at = &endless;

	enter(t, TRANSFER_OVER);
	while (*at && *at != t)
		at = &(*at)->next;
	if (*at)
		*at = t->next;
	t->rq->user = NULL;
	job_free(&t->job);
	loop_free_later(l, &t->later, free_late);
}

/* The string in an array of a head. The terminating NUL may be missing. */
static struct str text_in(const char *p, size_t room)
{
	return str_make(p, strnlen(p, room));
}

/*
 * Begins the reply if its head is complete. The job is not trusted, so its strings are
 * bounded.
 */
static void begin(struct transfer *t)
{
	struct transfer_head head;

	if (t->early.n < sizeof(head))
		return;
	enter(t, TRANSFER_REPLIES);
	memcpy(&head, t->early.p, sizeof(head));
	buf_consume(&t->early, sizeof(head));
	for (size_t i = 0; i < ARRAY_LEN(head.fields) && head.fields[i].name[0]; i++) {
		const struct transfer_field *f = &head.fields[i];

		request_add_field(t->rq, text_in(f->name, sizeof(f->name)),
			text_in(f->value, sizeof(f->value)));
	}
	head.type[sizeof(head.type) - 1] = '\0';
	request_begin(t->rq, head.status, head.type[0] ? head.type : NULL, head.length);
}

/* Passes on all output that may be sent. Returns whether more may come. */
static bool hand_on(struct transfer *t)
{
	bool more;

	if (t->state == TRANSFER_WAITS)
		begin(t);
	if (t->state != TRANSFER_REPLIES)
		return t->early.n < JOB_PIECE;
	more = request_write(t->rq, buf_view(&t->early));
	buf_reset(&t->early);
	return more;
}

/* The job and the body have ended. */
static void finish(struct transfer *t)
{
	struct request *rq = t->rq;
	enum job_outcome outcome = t->job.outcome;
	bool begun;

	/* During a reply no output is early, and nothing may follow what was offered. */
	if (t->state != TRANSFER_REPLIES)
		(void)hand_on(t);
	begun = t->state == TRANSFER_REPLIES;
	let_go(t);
	if (!begun)
		request_fail(rq, job_did_nothing(outcome) ? 503 : 500,
			str_c(job_words(outcome)));
	else if (outcome == JOB_DONE)
		request_end(rq);
	else
		request_cut(rq);
}

static void on_output(struct job *j, struct str piece)
{
	struct transfer *t = container_of(j, struct transfer, job);

	bool more;

	if (t->state == TRANSFER_REPLIES) {
		more = request_write(t->rq, piece);
	} else {
		buf_str(&t->early, piece);
		more = hand_on(t);
	}
	if (!more)
		job_pause(j, true);
}

/* Offers the job's output for splicing, if that is possible and there is enough. */
static bool offer(struct transfer *t)
{
	size_t n = t->state == TRANSFER_REPLIES ? job_waiting(&t->job) : 0;

	return n >= TRANSFER_MOVE && request_offer(t->rq, n);
}

static bool on_waiting(struct job *j)
{
	if (!offer(container_of(j, struct transfer, job)))
		return false;
	job_pause(j, true);
	return true;
}

static void on_room(struct job *j)
{
	request_take_more(container_of(j, struct transfer, job)->rq);
}

static void on_done(struct job *j)
{
	struct transfer *t = container_of(j, struct transfer, job);

	if (t->state != TRANSFER_TAKES) {
		finish(t);
		return;
	}
	enter(t, TRANSFER_DISCARDS);
	request_take_more(t->rq);
}

static int work(void *arg, int in, int out)
{
	const struct transfer *t = arg;

	int r = transfer_work(&t->ask, in, out);

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
	if (buf_room(&t->early, t->early.max))
		return t;
	free(t);
	return NULL;
}

/* Endless transfers keep their jobs, so a queue behind them would never move. */
static bool is_place_left(const struct transfer_ask *ask)
{
	size_t n = 0;

	for (const struct transfer *t = endless; t; t = t->next)
		n++;
	return !ask->endless || n < WATCHES_MAX;
}

static void refuse(struct request *rq, bool watch)
{
	request_fail(rq, 503,
		watch ? STR("The sandbox cannot watch anything more now: too many "
			    "watches and transfers run. End one and try again.")
		      : STR("The sandbox cannot start one more transfer now."));
}

/* Whether the body of the request is the input of the job. */
static bool body_streams(const struct request *rq)
{
	return rq->body_max > HTTP_BODY_MAX;
}

static int start_job(struct transfer *t, struct api *api)
{
	static const struct job_ops ops = {
		.output = on_output,
		.waiting = on_waiting,
		.room = on_room,
		.done = on_done,
	};
	const struct transfer_ask *ask = &t->ask;
	struct job_conf conf = {
		.ops = &ops,
		.user = api->box->user,
		.work = work,
		.prepare = ask->privileged ? transfer_prepare : NULL,
		.arg = t,
		/* A small pipe, so that a watch without a reader notices it soon. */
		.wide = ask->quick || ask->endless ? 0 : TRANSFER_PIPE,
		/* An endless job ends at the end of its input. */
		.input = body_streams(t->rq) || ask->endless,
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

void transfer_start(struct api *api, struct request *rq, const struct transfer_ask *ask)
{
	struct transfer *t;

	if (!is_place_left(ask)) {
		refuse(rq, true);
		return;
	}
	t = transfer_new();
	if (!t) {
		api_no_memory(rq);
		return;
	}
	t->rq = rq;
	t->ask = *ask;
	if (start_job(t, api) < 0) {
		free_late(&t->later);
		refuse(rq, ask->endless);
		return;
	}
	rq->user = t;
	rq->body_streams = body_streams(rq);
	if (!rq->body_streams)
		enter(t, TRANSFER_WAITS);
	rq->needs_peer = ask->endless;
	if (ask->endless) {
		t->next = endless;
		endless = t;
	}
}

void transfer_stop(void)
{
	for (struct transfer *t = endless; t; t = t->next)
		job_feed_end(&t->job);
}

size_t transfer_body(struct request *rq, struct str piece)
{
	struct transfer *t = rq->user;

	return t->state == TRANSFER_DISCARDS ? piece.n : job_feed(&t->job, piece);
}

ssize_t transfer_move(struct request *rq, int fd, size_t n)
{
	struct transfer *t = rq->user;

	return t->state == TRANSFER_DISCARDS ? -EPIPE : job_move(&t->job, fd, n);
}

ssize_t transfer_hand(struct request *rq, int fd, size_t n)
{
	struct transfer *t = rq->user;

	return job_hand(&t->job, fd, n);
}

void transfer_ready(struct request *rq)
{
	struct transfer *t = rq->user;
	bool over = t->state == TRANSFER_DISCARDS;

	enter(t, TRANSFER_WAITS);
	if (over) {
		finish(t);
		return;
	}
	job_feed_end(&t->job);
	job_pause(&t->job, !hand_on(t));
}

void transfer_room(struct request *rq)
{
	struct transfer *t = rq->user;

	/* Continues the job, unless its output is offered. */
	job_pause(&t->job, offer(t));
}

void transfer_gone(struct request *rq)
{
	let_go(rq->user);
}
