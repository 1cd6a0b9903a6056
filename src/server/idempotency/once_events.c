/* Events of the sandbox in their order, and snapshots of its state. */
#include "server/idempotency/once_private.h"
#include "server/idempotency/once_reader.h"

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

static const char *state_of(const struct ledger_event *e)
{
	switch (e->kind) {
	case LEDGER_EVENT_ACTION:
		return once_state_word(e->state);
	case LEDGER_EVENT_CANCEL:
		return e->state && e->state <= LEDGER_CANCEL_MAX
			? once_modes[e->state - 1]
			: "";
	default:
		return e->state ? "begun" : "ended";
	}
}

/* Writes the members of an event into an open object. */
void once_put_members(struct jw *w, const struct ledger_event *e)
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
	jw_cstr(w, state_of(e));
}

/* ERR_SYNTAX: the event has an unknown kind, which another version wrote. */
int once_read_event(const struct once *o, uint64_t seq, struct ledger_event *e)
{
	int r = ledger_read_event(&o->ledger, seq, e);

	if (!r && (e->seq != seq || e->kind >= LEDGER_EVENT_KINDS || !kinds[e->kind]))
		r = ERR_SYNTAX;
	return r;
}

/* --- Snapshots ------------------------------------------------------------------ */

static void put_actions(struct jw *w, const struct once *o)
{
	jw_key(w, "actions");
	jw_array(w);
	for (const struct ledger_entry *e = o->ledger.oldest; e; e = e->newer) {
		if (once_has_ended(e) && e->acked)
			continue;
		jw_object(w);
		jw_key(w, "id");
		jw_cstr(w, e->id);
		jw_key(w, "state");
		jw_cstr(w, once_word(e));
		jw_end(w);
	}
	jw_end(w);
}

static void put_sessions(struct jw *w, const struct once *o)
{
	jw_key(w, "sessions");
	jw_array(w);
	for (struct session *s = o->box->session; s; s = session_next(s))
		jw_cstr(w, session_name(s));
	jw_end(w);
}

static void put_snapshot(struct jw *w, const struct once *o)
{
	put_actions(w, o);
	put_sessions(w, o);
}

static void put_place(struct jw *w, const struct once *o)
{
	jw_key(w, "box");
	jw_cstr(w, o->ledger.box);
	jw_key(w, "boot");
	jw_uint(w, o->ledger.boot);
	jw_key(w, "last");
	jw_uint(w, o->ledger.event);
}

static void put_gap(struct jw *w, uint64_t from, uint64_t to)
{
	jw_key(w, "from");
	jw_uint(w, from);
	jw_key(w, "to");
	jw_uint(w, to);
}

/* --- The route: one reply, or a stream -------------------------------------------- */

static bool has_more(const struct reader *r)
{
	return r->flag || once_of(r)->ledger.event > r->at;
}

static void answer(struct reader *r)
{
	const struct once *o = once_of(r);
	uint64_t first = ledger_first_event(&o->ledger);
	struct jw w;
	int err = 0;

	jw_init(&w, request_out(r->rq));
	jw_object(&w);
	put_place(&w, o);
	if (r->flag) {
		put_snapshot(&w, o);
		r->at = o->ledger.event;
	}
	if (r->at + 1 < first) {
		jw_key(&w, "gap");
		jw_object(&w);
		put_gap(&w, r->at + 1, first);
		jw_end(&w);
		r->at = first - 1;
	}
	jw_key(&w, "events");
	jw_array(&w);
	for (uint64_t n = 0; n < r->max && r->at < o->ledger.event && !err; n++) {
		struct ledger_event e;

		err = once_read_event(o, ++r->at, &e);
		if (err)
			break;
		jw_object(&w);
		once_put_members(&w, &e);
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

static int next(struct reader *r, struct buf *out, bool *over)
{
	const struct once *o = once_of(r);
	uint64_t first = ledger_first_event(&o->ledger);
	struct ledger_event e;
	struct jw w;
	int err;

	(void)over;
	if (r->flag) {
		r->flag = false;
		r->at = o->ledger.event;
		reader_put_event(out, &w, r->at, "snapshot");
		put_place(&w, o);
		put_snapshot(&w, o);
	} else if (r->at >= o->ledger.event) {
		return 1;
	} else if (r->at + 1 < first) {
		reader_put_event(out, &w, first - 1, "gap");
		put_gap(&w, r->at + 1, first);
		r->at = first - 1;
	} else {
		err = once_read_event(o, r->at + 1, &e);
		if (err)
			return err < 0 ? err : ERR_CLOSED;
		reader_put_event(out, &w, ++r->at, kinds[e.kind]);
		once_put_members(&w, &e);
	}
	reader_put_event_end(out, &w);
	return out->err;
}

static const struct reader_ops ops = {
	.next = next,
	.answer = answer,
	.has_more = has_more,
	.left = once_reader_left,
};

struct wish {
	uint64_t after, max, wait_s;
	bool snapshot;
};

void once_tell_session(void *once, const char *name, bool there)
{
	struct once *o = once;

	if (!o->open)
		return;
	ledger_tell(&o->ledger, LEDGER_EVENT_SESSION, there, str_c(name));
	once_wake(o);
}

bool once_is_ready(struct once *o, struct request *rq)
{
	int r = once_make_ready(o);

	if (r)
		once_refuse(rq, r);
	return r == 0;
}

int once_lease(struct once *o, uint64_t lease)
{
	int r = once_make_ready(o);

	if (r)
		return r;
	r = ledger_show_lease(&o->ledger, lease);
	once_wake(o);
	return r;
}

bool once_show_lease(struct once *o, struct request *rq, struct str lease)
{
	uint64_t n;
	int r;

	if (str_u64(lease, INT64_MAX, &n) < 0) {
		api_invalid(rq, "X-Lease: a number is required");
		return false;
	}
	r = once_lease(o, n);
	if (r == ERR_RANGE)
		request_fail(rq, 409, STR(ONCE_FENCED));
	else if (r)
		once_refuse(rq, r);
	return r == 0;
}

void once_events(struct api *api, struct request *rq, struct str name)
{
	static const struct param params[] = {
		{"after", PARAM_NUMBER, .at = offsetof(struct wish, after),
			.max = INT64_MAX},
		{"max", PARAM_NUMBER, .at = offsetof(struct wish, max), .min = 1,
			.max = EVENTS_PART_MAX},
		{"wait", PARAM_NUMBER, .at = offsetof(struct wish, wait_s),
			.max = ONCE_WAIT_MAX_S},
		{"snapshot", PARAM_BOOL, .at = offsetof(struct wish, snapshot)},
	};
	struct params p = {.arena = &rq->arena, .query = rq->query};
	struct wish w = {.after = reader_last_event_id(rq), .max = EVENTS_PART_MAX};
	int err = params_take(&p, params, ARRAY_LEN(params), &w);
	struct once_reader *r;

	(void)name;
	if (err) {
		api_refuse(rq, (unsigned)err, p.wrong);
		return;
	}
	if (!once_is_ready(api->once, rq))
		return;
	if (w.after > api->once->ledger.event) {
		request_fail(rq, 416, STR("So much has not happened in this sandbox."));
		return;
	}
	r = once_reader_new(api->once, rq, &ops);
	if (!r)
		return;
	r->reader.at = w.after;
	r->reader.max = w.max;
	r->reader.flag = w.snapshot;
	reader_begin(&r->reader, w.wait_s);
}
