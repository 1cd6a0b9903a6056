/* The requests that submit actions, or wait for them, and the replies. */
#include "server/idempotency/idem_private.h"

#include "limits.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

/* --- Requests that wait for an action ------------------------------------------- */

/* In the request's arena. */
struct request_sink {
	struct action_sink sink;
	struct request *rq;
	struct idem *idem;
	struct timer timer;
	uint64_t wait_ms; /* 0: without a limit */
};

static struct request_sink *request_sink_of(const struct action_sink *s)
{
	return container_of(
		(struct action_sink *)(uintptr_t)s, struct request_sink, sink);
}

static void request_sink_reply_state(struct request_sink *w)
{
	idem_reply_state(w->idem, w->rq, w->sink.entry, w->sink.replayed);
}

static void request_sink_end(struct request_sink *w)
{
	timer_cancel(w->idem->box->loop, &w->timer);
	w->rq->user = NULL;
}

static void request_sink_on_timeout(struct timer *t)
{
	struct request_sink *w = container_of(t, struct request_sink, timer);

	action_sink_detach(&w->sink);
	request_sink_end(w);
	request_sink_reply_state(w);
}

static void request_sink_on_close(struct request *rq)
{
	struct request_sink *w = rq->user;

	request_sink_end(w);
	action_sink_leave(&w->sink);
}

static void request_sink_wait(struct action_sink *s)
{
	static const struct request_ops ops = {.on_close = request_sink_on_close};
	struct request_sink *w = request_sink_of(s);

	w->rq->ops = &ops;
	w->rq->user = w;
	/* If the action ends without it, a peer that has closed its side is gone. */
	w->rq->needs_peer = s->action->cancel_unattended;
	if (w->wait_ms)
		timer_set(w->idem->box->loop, &w->timer, w->wait_ms,
			request_sink_on_timeout);
}

static bool request_sink_is_closed(const struct action_sink *s)
{
	return request_is_half_closed(request_sink_of(s)->rq);
}

/* Replies with the answer. */
static void request_sink_on_answer(struct action_sink *s, int status)
{
	struct request_sink *w = request_sink_of(s);

	request_sink_end(w);
	if (s->replayed)
		request_add_field(w->rq, STR("idempotent-replayed"), STR("true"));
	if (status == ERR_CLOSED)
		request_fail(w->rq, 503,
			STR("The sandbox is stopping, and this action has not "
			    "ended."));
	else if (status < 0)
		request_fail(
			w->rq, 500, STR("The answer to this action cannot be read."));
	else
		request_reply(w->rq, (unsigned)status, API_JSON);
}

/* Replies with the state, and the answer in it. */
static void request_sink_on_end(struct action_sink *s, int status)
{
	struct request_sink *w = request_sink_of(s);

	(void)status;
	request_sink_end(w);
	request_sink_reply_state(w);
}

static const struct action_sink_ops answer_ops = {
	.wait = request_sink_wait,
	.done = request_sink_on_answer,
	.is_closed = request_sink_is_closed,
};

static const struct action_sink_ops state_ops = {
	.wait = request_sink_wait,
	.done = request_sink_on_end,
	.is_closed = request_sink_is_closed,
};

/* NULL: out of memory, and the request is answered. */
static struct request_sink *request_sink_new(
	struct api *api, struct request *rq, const struct action_sink_ops *ops)
{
	struct request_sink *w = arena_alloc(&rq->arena, sizeof(*w));

	if (w)
		*w = (struct request_sink){.sink.ops = ops, .rq = rq, .idem = api->idem};
	else
		api_reply_nomem(rq);
	return w;
}

void idem_wait(struct api *api, struct request *rq, struct ledger_entry *e, uint64_t ms)
{
	struct request_sink *w = request_sink_new(api, rq, &state_ops);

	if (!w)
		return;
	w->wait_ms = ms;
	action_sink_wait(&w->sink, e);
}

/* --- Submission ----------------------------------------------------------------- */

