#include "server/process/attach_private.h"

#include "base/clock.h"
#include "net/resp.h"
#include "net/ws_hand.h"
#include "server/idempotency/idem_private.h"
#include "server/params.h"
#include "server/process/process_spec.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>

#define PROTOCOL "od.process.v1"

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
	struct process *p = a->follower.process;

	if (a->owns)
		process_disown(p);
	process_unfollow(&a->follower);
	timer_cancel(l, &a->timer);
	timer_cancel(l, &a->stuck);
	loop_remove(l, &a->io);
	transport_close(&a->transport);
	process_frames_free(&a->frames);
	buf_free(&a->early);
	buf_free(&a->input);
	buf_free(&a->text);
	buf_free(&a->frame.piece);
	list_remove(&a->node);
	a->all->n--;
	loop_defer_free(l, &a->later, attachment_free);
}

static void attachment_set_timer(struct attachment *a, unsigned ms);

void attach_set_state(struct attachment *a, enum attach_state to)
{
	static const bool legal[ATTACH_STATES][ATTACH_STATES] = {
		[ATTACH_OPEN] = {[ATTACH_ENDING] = true, [ATTACH_CLOSED] = true},
		[ATTACH_ENDING] = {[ATTACH_LINGER] = true, [ATTACH_CLOSED] = true},
		[ATTACH_LINGER] = {[ATTACH_CLOSED] = true},
	};

	assert(legal[a->state][to]);
	a->state = to;
	a->waits_for_stdin = false;
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
	attach_set_state(a, ATTACH_CLOSED);
}

void attach_fail(struct attachment *a, const char *detail)
{
	if (a->state != ATTACH_OPEN)
		return;
	a->failed = true;
	attach_send_error(a, detail);
	attach_set_state(a, ATTACH_ENDING);
	attachment_set_timer(a, ATTACH_LINGER_MS);
}

