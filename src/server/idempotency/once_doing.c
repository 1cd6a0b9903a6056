/* Pending actions, the requests that wait for them, and the replies. */
#include "server/idempotency/once_private.h"

#include "action/observe.h"
#include "base/clock.h"
#include "base/log.h"
#include "limits.h"

#include <stdio.h>
#include <stdlib.h>

enum { ONCE_WORDS_MAX = 512 };

static const char *const words[LEDGER_STATES] = {
	[LEDGER_ACCEPTED] = "accepted",
	[LEDGER_STARTED] = "running",
	[LEDGER_DONE] = "done",
	[LEDGER_CANCELLED] = "cancelled",
	[LEDGER_INTERRUPTED] = "interrupted",
};

const char *once_state_word(unsigned state)
{
	return state < LEDGER_STATES ? words[state] : "";
}

const char *once_word(const struct ledger_entry *e)
{
	return words[e->state];
}

static const char interrupted[] =
	"ERROR: The sandbox was restarted while this action was on its way. Whether it "
	"had an effect is not known; it is not done again under the same id.";
static const char cancelled[] =
	"ERROR: This action was cancelled before it was started; it had no effect.";
static const char stopped[] =
	"ERROR: This action was cancelled while it was on its way. Whether it had an "
	"effect is not known; it is not done again under the same id.";
static const char lost[] = "ERROR: This action is done, but its answer could not be "
			   "kept: there was no room.";

/* --- Answers ------------------------------------------------------------------ */

static void error_observation(struct buf *out, const char *text)
{
	struct act a = {.out = out};

	observe_error(&a, str_c(text));
}

/*
 * The HTTP status of the answer, which waiting requests get even if it cannot be
 * recorded.
 */
static unsigned status_of(const struct ledger_entry *e)
{
	const struct doing *d = e->owner;

	return e->status || !d ? e->status : d->unkept;
}

/* The message of an action without an answer of its own; NULL: it has an answer. */
static const char *words_of(const struct ledger_entry *e)
{
	if (e->state == LEDGER_INTERRUPTED)
		return e->cancel ? stopped : interrupted;
	if (e->state == LEDGER_CANCELLED)
		return cancelled;
	return e->state == LEDGER_DONE && !e->status ? lost : NULL;
}

/* Returns 0, or the error of reading the answer. */
static int put_answer(const struct once *o, const struct ledger_entry *e, struct buf *out)
{
	const struct doing *d = e->owner;
	const char *told = words_of(e);

	if (d && d->unkept)
		buf_str(out, buf_view(&d->out));
	else if (told)
		error_observation(out, told);
	else
		return ledger_answer(&o->ledger, e, out);
	return out->err;
}

int once_read_answer(const struct once *o, const struct ledger_entry *e, uint64_t at,
	size_t max, struct buf *out, uint64_t *all)
{
	struct buf whole = BUF_INIT(2 * ONCE_WORDS_MAX);
	const char *told = words_of(e);
	struct str part;
	int r;

	if (told) {
		error_observation(&whole, told);
		*all = whole.n;
		part = str_skip(buf_view(&whole), (size_t)at);
		buf_put(out, part.p, part.n < max ? part.n : max);
		r = whole.err ? whole.err : out->err;
		buf_free(&whole);
		return r;
	}
	*all = e->n;
	if (max > e->n - at)
		max = (size_t)(e->n - at);
	return ledger_answer_part(&o->ledger, e, at, max, out);
}

bool once_has_ended(const struct ledger_entry *e)
{
	return e->state >= LEDGER_DONE;
}

/* Replies with the first answer of the action. */
void once_reply(const struct once *o, struct request *rq, const struct ledger_entry *e,
	bool again)
{
	if (again)
		request_add_field(rq, STR("idempotent-replayed"), STR("true"));
	if (put_answer(o, e, request_out(rq)) < 0)
		request_fail(rq, 500, STR("The answer to this action cannot be read."));
	else
		request_reply(rq, status_of(e) ? status_of(e) : 200, API_JSON);
}