static void request_refuse_action(struct request *rq, const struct action_refusal *why)
{
	if (why->status == 429 || why->status == 503)
		request_add_field(rq, STR("retry-after"), STR("1"));
	buf_reset(request_out(rq));
	action_refusal_write(why, request_out(rq));
	request_reply(rq, why->status, API_JSON);
}

void idem_refuse(struct request *rq, int r)
{
	struct action_refusal why;

	if (action_refusal_set_error(&why, r))
		request_refuse_action(rq, &why);
}

/* Submits an action whose answer is the reply. */
static void action_execute(
	struct api *api, struct request *rq, const struct action_spec *spec)
{
	struct request_sink *w = request_sink_new(api, rq, &answer_ops);
	struct action_refusal why;

	if (!w)
		return;
	w->sink.out = request_out(rq);
	w->sink.is_peer = true;
	if (action_submit(api, spec, &w->sink, &why))
		request_refuse_action(rq, &why);
}

/* A missing content type counts as JSON. Parameters such as a charset are ignored. */
static bool action_execute_is_json(struct request *rq)
{
	struct str type;

	if (request_header(rq, STR("content-type"), &type) != 0)
		return true;
	type = str_trim(str_cut(&type, ';'), " \t");
	return str_eq_nocase(type, STR(API_JSON)) ||
		(type.n > 5 && str_eq_nocase(str_skip(type, type.n - 5), STR("+json")));
}

/* The text of a string of structured fields (RFC 8941), or the bare word. */
static struct str action_execute_strip_quotes(struct str s)
{
	s = str_trim(s, " \t");
	return s.n > 1 && s.p[0] == '"' && s.p[s.n - 1] == '"'
		? str_make(s.p + 1, s.n - 2)
		: s;
}

/*
 * The id of an event with a number and a timestamp, as backends send it: an identical
 * request counts as repeated. Empty: the event has no number or no timestamp.
 */
static void action_execute_make_id(
	struct json_val event, struct str body, char id[LEDGER_ID_MAX + 1])
{
	char digest_hex[SHA256_HEX + 1];
	uint8_t digest[SHA256_LEN];
	int64_t number;

	id[0] = '\0';
	if (json_i64(json_get(event, "id"), &number) < 0 || number < 0 ||
		json_type(json_get(event, "timestamp")) != JSON_STRING)
		return;
	sha256_compute(body, digest);
	hex_encode(digest, sizeof(digest), digest_hex);
	snprintf(id, LEDGER_ID_MAX + 1, "event-%" PRId64 "-%.32s", number, digest_hex);
}

/* Executes the event of a request without an Idempotency-Key. */
static void action_execute_event(
	struct api *api, struct request *rq, struct json_val event)
{
	struct action_spec spec = {.body = rq->body, .wrapped = true};
	char id[LEDGER_ID_MAX + 1];
	const char *why;
	int r = act_read_call(event, &rq->arena, &spec.call, &why);

	action_execute_make_id(event, rq->body, id);
	spec.id = str_c(id);
	spec.id_kind = id[0] ? ACTION_EVENT_ID : ACTION_NO_ID;
	spec.arena = r ? NULL : &rq->arena;
	if (!r || id[0])
		action_execute(api, rq, &spec);
	else if (r == ERR_TYPE)
		api_reply_invalid(rq, why);
	else
		api_reply_nomem(rq);
}

void idem_execute(struct api *api, struct request *rq, struct str name)
{
	struct action_spec spec = {.id_kind = ACTION_CALLER_ID, .wrapped = true};
	struct params p = {.arena = &rq->arena};
	struct json_val event;
	int r = request_header(rq, STR("idempotency-key"), &spec.id);

	(void)name;
	if (!action_execute_is_json(rq)) {
		api_reply_invalid(rq, "the content type must be application/json");
	} else if (r == ERR_DUPLICATE) {
		api_reply_invalid(rq, "Idempotency-Key is given twice");
	} else if (r == 0) {
		spec.id = action_execute_strip_quotes(spec.id);
		spec.body = rq->body;
		action_execute(api, rq, &spec);
	} else if ((r = params_parse_body(&p, rq->body))) {
		api_refuse(rq, (unsigned)r, p.error);
	} else {
		event = json_get(p.body, "action");
		if (json_type(event) == JSON_OBJECT)
			action_execute_event(api, rq, event);
		else
			api_reply_invalid(rq, API_NO_ACTION);
	}
}

