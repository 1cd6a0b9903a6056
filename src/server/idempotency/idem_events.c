/* Events of the sandbox in their order, and snapshots of its state. */
#include "server/idempotency/idem_private.h"
#include "server/idempotency/idem_reader.h"

#include "action/session.h"
#include "limits.h"

#include <stddef.h>

static const char *const kinds[LEDGER_EVENT_KINDS] = {
	[LEDGER_EVENT_BOOT] = "boot",
	[LEDGER_EVENT_ACTION] = "action",
	[LEDGER_EVENT_CANCEL] = "cancel",
	[LEDGER_EVENT_SESSION] = "session",
	[LEDGER_EVENT_LEASE] = "lease",
};

/* --- A single event ------------------------------------------------------------ */

static const char *idem_events_get_state(const struct ledger_event *e)
{
	switch (e->kind) {
	case LEDGER_EVENT_ACTION:
		return idem_get_state_name(e->state);
	case LEDGER_EVENT_CANCEL:
		return e->state && e->state <= LEDGER_CANCEL_MAX
			? idem_cancel_modes[e->state - 1]
			: "";
	default:
		return e->state ? "begun" : "ended";
	}
}

/* Writes the members of an event into an open object. */
void idem_put_event(struct jw *w, const struct ledger_event *e)
{
	jw_key(w, "seq");
	jw_uint(w, e->seq);
	jw_key(w, "time");
	jw_uint(w, e->time);
	jw_key(w, "event");
	jw_cstr(w, kinds[e->kind]);
	jw_key(w, "name");
	jw_cstr(w, e->name);
	jw_key(w, "state");
	jw_cstr(w, idem_events_get_state(e));
}

/* ERR_SYNTAX: the event has an unknown kind, which another version wrote. */
int idem_read_event(const struct idem *o, uint64_t seq, struct ledger_event *e)
{
	int r = ledger_read_event(&o->ledger, seq, e);

	if (!r && (e->seq != seq || e->kind >= LEDGER_EVENT_KINDS || !kinds[e->kind]))
		r = ERR_SYNTAX;
	return r;
}

/* --- Snapshots ------------------------------------------------------------------ */

static void idem_events_put_actions(struct jw *w, const struct idem *o)
{
	jw_key(w, "actions");
	jw_array(w);
	for (const struct ledger_entry *e = o->ledger.oldest; e; e = e->newer) {
		if (idem_has_ended(e) && e->acked)
			continue;
		jw_object(w);
		jw_key(w, "id");
		jw_cstr(w, e->id);
		jw_key(w, "state");
		jw_cstr(w, idem_get_entry_state(e));
		jw_end(w);
	}
	jw_end(w);
}

static void idem_events_put_sessions(struct jw *w, const struct idem *o)
{
	jw_key(w, "sessions");
	jw_array(w);
	for (struct session *s = o->box->session; s; s = session_next(s))
		jw_cstr(w, session_name(s));
	jw_end(w);
}

static void idem_events_put_snapshot(struct jw *w, const struct idem *o)
{
	idem_events_put_actions(w, o);
	idem_events_put_sessions(w, o);
}

static void idem_events_put_position(struct jw *w, const struct idem *o)
{
	jw_key(w, "box");
	jw_cstr(w, o->ledger.box);
	jw_key(w, "boot");
	jw_uint(w, o->ledger.boot);
	jw_key(w, "last");
	jw_uint(w, o->ledger.event);
}

static void idem_events_put_gap(struct jw *w, uint64_t from, uint64_t to)
{
	jw_key(w, "from");
	jw_uint(w, from);
	jw_key(w, "to");
	jw_uint(w, to);
}

/* --- The route: one reply, or a stream -------------------------------------------- */

static bool idem_events_has_more(const struct reader *r)
{
	return r->flag || idem_reader_get_idem(r)->ledger.event > r->at;
}

static void idem_events_answer(struct reader *r)
{
	const struct idem *o = idem_reader_get_idem(r);
	uint64_t first = ledger_first_event(&o->ledger);
	struct jw w;
	int err = 0;

	jw_init(&w, request_out(r->rq));
	jw_object(&w);
	idem_events_put_position(&w, o);
	if (r->flag) {
		idem_events_put_snapshot(&w, o);
		r->at = o->ledger.event;
	}
	if (r->at + 1 < first) {
		jw_key(&w, "gap");
		jw_object(&w);
		idem_events_put_gap(&w, r->at + 1, first);
		jw_end(&w);
		r->at = first - 1;
	}
	jw_key(&w, "events");
	jw_array(&w);
	for (uint64_t n = 0; n < r->max && r->at < o->ledger.event && !err; n++) {
		struct ledger_event e;

		err = idem_read_event(o, ++r->at, &e);
		if (err)
			break;
		jw_object(&w);
		idem_put_event(&w, &e);
		jw_end(&w);
	}
	jw_end(&w);
	jw_key(&w, "next");
	jw_uint(&w, r->at);
	jw_end(&w);
	if (err)
		request_fail(r->rq, 500, STR("The events cannot be read."));
	else
		request_reply(r->rq, 200, API_JSON);
}