/* Replies with the state of the action. */
void once_reply_state(const struct once *o, struct request *rq,
	const struct ledger_entry *e, unsigned status, bool again)
{
	struct buf answer = BUF_INIT(HTTP_REPLY_MAX);
	struct jw w;

	jw_init(&w, request_out(rq));
	jw_object(&w);
	jw_key(&w, "id");
	jw_cstr(&w, e->id);
	jw_key(&w, "state");
	jw_cstr(&w, once_word(e));
	jw_key(&w, "replayed");
	jw_bool(&w, again);
	jw_key(&w, "acknowledged");
	jw_bool(&w, e->acked);
	if (e->cancel) {
		jw_key(&w, "cancel");
		jw_cstr(&w, once_modes[e->cancel - 1]);
	}
	if (once_has_ended(e) && put_answer(o, e, &answer) == 0 && answer.n) {
		jw_key(&w, status_of(e) < 400 ? "observation" : "error");
		jw_raw(&w, buf_view(&answer));
	}
	jw_end(&w);
	buf_free(&answer);
	request_reply(rq, status, API_JSON);
}

/* --- Waiting requests --------------------------------------------------------- */

static void drop_asker(struct asker *a)
{
	struct asker **at = &a->doing->askers;

	while (*at != a)
		at = &(*at)->next;
	*at = a->next;
	timer_cancel(a->doing->once->box->loop, &a->patience);
	a->rq->user = NULL;
}

void once_answer(struct asker *a)
{
	const struct once *o = a->doing->once;
	const struct ledger_entry *e = a->doing->entry;
	struct request *rq = a->rq;
	bool plain = a->plain;

	drop_asker(a);
	if (!plain)
		once_reply_state(o, rq, e, once_has_ended(e) ? 200 : 202, false);
	else if (once_has_ended(e))
		once_reply(o, rq, e, false);
	else
		request_fail(rq, 503, STR("The sandbox stops before this action ends."));
}

static void patience_over(struct timer *t)
{
	once_answer(container_of(t, struct asker, patience));
}

/* The action continues, unless it is to end with the requests that wait for it. */
static void asker_gone(struct request *rq)
{
	struct asker *a = rq->user;
	struct doing *d = a->doing;

	drop_asker(a);
	if (d->leaves && !d->askers)
		once_leave(d);
}

/* ms 0: without a limit. */
void once_wait(struct doing *d, struct request *rq, bool plain, uint64_t ms)
{
	struct asker *a = arena_alloc(&rq->arena, sizeof(*a));

	if (!a) {
		api_no_memory(rq);
		return;
	}
	*a = (struct asker){.asked.gone = asker_gone,
		.rq = rq,
		.doing = d,
		.next = d->askers,
		.plain = plain};
	d->askers = a;
	d->attended |= plain;
	/*
	 * If the action ends with its waiters, a peer that has closed its side counts as
	 * gone.
	 */
	rq->needs_peer = d->leaves;
	timer_cancel(d->once->box->loop, &d->leave);
	rq->user = a;
	if (ms && timer_set(d->once->box->loop, &a->patience, ms, patience_over) < 0)
		once_answer(a);
}

/* --- Pending actions ----------------------------------------------------------- */

void once_free(struct doing *d)
{
	struct doing **at = &d->once->doings;

	while (*at != d)
		at = &(*at)->next;
	*at = d->next;
	timer_cancel(d->once->box->loop, &d->end);
	timer_cancel(d->once->box->loop, &d->harder);
	timer_cancel(d->once->box->loop, &d->leave);
	arena_reset(&d->arena);
	buf_free(&d->body);
	buf_free(&d->out);
	free(d);
}

static void free_later(struct timer *t)
{
	once_free(container_of(t, struct doing, end));
}

/* Records the answer, if the ledger has space, before any request is answered. */
static void end(struct doing *d, enum ledger_state how, unsigned status)
{
	struct once *o = d->once;
	struct str answer = buf_view(&d->out);
	int r;

	if (d->out.err) {
		answer.n = 0;
		status = 0;
	}
	timer_cancel(o->box->loop, &d->harder);
	timer_cancel(o->box->loop, &d->leave);
	r = ledger_end(&o->ledger, d->entry, how, status, answer);
	d->unkept = r < 0 && answer.n ? status : 0;
	if (r < 0)
		log_warn("the answer to action %s cannot be kept: %s", d->entry->id,
			err_text(r));
	once_tidy(o);
	once_wake(o);
	while (d->askers)
		once_answer(d->askers);
	d->entry->owner = NULL;
	/* Code of the action may still run on the stack, so its memory is freed later. */
	if (timer_set(o->box->loop, &d->end, 0, free_later) < 0)
		log_warn("out of memory for the end of an action");
}

