/* Calls of an external plugin: actions and requests, and the replies to them. */
#include "plugin/external_private.h"

#include "action/observe.h"
#include "action/session.h"
#include "base/float.h"
#include "base/log.h"

#include <errno.h>
#include <stdio.h>

enum { PLUGIN_AGAIN_MS = 1000 }; /* between two checks for a missing requirement */

enum { WORDS = 2 * PLUGIN_WHY_MAX };

enum call_state {
	CALL_WAITS, /* until the plugin is ready */
	CALL_SENT,
	CALL_OPEN, /* part of the reply was received, and more may follow */
	CALL_FULL, /* as CALL_OPEN, but the client has to read first */
};

/* Lives in the arena of the action or request that waits for it. */
struct call {
	struct list node;
	enum call_state state;
	struct external *e;
	uint64_t id;
	struct act *act;    /* NULL: rq waits */
	struct request *rq; /* NULL: act waits */
	struct timer timer;
	double seconds;
	uint64_t sent; /* time of sending, in the loop's time */
	bool endless;  /* it streams events, which have no end of their own */
};

static struct arena *external_call_arena(const struct call *c)
{
	return c->act ? c->act->arena : &c->rq->arena;
}

static void external_unlink_call(struct call *c)
{
	list_remove(&c->node);
	c->e->calls_n--;
	timer_cancel(c->e->box->loop, &c->timer);
	if (c->act)
		c->act->state = NULL;
	else
		c->rq->user = NULL;
}

/*
 * Answers with an error. status is for a request of which nothing was sent yet; an action
 * is answered with an error observation.
 */
static void external_fail_call(struct call *c, unsigned status, const char *words)
{
	enum external_failure how = status == 504 ? EXTERNAL_TIMED_OUT
		: status != 503                   ? EXTERNAL_LOST
		: c->e->starts                    ? EXTERNAL_FAILED
						  : EXTERNAL_MISSING;
	const struct external_builtin *own = c->e->builtin;
	struct act *a = c->act;
	bool begun = c->state >= CALL_OPEN;

	external_unlink_call(c);
	if (begun) {
		log_info("plugin %s: a reply was cut off: %s", c->e->plugin.name, words);
		request_abort(c->rq);
		return;
	}
	if (!a) {
		request_fail(c->rq, status, str_c(words));
		return;
	}
	buf_reset(a->out);
	if (own)
		own->fail(a, how, words);
	else
		observe_error(a, str_c(words));
	a->done(a);
}

static void external_fail_absent(struct call *c, const char *why)
{
	char words[WORDS];

	snprintf(words, sizeof(words), "The plugin %s is unavailable: %s.",
		c->e->plugin.name, why);
	external_fail_call(c, 503, words);
}

/* --- To the plugin -------------------------------------------------------- */

static struct str external_cwd(const struct external *e)
{
	const struct box *box = e->box;
	struct str cwd = box->session ? session_cwd(box->session) : STR("");

	return cwd.n ? cwd : act_box_cwd(box);
}

static int external_write_action(struct call *c, struct jw *w)
{
	struct act *a = c->act;

	jw_key(w, "action");
	jw_cstr(w, a->action->name);
	jw_key(w, "args");
	if (json_type(a->args) == JSON_OBJECT)
		return plugin_json_write(w, json_raw(a->args), a->arena);
	jw_raw(w, STR("{}"));
	return 0;
}

static void external_write_request(struct call *c, struct jw *w)
{
	struct request *rq = c->rq;
	size_t front =
		c->e->builtin ? 0 : strlen("/plugins/") + strlen(c->e->plugin.name);
	struct str type;

	jw_key(w, "method");
	jw_str(w, rq->method);
	jw_key(w, "path");
	jw_str(w, str_skip(rq->path, front));
	jw_key(w, "query");
	jw_str(w, rq->query);
	jw_key(w, "type");
	if (request_header(rq, STR("content-type"), &type) == 0)
		jw_str(w, type);
	else
		jw_cstr(w, "");
	plugin_body_write(w, rq->body);
}