static int idem_events_read_next(struct reader *r, struct buf *out, bool *over)
{
	const struct idem *o = idem_reader_get_idem(r);
	uint64_t first = ledger_first_event(&o->ledger);
	struct ledger_event e;
	struct jw w;
	int err;

	(void)over;
	if (r->flag) {
		r->flag = false;
		r->at = o->ledger.event;
		reader_put_event(out, &w, r->at, "snapshot");
		idem_events_put_position(&w, o);
		idem_events_put_snapshot(&w, o);
	} else if (r->at >= o->ledger.event) {
		return 1;
	} else if (r->at + 1 < first) {
		reader_put_event(out, &w, first - 1, "gap");
		idem_events_put_gap(&w, r->at + 1, first);
		r->at = first - 1;
	} else {
		err = idem_read_event(o, r->at + 1, &e);
		if (err)
			return err < 0 ? err : ERR_CLOSED;
		reader_put_event(out, &w, ++r->at, kinds[e.kind]);
		idem_put_event(&w, &e);
	}
	reader_put_event_end(out, &w);
	return out->err;
}

static const struct reader_ops ops = {
	.next = idem_events_read_next,
	.answer = idem_events_answer,
	.has_more = idem_events_has_more,
	.on_end = idem_reader_on_end,
};

struct idem_events_params {
	uint64_t after, max, wait_s;
	bool snapshot;
};

void idem_record_session(void *once, const char *name, bool there)
{
	struct idem *o = once;

	if (!o->open)
		return;
	ledger_post_event(&o->ledger, LEDGER_EVENT_SESSION, there, str_c(name));
	idem_wake(o);
}

bool idem_is_ready(struct idem *o, struct request *rq)
{
	int r = idem_prepare(o);

	if (r)
		idem_refuse(rq, r);
	return r == 0;
}

int idem_set_lease(struct idem *o, uint64_t lease)
{
	int r = idem_prepare(o);

	if (r)
		return r;
	r = ledger_set_lease(&o->ledger, lease);
	idem_wake(o);
	return r;
}

bool idem_check_lease(struct idem *o, struct request *rq, struct str lease)
{
	uint64_t n;
	int r;

	if (str_u64(lease, INT64_MAX, &n) < 0) {
		api_reply_invalid(rq, "X-Lease: a number is required");
		return false;
	}
	r = idem_set_lease(o, n);
	if (r == ERR_RANGE)
		request_fail(rq, 409, STR(IDEM_FENCED));
	else if (r)
		idem_refuse(rq, r);
	return r == 0;
}

void idem_events(struct api *api, struct request *rq, struct str name)
{
	static const struct param params[] = {
		{"after", PARAM_NUMBER, .at = offsetof(struct idem_events_params, after),
			.max = INT64_MAX},
		{"max", PARAM_NUMBER, .at = offsetof(struct idem_events_params, max),
			.min = 1, .max = EVENTS_PART_MAX},
		{"wait", PARAM_NUMBER, .at = offsetof(struct idem_events_params, wait_s),
			.max = IDEM_WAIT_MAX_S},
		{"snapshot", PARAM_BOOL,
			.at = offsetof(struct idem_events_params, snapshot)},
	};
	struct params p = {.arena = &rq->arena, .query = rq->query};
	struct idem_events_params w = {
		.after = reader_last_event_id(rq), .max = EVENTS_PART_MAX};
	int err = params_read(&p, params, ARRAY_LEN(params), &w);
	struct idem_reader *r;

	(void)name;
	if (err) {
		api_refuse(rq, (unsigned)err, p.error);
		return;
	}
	if (!idem_is_ready(api->idem, rq))
		return;
	if (w.after > api->idem->ledger.event) {
		request_fail(rq, 416,
			STR("The number is higher than that of the last event of this "
			    "sandbox."));
		return;
	}
	r = idem_reader_new(api->idem, rq, &ops);
	if (!r)
		return;
	r->reader.at = w.after;
	r->reader.max = w.max;
	r->reader.flag = w.snapshot;
	reader_begin(&r->reader, w.wait_s);
}