void once_end(struct doing *d, enum ledger_state how)
{
	buf_reset(&d->out);
	end(d, how, 0);
}

/*
 * Whether all waiting requests seem closed. False if no request has waited for the
 * answer: the client can request the answer later.
 */
static bool is_alone(const struct act *act)
{
	const struct doing *d = act->user;
	bool alone = d->attended;

	for (const struct asker *a = d->askers; a && alone; a = a->next)
		alone = request_half_closed(a->rq);
	return alone;
}

static void act_ended(struct act *a)
{
	end(a->user, LEDGER_DONE, 200);
}

/* Answers with the texts that api.c uses for an action without an id. */
static void refused(struct doing *d, int r, const char *why)
{
	struct buf said = BUF_INIT(ONCE_WORDS_MAX);
	struct jw w;

	if (r == ACT_FAIL)
		buf_fmt(&said, "Internal server error: %s", d->act.why);
	else
		buf_puts(&said,
			r == ERR_TYPE ? "Invalid request parameters"
				      : "The sandbox is out of memory for this request.");
	buf_reset(&d->out);
	jw_init(&w, &d->out);
	jw_object(&w);
	jw_key(&w, "detail");
	jw_str(&w, buf_view(&said));
	if (r == ERR_TYPE) {
		jw_key(&w, "errors");
		jw_cstr(&w, why);
	}
	jw_end(&w);
	buf_free(&said);
	end(d, LEDGER_DONE, r == ACT_FAIL ? 500 : r == ERR_TYPE ? 422 : 503);
}

/* The start is recorded before the action has an effect. */
static int starts(struct act *a)
{
	struct doing *d = a->user;

	once_wake(d->once);
	return ledger_start(&d->once->ledger, d->entry);
}

static void printed(struct act *a, struct str bytes, uint64_t source)
{
	struct doing *d = a->user;

	ledger_printed(&d->once->ledger, d->entry, bytes, source);
	once_wake(d->once);
}

int once_read(struct doing *d, uint8_t how, struct params *p)
{
	struct json_val event;
	int r = d->body.err ? 503 : params_body(p, buf_view(&d->body));

	if (r)
		return r;
	event = how & ASKED_WRAPPED ? json_get(p->body, "action") : p->body;
	if (json_type(event) != JSON_OBJECT) {
		snprintf(p->wrong, sizeof(p->wrong),
			"body: an object under \"action\" is required");
		return 422;
	}
	d->why = "";
	d->act = (struct act){
		.box = d->once->box,
		.arena = &d->arena,
		.out = &d->out,
		.event = event,
		.done = act_ended,
		.alone = is_alone,
		.before_effect = starts,
		.printed = how & ASKED_QUIET ? NULL : printed,
		.user = d,
	};
	d->unread = act_read(&d->act, &d->why);
	return 0;
}

void once_own(struct doing *d, struct ledger_entry *e)
{
	e->owner = d;
	d->entry = e;
	d->act.id = str_c(e->id);
}

void once_start(struct doing *d)
{
	int r = d->unread ? d->unread : act_start_read(&d->act);

	if (r == ACT_DONE)
		end(d, LEDGER_DONE, 200);
	else if (r != ACT_WAIT)
		refused(d, r, d->why);
}

int once_go_on(struct doing *d)
{
	uint64_t now = clock_ms();

	d->act.spent = now > d->entry->begun ? now - d->entry->begun : 0;
	d->act.printed_before = d->entry->output;
	if (d->entry->output)
		d->act.source = d->entry->output->source;
	return !d->unread && act_resume(&d->act) == ACT_WAIT ? 0 : ERR_CLOSED;
}

struct doing *once_doing_new(struct once *o, struct str body)
{
	struct doing *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	*d = (struct doing){.once = o,
		.body = BUF_INIT(HTTP_BODY_MAX),
		.out = BUF_INIT(HTTP_REPLY_MAX),
		.next = o->doings};
	arena_init(&d->arena, HTTP_ARENA_MAX);
	o->doings = d;
	buf_str(&d->body, body);
	return d;
}