static int external_write_call(struct call *c, struct buf *frame)
{
	struct jw w;
	int r = 0;

	jw_init(&w, frame);
	jw_object(&w);
	jw_key(&w, "op");
	jw_cstr(&w, "call");
	jw_key(&w, "id");
	jw_uint(&w, c->id);
	jw_key(&w, "timeout");
	jw_double(&w, c->seconds);
	jw_key(&w, "cwd");
	jw_str(&w, external_cwd(c->e));
	if (c->act)
		r = external_write_action(c, &w);
	else
		external_write_request(c, &w);
	if (r)
		return r;
	jw_end(&w);
	return frame->err;
}

static void external_send_call(struct call *c)
{
	struct buf frame = BUF_INIT(PLUGIN_FRAME_MAX - 1);
	char words[WORDS];
	int r;

	c->id = ++c->e->last_id;
	c->state = CALL_SENT;
	c->sent = loop_now(c->e->box->loop);
	r = external_write_call(c, &frame);
	if (r == ERR_LIMIT) {
		snprintf(words, sizeof(words), "The plugin %s accepts at most %d MiB.",
			c->e->plugin.name, PLUGIN_FRAME_MAX >> 20);
		external_fail_call(c, 413, words);
	} else if (r) {
		external_fail_call(
			c, 503, "The sandbox is out of memory for this request.");
	} else if (external_send(c->e, buf_view(&frame)) < 0) {
		external_fail_absent(c, "it does not read its input");
	}
	buf_free(&frame);
}

static struct call *external_find_waiting(const struct external *e)
{
	LIST_EACH (struct call, c, &e->calls, node)
		if (c->state == CALL_WAITS)
			return c;
	return NULL;
}

void external_pump(struct external *e)
{
	struct call *c;

	/* Restarts at the front, because an answer may bring the next call. */
	while (e->service.state == SERVICE_READY && (c = external_find_waiting(e)))
		external_send_call(c);
}

/* --- Callers -------------------------------------------------------------- */

static void external_on_call_timeout(struct timer *t)
{
	struct call *c = container_of(t, struct call, timer);
	struct external *e = c->e;
	char seconds[FLOAT_TEXT], words[WORDS];
	uint64_t id = c->state == CALL_SENT ? c->id : 0, sent = c->sent;

	float_format(c->seconds, seconds);
	snprintf(words, sizeof(words), "The plugin %s did not answer within %s seconds.",
		e->plugin.name, seconds);
	external_fail_call(c, 504, words);
	if (!id)
		return;
	external_send_op(e, "cancel", id);
	external_send_ping(e, sent);
}

/* Whether a call may wait: not if the process failed to start, or is unavailable. */
static bool external_can_queue(const struct external *e)
{
	return e->state == EXTERNAL_PROBING ||
		(e->state == EXTERNAL_RUNNING &&
			(e->service.state == SERVICE_STARTING || e->service.was_ready));
}

static struct call *external_find_abandoned(struct external *e)
{
	LIST_EACH (struct call, c, &e->calls, node)
		if (c->act && c->act->is_disconnected && c->act->is_disconnected(c->act))
			return c;
	return NULL;
}

/*
 * Ends the actions whose clients have disconnected: a built-in plugin handles one action
 * at a time, and the next one must not wait for them. Requests do not wait for actions,
 * so they end none.
 */
static void external_fail_abandoned(struct external *e)
{
	struct call *c;

	while ((c = external_find_abandoned(e))) {
		uint64_t id = c->state == CALL_SENT ? c->id : 0;

		external_fail_call(c, 502, "The client has left.");
		if (id)
			external_send_op(e, "cancel", id);
	}
}

/* Sends or queues a call. The answer may come before this function returns. */
static void external_submit_call(struct call *c, uint64_t ms)
{
	struct external *e = c->e;

	if (e->builtin && c->act)
		external_fail_abandoned(e);
	list_append(&e->calls, &c->node);
	e->calls_n++;
	c->seconds = (double)ms / 1000;
	timer_set(e->box->loop, &c->timer, ms, external_on_call_timeout);
	if (e->calls_n > PLUGIN_CALLS_MAX) {
		external_fail_absent(c, "too many calls are waiting for it");
		return;
	}
	if (e->service.state == SERVICE_READY)
		external_send_call(c);
	else if (e->state == EXTERNAL_LACKING &&
		loop_now(e->box->loop) - e->since >= PLUGIN_AGAIN_MS)
		external_recheck(e);
	else if (e->state == EXTERNAL_RESTING)
		external_wake(e);
	else if (!external_can_queue(e))
		external_fail_absent(
			c, e->state == EXTERNAL_OFF ? "it is not running" : e->plug->why);
}

