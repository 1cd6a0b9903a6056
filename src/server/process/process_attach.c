#include "server/process/process_attach.h"

#include "base/clock.h"
#include "net/peer_probe.h"
#include "net/resp.h"
#include "net/ws_hand.h"
#include "server/idempotency/idem_private.h"
#include "server/params.h"
#include "server/process/attach_input.h"
#include "server/process/process_spec.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>

#define PROTOCOL "od.process.v1"

enum {
	ATTACH_MAX = 1024,          /* attachments of a server; an idle one takes 1 KB */
	ATTACH_TURN = 256 << 10,    /* bytes per wake-up: about 0.1 ms */
	ATTACH_TURN_BARE = 1 << 20, /* bytes per wake-up without TLS: about 0.4 ms */
	ATTACH_LINGER_MS = 2000,    /* for the peer to read the last frame and close */
};

enum attach_state {
	ATTACH_OPEN,
	ATTACH_ENDING, /* the last frame is queued; input is discarded */
	ATTACH_LINGER, /* the last frame is sent; the peer closes first */
	ATTACH_CLOSED,
	ATTACH_STATES
};

struct attachment {
	struct list node;
	enum attach_state state;
	struct attachments *all;
	uint64_t lease; /* lease that the peer has sent; 0: none */
	struct transport transport;
	struct peer_probe probe;
	struct io io;
	struct timer timer;
	struct later later;
	struct attach_input input;
	struct attach_output output;
};

struct attachments {
	struct api *api;
	struct list list; /* newest first */
	unsigned n;
	struct attach_inputs inputs;
};

static struct loop *attachment_get_loop(const struct attachment *a)
{
	return a->all->api->box->loop;
}

static void attachment_free(struct later *later)
{
	free(container_of(later, struct attachment, later));
}

/* --- The end ------------------------------------------------------------------------ */

static void attachment_release(struct attachment *a)
{
	struct loop *l = attachment_get_loop(a);

	process_cursor_end(&a->output.cursor);
	timer_cancel(l, &a->timer);
	loop_remove(l, &a->io);
	transport_close(&a->transport);
	attach_input_free(&a->input);
	attach_output_free(&a->output);
	list_remove(&a->node);
	a->all->n--;
	loop_defer_free(l, &a->later, attachment_free);
}

static void attachment_set_timer(struct attachment *a, unsigned ms);
static void attachment_advance(struct attachment *a, bool readable);

/* The only function that changes the state. */
static void attachment_set_state(struct attachment *a, enum attach_state to)
{
	static const bool legal[ATTACH_STATES][ATTACH_STATES] = {
		[ATTACH_OPEN] = {[ATTACH_ENDING] = true, [ATTACH_CLOSED] = true},
		[ATTACH_ENDING] = {[ATTACH_LINGER] = true, [ATTACH_CLOSED] = true},
		[ATTACH_LINGER] = {[ATTACH_CLOSED] = true},
	};

	assert(legal[a->state][to]);
	a->state = to;
	a->input.waits_for_stdin = false;
	if (to == ATTACH_LINGER) {
		/* A close with unread input would reset the connection. */
		transport_end(&a->transport);
		attachment_set_timer(a, ATTACH_LINGER_MS);
	} else if (to == ATTACH_CLOSED) {
		attachment_release(a);
	}
}