static void attachment_on_timer(struct timer *t)
{
	struct attachment *a = container_of(t, struct attachment, timer);
	enum peer_probe_state peer = PEER_PROBE_OK;

	/* The kernel still sends queued data. */
	if (a->state == ATTACH_LINGER) {
		attach_set_state(a, ATTACH_CLOSED);
		return;
	}
	if (a->owns)
		peer = peer_probe_check(&a->probe, a->transport.fd, clock_ms());
	if (a->failed || peer == PEER_PROBE_LOST) {
		attachment_abort(a);
		return;
	}
	attachment_set_timer(a, a->owns ? PEER_PROBE_TICK_MS : HTTP_WAIT_MS);
	if (peer == PEER_PROBE_IDLE && a->state == ATTACH_OPEN) {
		attach_put_empty(a);
		attach_run(a, false);
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
	uint32_t events = a->waits_for_stdin ? EPOLLRDHUP : EPOLLIN;

	if (more || transport_pending(&a->transport))
		events |= EPOLLOUT;
	loop_set_events(attachment_get_loop(a), &a->io, events);
}

void attach_run(struct attachment *a, bool readable)
{
	int r = readable ? attach_receive(a) : 0;

	if (r >= 0 && a->state == ATTACH_OPEN)
		attach_pass_stdin(a);
	if (r >= 0)
		r = attach_send(a);
	if (r == 0 && a->state == ATTACH_ENDING)
		attach_set_state(a, ATTACH_LINGER);
	if (r == ERR_RANGE)
		attachment_abort(a);
	else if (r < 0)
		attach_set_state(a, ATTACH_CLOSED);
	else
		attachment_set_events(a, r > 0);
}

static void attachment_on_event(struct io *io, uint32_t events)
{
	struct attachment *a = container_of(io, struct attachment, io);

	if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		attach_set_state(a, ATTACH_CLOSED);
	else
		attach_run(a,
			(events & EPOLLIN) || a->early.n ||
				transport_pending(&a->transport));
}

static void attachment_on_change(struct waiter *f)
{
	struct attachment *a = container_of(f, struct attachment, follower.waiter);

	attach_run(a, attach_end_stdin_wait(a));
}

/* --- The beginning ----------------------------------------------------------------- */

struct attach_query {
	uint64_t stdout_at, stderr_at, pty_at;
	unsigned until;
};

/* False: the parameters are wrong, and the request is answered. */
static bool attachment_read_query(
	struct request *rq, const struct process *p, struct attach_query *q)
{
	static const char *const until[] = {"exit", "end", NULL};
#define AT(member) .at = offsetof(struct attach_query, member)
	static const struct param params[] = {
		{"stdout", PARAM_NUMBER, false, AT(stdout_at), .max = INT64_MAX},
		{"stderr", PARAM_NUMBER, false, AT(stderr_at), .max = INT64_MAX},
		{"pty", PARAM_NUMBER, false, AT(pty_at), .max = INT64_MAX},
		{"until", PARAM_CHOICE, false, AT(until), .words = until},
	};
	struct params take = {.arena = &rq->arena, .query = rq->query};
	struct process_output o;
	struct process_info info;
	int r = params_read(&take, params, ARRAY_LEN(params), q);

	if (r) {
		api_refuse(rq, (unsigned)r, take.error);
		return false;
	}
	process_info(p, &info);
	if (info.pty)
		q->stdout_at = q->pty_at;
	for (unsigned i = 0; i < process_outputs(p); i++) {
		process_output(p, i, &o);
		if ((i ? q->stderr_at : q->stdout_at) <= o.end)
			continue;
		request_fail(rq, 416, STR("The offset is beyond the end of the output."));
		return false;
	}
	return true;
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
static void attachment_put_greeting(struct attachment *a, const struct process *p)
{
	struct process_stdin in;
	struct jw w;
	size_t at;

	process_stdin(p, &in);
	a->credit = a->credit_sent = in.offset;
	resp_start(&a->text, 101);
	resp_field(&a->text, STR("upgrade"), STR(PROTOCOL));
	resp_field(&a->text, STR("connection"), STR("Upgrade"));
	resp_end(&a->text);
	at = attach_control_begin(a, &w, "attached");
	jw_key(&w, "process");
	process_write(&w, p);
	jw_key(&w, "window");
	jw_uint(&w, ATTACH_WINDOW);
	attach_control_end(a, &w, at);
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
	a->until_end = q->until;
	a->sent[PROCESS_STDOUT] = q->stdout_at;
	a->sent[PROCESS_STDERR] = q->stderr_at;
	process_frames_init(&a->frames, true, ATTACH_CONTROL);
	buf_init(&a->early, HTTP_HEAD_MAX + HTTP_WINDOW);
	/* Up to half of the buffer can be bytes that the process has taken already. */
	buf_init(&a->input, 2 * ATTACH_WINDOW + ATTACH_READ);
	buf_init(&a->text, PROCESS_FRAME_MAX);
	attachment_put_greeting(a, p);
	if (a->text.err) {
		buf_free(&a->text);
		free(a);
		return NULL;
	}
	attachment_set_timer(a, PEER_PROBE_TICK_MS);
	return a;
}

static void attachment_enlist(struct attachment *a)
{
	struct attachments *all = a->all;

	a->serial = ++all->serial;
	list_prepend(&all->list, &a->node);
	all->n++;
}

static void attachment_follow(struct attachment *a, struct process *p)
{
	struct process_info info;

	process_info(p, &info);
	a->follower.waiter.fn = attachment_on_change;
	a->follower.releases = a->releases = info.wait_when_full;
	process_follow(p, &a->follower);
	a->owns = info.kill_on_disconnect;
	if (a->owns)
		process_own(p);
}

void attach_set_unsent(struct attachment *a, unsigned n)
{
	setsockopt(a->transport.fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &n, sizeof(n));
}

size_t attach_get_quota(const struct attachment *a)
{
	return transport_get_plain_fd(&a->transport) < 0 ? ATTACH_TURN : ATTACH_TURN_BARE;
}

/* Takes the connection over. rq is invalid afterwards. */
static void attachment_begin(struct attachment *a, struct request *rq)
{
	int fd, r = -ENOMEM;

	request_take_over(rq, &a->transport, &a->early);
	fd = a->transport.fd;
	attach_set_unsent(a, ATTACH_UNSENT);
	if (a->owns)
		peer_probe_begin(fd);
	if (!a->early.err)
		r = loop_add(attachment_get_loop(a), &a->io, fd, EPOLLIN | EPOLLOUT,
			attachment_on_event);
	if (r)
		attach_set_state(a, ATTACH_CLOSED);
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
	attachment_enlist(a);
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
			attach_fail(a, IDEM_FENCED);
			attachment_set_events(a, true);
		}
}

void attachments_del(struct attachments *all)
{
	if (!all)
		return;
	LIST_EACH (struct attachment, a, &all->list, node)
		attach_set_state(a, ATTACH_CLOSED);
	free(all);
}