static int external_submit_action(struct external *e, struct act *a, uint64_t ms)
{
	struct call *c = arena_alloc(a->arena, sizeof(*c));

	if (!c)
		return -ENOMEM;
	*c = (struct call){.e = e, .act = a};
	a->state = c;
	external_submit_call(c, ms ? ms : e->manifest.call_ms);
	return ACT_WAIT;
}

int external_run(struct act *a)
{
	const struct external_action *x =
		container_of(a->action, struct external_action, action);

	return external_submit_action(x->e, a, act_timeout_ms(a));
}

/* The time limit is own->call_ms, as in the wire contract, not the action's timeout. */
int external_builtin_run(struct plugin_instance *p, struct act *a)
{
	return external_submit_action(p->data, a, 0);
}

static void external_cancel_call(struct call *c)
{
	struct external *e = c->e;
	uint64_t id = c->state >= CALL_SENT ? c->id : 0;

	external_unlink_call(c);
	if (id)
		external_send_op(e, "cancel", id);
}

static void external_on_disconnect(struct request *rq)
{
	external_cancel_call(rq->user);
}

static void external_on_writable(struct request *rq)
{
	struct call *c = rq->user;

	if (c->state != CALL_FULL)
		return;
	c->state = CALL_OPEN;
	external_send_op(c->e, "more", c->id);
}

static void external_submit_request(struct external *e, struct request *rq)
{
	static const struct request_ops ops = {
		.on_close = external_on_disconnect,
		.on_writable = external_on_writable,
	};
	struct call *c = arena_alloc(&rq->arena, sizeof(*c));

	if (!c) {
		request_fail(
			rq, 503, STR("The sandbox is out of memory for this request."));
		return;
	}
	*c = (struct call){.e = e, .rq = rq};
	rq->ops = &ops;
	rq->user = c;
	external_submit_call(c, e->manifest.call_ms);
}

void external_handle(struct plugin_instance *p, struct request *rq)
{
	external_submit_request(container_of(p->plugin, struct external, plugin), rq);
}

void external_builtin_handle(struct plugin_instance *p, struct request *rq)
{
	external_submit_request(p->data, rq);
}

void external_abandon(struct act *a)
{
	if (a->state)
		external_cancel_call(a->state);
}

/* --- From the plugin ------------------------------------------------------ */

static struct call *external_get_first(const struct external *e)
{
	return LIST_FIRST(&e->calls, struct call, node);
}

void external_fail_calls(struct external *e, bool all, const char *why)
{
	struct call *c = external_get_first(e);
	/* A built-in plugin reports this before it begins the calls that it was sent. */
	bool undone = e->builtin && e->state == EXTERNAL_ABSENT;
	char words[WORDS];

	/*
	 * Restarts at the front after each answer, because an answer may bring the next
	 * call.
	 */
	while (c) {
		if (c->state >= CALL_SENT && !undone) {
			snprintf(words, sizeof(words),
				"The plugin %s has given no answer: %s.", e->plugin.name,
				why);
			external_fail_call(c, 502, words);
			c = external_get_first(e);
		} else if (all) {
			external_fail_absent(c, why);
			c = external_get_first(e);
		} else {
			c = LIST_NEXT(c, struct call, node);
		}
	}
}

static void external_fail_reply(struct call *c, int r, const char *why)
{
	uint64_t begun = c->state == CALL_OPEN ? c->id : 0;
	struct external *e = c->e;
	char words[WORDS];

	snprintf(words, sizeof(words), "The plugin %s has given no valid answer: %s.",
		e->plugin.name, why ? why : err_text(r));
	if (r == -ENOMEM)
		external_fail_call(
			c, 503, "The sandbox is out of memory for this request.");
	else
		external_fail_call(c, 502, words);
	if (begun)
		external_send_op(e, "cancel", begun);
}

static void external_answer_action(struct call *c, struct json_val root)
{
	struct act *a = c->act;
	const char *why = NULL;
	int r;

	r = plugin_frame_put_observation(
		root, a->action->name, &c->e->json, a->out, &why);
	if (r) {
		external_fail_reply(c, r, why);
		return;
	}
	external_unlink_call(c);
	a->done(a);
}