/* Resets the connection, so that the peer does not take the output for complete. */
static void attachment_abort(struct attachment *a)
{
	struct linger now = {.l_onoff = 1};

	setsockopt(a->transport.fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	attachment_set_state(a, ATTACH_CLOSED);
}

/* The last frame is queued. */
static void attachment_begin_end(struct attachment *a)
{
	attachment_set_state(a, ATTACH_ENDING);
	if (a->output.failed)
		attachment_set_timer(a, ATTACH_LINGER_MS);
}

static void attachment_on_timer(struct timer *t)
{
	struct attachment *a = container_of(t, struct attachment, timer);
	enum peer_probe_state peer = PEER_PROBE_OK;

	/* The kernel still sends queued data. */
	if (a->state == ATTACH_LINGER) {
		attachment_set_state(a, ATTACH_CLOSED);
		return;
	}
	if (a->output.cursor.owns)
		peer = peer_probe_check(&a->probe, a->transport.fd, clock_ms());
	if (a->output.failed || peer == PEER_PROBE_LOST) {
		attachment_abort(a);
		return;
	}
	attachment_set_timer(
		a, a->output.cursor.owns ? PEER_PROBE_TICK_MS : HTTP_WAIT_MS);
	if (peer == PEER_PROBE_IDLE && a->state == ATTACH_OPEN) {
		attach_output_put_empty(&a->output);
		attachment_advance(a, false);
	}
}

static void attachment_set_timer(struct attachment *a, unsigned ms)
{
	timer_set(attachment_get_loop(a), &a->timer, ms, attachment_on_timer);
}

/* --- Events ------------------------------------------------------------------------- */

/* more: received bytes are to be handled, or frames to be sent. */
static void attachment_set_events(struct attachment *a, bool more)
{
	uint32_t events = a->input.waits_for_stdin ? EPOLLRDHUP : EPOLLIN;

	if (more || transport_pending(&a->transport))
		events |= EPOLLOUT;
	loop_set_events(attachment_get_loop(a), &a->io, events);
}

/* The most bytes of one direction in one wake-up. */
static size_t attachment_get_quota(const struct attachment *a)
{
	return transport_get_plain_fd(&a->transport) < 0 ? ATTACH_TURN : ATTACH_TURN_BARE;
}

/* Does all that is possible now. readable: there may be input. */
static void attachment_advance(struct attachment *a, bool readable)
{
	size_t quota = attachment_get_quota(a);
	int r = readable ? attach_input_receive(&a->input, quota) : 0;

	if (r >= 0 && !a->output.ended)
		attach_input_pass(&a->input);
	if (r >= 0)
		r = attach_output_send(&a->output, quota);
	if (a->output.ended && a->state == ATTACH_OPEN)
		attachment_begin_end(a);
	if (r == 0 && a->state == ATTACH_ENDING)
		attachment_set_state(a, ATTACH_LINGER);
	if (r == ERR_RANGE)
		attachment_abort(a);
	else if (r < 0)
		attachment_set_state(a, ATTACH_CLOSED);
	else
		attachment_set_events(a, r > 0);
}

static void attachment_resume(struct attach_input *in)
{
	attachment_advance(container_of(in, struct attachment, input), true);
}

static void attachment_on_event(struct io *io, uint32_t events)
{
	struct attachment *a = container_of(io, struct attachment, io);

	if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		attachment_set_state(a, ATTACH_CLOSED);
	else
		attachment_advance(a,
			(events & EPOLLIN) || a->input.early.n ||
				transport_pending(&a->transport));
}

static void attachment_on_change(struct waiter *f)
{
	struct attachment *a =
		container_of(f, struct attachment, output.cursor.follower.waiter);

	attachment_advance(a, attach_input_end_wait(&a->input));
}

/* --- The beginning ----------------------------------------------------------------- */

struct attach_query {
	uint64_t at[PROCESS_OUTPUTS], pty_at;
	unsigned until;
};

/* False: the parameters are wrong, and the request is answered. */
static bool attachment_read_query(
	struct request *rq, const struct process *p, struct attach_query *q)
{
	static const char *const until[] = {"exit", "end", NULL};
#define AT(member) .at = offsetof(struct attach_query, member)
	static const struct param params[] = {
		{"stdout", PARAM_NUMBER, false, AT(at[PROCESS_STDOUT]), .max = INT64_MAX},
		{"stderr", PARAM_NUMBER, false, AT(at[PROCESS_STDERR]), .max = INT64_MAX},
		{"pty", PARAM_NUMBER, false, AT(pty_at), .max = INT64_MAX},
		{"until", PARAM_CHOICE, false, AT(until), .words = until},
	};
	struct params take = {.arena = &rq->arena, .query = rq->query};
	struct process_info info;
	int r = params_read(&take, params, ARRAY_LEN(params), q);

	if (r) {
		api_refuse(rq, (unsigned)r, take.error);
		return false;
	}
	process_info(p, &info);
	if (info.pty)
		q->at[PROCESS_STDOUT] = q->pty_at;
	if (process_cursor_is_valid(p, q->at))
		return true;
	request_fail(rq, 416, STR("The offset is beyond the end of the output."));
	return false;
}

static bool attachment_check_upgrade(struct request *rq)
{
	if (ws_hand_field_has(rq, STR("upgrade"), STR(PROTOCOL)) &&
		ws_hand_field_has(rq, STR("connection"), STR("upgrade")) &&
		!request_is_http10(rq))
		return true;
	request_add_field(rq, STR("upgrade"), STR(PROTOCOL));
	request_fail(rq, 426,
		STR("This route needs Connection: Upgrade and Upgrade: " PROTOCOL "."));
	return false;
}

/* Queues the response 101 and the first frame. */
static void attachment_put_greeting(struct attach_output *o, const struct process *p)
{
	struct jw w;
	size_t at;

	resp_start(&o->text, 101);
	resp_field(&o->text, STR("upgrade"), STR(PROTOCOL));
	resp_field(&o->text, STR("connection"), STR("Upgrade"));
	resp_end(&o->text);
	at = attach_output_begin_control(o, &w, "attached");
	jw_key(&w, "process");
	process_write(&w, p);
	jw_key(&w, "window");
	jw_uint(&w, ATTACH_WINDOW);
	attach_output_end_control(o, &w, at);
}

/* The lease was checked when the head was received. */
static uint64_t attachment_read_lease(const struct request *rq)
{
	struct str field;
	uint64_t lease = 0;

	if (request_header(rq, STR("x-lease"), &field) == 0 &&
		str_u64(field, INT64_MAX, &lease) < 0)
		lease = 0;
	return lease;
}

/* NULL: out of memory. */
static struct attachment *attachment_new(
	struct attachments *all, const struct process *p, const struct attach_query *q)
{
	struct attachment *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->all = all;
	a->io.fd = -1;
	attach_output_init(&a->output, &a->transport);
	attachment_put_greeting(&a->output, p);
	if (a->output.text.err) {
		attach_output_free(&a->output);
		free(a);
		return NULL;
	}
	a->output.cursor.until_end = q->until;
	memcpy(a->output.cursor.at, q->at, sizeof(q->at));
	attachment_set_timer(a, PEER_PROBE_TICK_MS);
	list_prepend(&all->list, &a->node);
	all->n++;
	return a;
}

static void attachment_follow(struct attachment *a, struct process *p)
{
	struct process_stdin in;

	a->output.cursor.follower.waiter.fn = attachment_on_change;
	process_cursor_begin(&a->output.cursor, p);
	process_stdin(p, &in);
	a->input.loop = attachment_get_loop(a);
	a->input.transport = &a->transport;
	a->input.output = &a->output;
	a->input.resume = attachment_resume;
	attach_input_init(&a->input, &a->all->inputs, in.offset);
}

/* Takes the connection over. rq is invalid afterwards. */
static void attachment_begin(struct attachment *a, struct request *rq)
{
	int fd, r = -ENOMEM;

	request_take_over(rq, &a->transport, &a->input.early);
	fd = a->transport.fd;
	attach_output_start(&a->output);
	if (a->output.cursor.owns)
		peer_probe_begin(fd);
	if (!a->input.early.err)
		r = loop_add(attachment_get_loop(a), &a->io, fd, EPOLLIN | EPOLLOUT,
			attachment_on_event);
	if (r)
		attachment_set_state(a, ATTACH_CLOSED);
}

void process_attach(struct api *api, struct request *rq, struct str id)
{
	struct process *p = process_find(api->processes, id);
	struct attachments *all = api->attachments;
	struct attach_query q = {0};
	struct attachment *a;

	if (!p) {
		request_fail(rq, 404, STR("No process has this id."));
		return;
	}
	if (!attachment_check_upgrade(rq) || !attachment_read_query(rq, p, &q))
		return;
	a = all->n < ATTACH_MAX ? attachment_new(all, p, &q) : NULL;
	if (!a) {
		request_fail(rq, 503,
			all->n < ATTACH_MAX ? STR("The sandbox is out of memory.")
					    : STR("Too many attachments are open."));
		return;
	}
	a->lease = attachment_read_lease(rq);
	/*
	 * This precedes request_take_over, which ends an ownership of
	 * process_own_request.
	 */
	attachment_follow(a, p);
	attachment_begin(a, rq);
}

/* --- The connection that started a process ----------------------------------------- */

struct process_owner {
	struct peer_watch watch;
	struct process_follower follower;
};

static void process_owner_free(struct process_owner *o)
{
	request_unwatch_peer(&o->watch);
	process_disown(o->follower.process);
	process_unfollow(&o->follower);
	free(o);
}

static void process_owner_on_change(struct waiter *f)
{
	struct process_owner *o = container_of(f, struct process_owner, follower.waiter);
	enum process_state state = process_state(o->follower.process);

	if (state == PROCESS_EXITED || state == PROCESS_FAILED ||
		process_is_removed(o->follower.process))
		process_owner_free(o);
}

static void process_owner_on_close(struct peer_watch *w)
{
	process_owner_free(container_of(w, struct process_owner, watch));
}

static struct process_owner *process_owner_new(void)
{
	return calloc(1, sizeof(struct process_owner));
}

bool process_own_request(struct request *rq, struct process *p)
{
	struct process_owner *o;
	struct process_info info;

	process_info(p, &info);
	if (!info.kill_on_disconnect || process_get_exit(p))
		return true;
	o = process_owner_new();
	if (!o)
		return false;
	o->watch.fn = process_owner_on_close;
	o->follower.waiter.fn = process_owner_on_change;
	request_watch_peer(rq, &o->watch);
	process_follow(p, &o->follower);
	process_own(p);
	return true;
}

/* --- All --------------------------------------------------------------------------- */

struct attachments *attachments_new(struct api *api)
{
	struct attachments *all = calloc(1, sizeof(*all));

	if (all)
		all->api = api;
	return all;
}

void attachments_fence(struct attachments *all)
{
	if (!all)
		return;
	LIST_EACH (struct attachment, a, &all->list, node)
		if (a->lease && a->lease < all->api->idem->ledger.lease) {
			attach_output_fail(&a->output, IDEM_FENCED);
			if (a->state == ATTACH_OPEN)
				attachment_begin_end(a);
			attachment_set_events(a, true);
		}
}

void attachments_del(struct attachments *all)
{
	if (!all)
		return;
	LIST_EACH (struct attachment, a, &all->list, node)
		attachment_set_state(a, ATTACH_CLOSED);
	free(all);
}