/* --- /v1/actions/ID ------------------------------------------------------------- */

struct action_put_params {
	uint64_t wait_s, grace_ms;
	unsigned cancel_unattended;
};

void idem_put(struct api *api, struct request *rq, struct str id)
{
	static const char *const words[] = {"continue", "cancel", NULL};
	static const struct param params[] = {
		{"wait", PARAM_NUMBER, .at = offsetof(struct action_put_params, wait_s),
			.max = IDEM_WAIT_MAX_S},
		{"on_disconnect", PARAM_CHOICE,
			.at = offsetof(struct action_put_params, cancel_unattended),
			.words = words},
		{"grace_ms", PARAM_NUMBER,
			.at = offsetof(struct action_put_params, grace_ms),
			.max = IDEM_WAIT_MAX_S * 1000},
	};
	struct params p = {.arena = &rq->arena, .query = rq->query};
	struct action_put_params ask = {.grace_ms = IDEM_GRACE_MS};
	int r = params_read(&p, params, ARRAY_LEN(params), &ask);
	struct action_spec spec = {
		.id_kind = ACTION_CALLER_ID,
		.id = id,
		.body = rq->body,
		.cancel_unattended = ask.cancel_unattended,
		.grace_ms = ask.grace_ms,
	};
	struct action_refusal why;
	struct request_sink *w;

	if (r) {
		api_refuse(rq, (unsigned)r, p.error);
		return;
	}
	w = request_sink_new(api, rq, ask.wait_s ? &state_ops : NULL);
	if (!w)
		return;
	w->wait_ms = ask.wait_s * 1000;
	if (action_submit(api, &spec, &w->sink, &why))
		request_refuse_action(rq, &why);
	else if (!ask.wait_s)
		request_sink_reply_state(w);
}

/* False: the request is answered. */
static bool idem_read_wait(struct request *rq, uint64_t *ms)
{
	static const struct param wait = {"wait", PARAM_NUMBER, .max = IDEM_WAIT_MAX_S};
	struct params p = {.arena = &rq->arena, .query = rq->query};
	uint64_t s = 0;
	int r = params_read(&p, &wait, 1, &s);

	if (r)
		api_refuse(rq, (unsigned)r, p.error);
	*ms = s * 1000;
	return r == 0;
}

struct ledger_entry *idem_find(struct idem *o, struct request *rq, struct str id)
{
	struct ledger_entry *e;
	int r = idem_prepare(o);

	if (r) {
		idem_refuse(rq, r);
		return NULL;
	}
	switch (ledger_find(&o->ledger, id, &e)) {
	case LEDGER_ABSENT:
		request_fail(rq, 404, STR(IDEM_UNKNOWN));
		return NULL;
	case LEDGER_EVICTED:
		request_fail(rq, 410, STR(IDEM_EVICTED));
		return NULL;
	default:
		return e;
	}
}

void idem_get(struct api *api, struct request *rq, struct str id)
{
	struct ledger_entry *e;
	uint64_t ms;

	if (!idem_read_wait(rq, &ms))
		return;
	e = idem_find(api->idem, rq, id);
	if (!e)
		return;
	if (ms && !idem_has_ended(e) && e->owner)
		idem_wait(api, rq, e, ms);
	else
		idem_reply_state(api->idem, rq, e, true);
}

void idem_ack(struct api *api, struct request *rq, struct str id)
{
	struct ledger_entry *e = idem_find(api->idem, rq, id);
	int r;

	if (!e)
		return;
	if (!idem_has_ended(e)) {
		request_fail(rq, 409,
			STR("This action has not ended. Cancel it or wait for its end "
			    "first."));
		return;
	}
	r = ledger_ack(&api->idem->ledger, e);
	if (r < 0)
		idem_refuse(rq, r);
	else
		idem_reply_state(api->idem, rq, e, true);
}