/* --- Replies in pieces ------------------------------------------------------------- */

static void external_begin_reply(struct call *c, const struct plugin_answer *an)
{
	struct request *rq = c->rq;

	timer_cancel(c->e->box->loop, &c->timer);
	c->endless = an->type && str_starts(str_c(an->type), STR(REQUEST_EVENTS));
	rq->needs_peer = c->endless;
	request_begin(rq, an->status, an->type, REQUEST_LENGTH_UNKNOWN);
	c->state = CALL_OPEN;
}

/*
 * Sends "more" when the client has space: the plugin may send a piece for each of them.
 */
static void external_send_piece(struct call *c, struct str body, bool more)
{
	struct request *rq = c->rq;
	bool room = request_write(rq, body);

	if (!more) {
		external_unlink_call(c);
		request_end(rq);
	} else if (room) {
		external_send_op(c->e, "more", c->id);
	} else {
		c->state = CALL_FULL;
	}
}

void external_end_streams(struct external *e)
{
	LIST_EACH (struct call, c, &e->calls, node) {
		struct request *rq = c->rq;

		if (c->endless) {
			external_cancel_call(c);
			request_end(rq);
		}
	}
}

/* --- Replies ------------------------------------------------------------------------ */

static void external_answer_request(struct call *c, struct json_val root)
{
	struct arena *json = &c->e->json;
	struct request *rq = c->rq;
	struct plugin_answer an;
	const char *why = NULL;
	int r = c->state == CALL_OPEN ? plugin_piece_read(&an, root, json, &why)
				      : plugin_answer_read(&an, root, json, &why);

	for (size_t i = 0; !r && i < an.fields_n; i++)
		request_add_field(rq, an.fields[i].name, an.fields[i].value);
	if (r) {
		external_fail_reply(c, r, why);
	} else if (an.more || c->state == CALL_OPEN) {
		if (c->state == CALL_SENT)
			external_begin_reply(c, &an);
		external_send_piece(c, buf_view(&an.body), an.more);
	} else {
		external_unlink_call(c);
		buf_str(request_out(rq), buf_view(&an.body));
		request_reply(rq, an.status, an.type);
	}
	buf_free(&an.body);
}

/* 0; 1: no call waits for the reply any more; ERR_SYNTAX with why. */
static int external_find_call(
	struct external *e, uint64_t id, struct call **found, const char **why)
{
	LIST_EACH (struct call, c, &e->calls, node)
		if (c->state != CALL_WAITS && c->id == id) {
			*found = c;
			return 0;
		}
	*found = NULL;
	*why = "a reply without a call";
	if (id == 0 || id > e->last_id)
		return ERR_SYNTAX;
	external_count_noise(e);
	return 1;
}

int external_builtin_on_reply(
	struct external *e, uint64_t id, struct str observation, const char **why)
{
	struct call *c;
	struct act *a;
	int r = external_find_call(e, id, &c, why);

	if (r)
		return r < 0 ? r : 0;
	a = c->act;
	if (!a) {
		external_fail_reply(c, ERR_SYNTAX, "an observation for a request");
		return 0;
	}
	buf_str(a->out, observation);
	if (a->out->err) {
		external_fail_reply(c, a->out->err, NULL);
		return 0;
	}
	external_unlink_call(c);
	a->done(a);
	return 0;
}

int external_on_reply(struct external *e, const struct plugin_frame *f, const char **why)
{
	struct json_val error = json_get(f->root, "error");
	struct call *c;
	struct str words;
	int r = external_find_call(e, f->id, &c, why);

	if (r)
		return r < 0 ? r : 0;
	if (c->state == CALL_FULL) {
		*why = "a piece of a reply without a call";
		return ERR_SYNTAX;
	}
	if (json_type(error) != JSON_ABSENT) {
		const char *text = NULL;

		if (json_str(error, &e->json, &words) == 0)
			text = arena_cstr(external_call_arena(c), words);
		if (text)
			external_fail_call(c, 502, text);
		else
			external_fail_reply(c, ERR_SYNTAX, "\"error\" is not a string");
	} else if (c->act) {
		external_answer_action(c, f->root);
	} else {
		external_answer_request(c, f->root);
	}
	return 0;
}
