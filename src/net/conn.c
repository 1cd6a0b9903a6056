#include "net/conn.h"

#include "base/clock.h"
#include "base/fd.h"
#include "net/resp.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

/* Steps return 0 to go on, 1 to wait for an event, ERR_CLOSED when c has ended. */
typedef int step_fn(struct conn *c, struct turn *turn);

struct trait {
	step_fn *step;
	uint32_t events; /* to wait for */
	unsigned next;   /* the states that may follow, one bit each */
	enum request_phase phase;
};

static step_fn conn_step_head, conn_step_wait, conn_step_send, conn_step_part,
	conn_step_linger;

#define TO(state) (1u << (state))

static const struct trait traits[C_STATES] = {
	[C_FREE] = {.next = TO(C_HEAD)},
	[C_IDLE] = {conn_step_head, EPOLLIN, TO(C_HEAD) | TO(C_LINGER) | TO(C_FREE),
		REQUEST_NONE},
	[C_HEAD] = {conn_step_head, EPOLLIN,
		TO(C_ROUTE) | TO(C_SEND) | TO(C_LINGER) | TO(C_FREE), REQUEST_NONE},
	[C_ROUTE] = {.next = TO(C_BODY) | TO(C_READY) | TO(C_DELAY) | TO(C_SEND) |
			TO(C_PART) | TO(C_FREE),
		.phase = REQUEST_ROUTED},
	[C_DELAY] = {conn_step_wait, 0, TO(C_SEND) | TO(C_FREE), REQUEST_NONE},
	[C_BODY] = {conn_step_body, EPOLLIN,
		TO(C_FULL) | TO(C_READY) | TO(C_SEND) | TO(C_LINGER) | TO(C_FREE),
		REQUEST_BODY},
	/* The kernel reports hang-ups even if no events are requested. */
	[C_FULL] = {conn_step_wait, 0, TO(C_BODY) | TO(C_FREE), REQUEST_BODY},
	[C_READY] = {.next = TO(C_WAIT) | TO(C_SEND) | TO(C_PART) | TO(C_FREE),
		.phase = REQUEST_READY},
	[C_WAIT] = {conn_step_wait, 0, TO(C_SEND) | TO(C_PART) | TO(C_FREE),
		REQUEST_READY},
	[C_PART] = {conn_step_part, EPOLLOUT, TO(C_OWED) | TO(C_SEND) | TO(C_FREE),
		REQUEST_PARTS},
	[C_OWED] = {conn_step_wait, 0, TO(C_PART) | TO(C_SEND) | TO(C_FREE),
		REQUEST_PARTS},
	[C_SEND] = {conn_step_send, EPOLLOUT,
		TO(C_IDLE) | TO(C_HEAD) | TO(C_LINGER) | TO(C_FREE), REQUEST_NONE},
	[C_LINGER] = {conn_step_linger, EPOLLIN, TO(C_FREE), REQUEST_NONE},
};

const struct http_fault conn_no_memory = {503, "Out of memory."};
const struct http_fault conn_body_no_memory = {503,
	"The sandbox has too little free memory for a request body of this size: free "
	"some of its memory, or try again."};
static const struct http_fault bad_escape = {
	400, "The request target has a malformed escape."};
const struct http_fault conn_too_large = {413, "The request body is too large."};
static const struct http_fault cut_short = {400, "The request is incomplete."};
static const struct http_fault too_slow = {408, "The request came too slowly."};

static timer_fn conn_on_deadline;

void conn_set_deadline(struct conn *c, unsigned ms)
{
	timer_set(c->server->loop, &c->timer, ms, conn_on_deadline);
}

void conn_set_state(struct conn *c, enum conn_state next)
{
	assert(traits[c->state].next & TO(next));
	c->state = next;
	conn_requeue(c);
	/* A watched connection is not closed for being idle before wait_ms. */
	if (next == C_IDLE && !list_is_empty(&c->watches))
		conn_set_deadline(c, c->server->ms[C_WAIT]);
	else if (c->server->ms[next])
		conn_set_deadline(c, c->server->ms[next]);
}

/* Whether the connection ends if the peer closes its side. */
static bool conn_needs_peer(const struct conn *c)
{
	return !list_is_empty(&c->watches) || (c->x && c->x->rq.needs_peer);
}

enum request_phase conn_get_phase(const struct conn *c)
{
	return traits[c->state].phase;
}

static void conn_abort_request(struct conn *c)
{
	struct request *rq = c->x ? &c->x->rq : NULL;

	if (rq && conn_get_phase(c) != REQUEST_NONE && rq->user && rq->ops->on_close)
		rq->ops->on_close(rq);
}

static void conn_free(struct later *later)
{
	free(container_of(later, struct conn, later));
}

void conn_detach(struct conn *c)
{
	struct server *s = c->server;

	conn_set_state(c, C_FREE);
	exchange_release(c);
	timer_cancel(s->loop, &c->timer);
	loop_remove(s->loop, &c->io);
	*(c->prev ? &c->prev->next : &s->first) = c->next;
	*(c->next ? &c->next->prev : &s->last) = c->prev;
	conn_notify_watches(c);
	loop_defer_free(s->loop, &c->later, conn_free);
	server_on_conn_end(s);
}

int conn_drop(struct conn *c)
{
	struct transport t = c->transport;

	conn_abort_request(c);
	conn_detach(c);
	transport_close(&t);
	return ERR_CLOSED;
}

int conn_refuse(struct conn *c, const struct http_fault *fault)
{
	conn_abort_request(c);
	c->x->last = true;
	exchange_fail(c->x, fault->status, str_c(fault->text));
	conn_set_state(c, C_SEND);
	return 0;
}

int conn_handle_eof(struct conn *c)
{
	if (!c->x || c->x->in.n == 0)
		return conn_drop(c);
	return conn_refuse(c, &cut_short);
}

/* Lingers, because closing with unread input would discard the alert with the reason. */
static int conn_fail_tls(struct conn *c)
{
	server_warn(c->server, SERVER_WARN_TLS, transport_tls_error(&c->transport));
	conn_abort_request(c);
	exchange_release(c);
	transport_end(&c->transport);
	conn_set_state(c, C_LINGER);
	return 0;
}

int conn_fill(struct conn *c, struct turn *turn, size_t n)
{
	struct buf *in = &c->x->in;
	ssize_t got;
	char *room;

	if (turn->dry)
		return 1;
	if (n > turn->bytes)
		n = turn->bytes;
	room = buf_reserve(in, n);
	if (!room)
		return in->n ? conn_refuse(c, &conn_no_memory) : conn_drop(c);
	got = transport_recv(&c->transport, room, n);
	if (got == -EAGAIN)
		return 1;
	if (got == ERR_TLS)
		return conn_fail_tls(c);
	if (got < 0)
		return conn_drop(c);
	if (got == 0)
		return conn_handle_eof(c);
	turn->dry = (size_t)got < n;
	turn->bytes -= (size_t)got;
	buf_commit(in, (size_t)got);
	return 0;
}

int conn_finish_body(struct conn *c)
{
	c->x->rq.body = buf_view(&c->x->body);
	conn_set_state(c, C_READY);
	c->x->rq.ops->on_ready(&c->x->rq);
	if (c->state == C_FREE)
		return ERR_CLOSED;
	if (c->state != C_READY)
		return 0;
	conn_set_state(c, C_WAIT);
	return 1;
}

/* The request's strings point into the input, so the input must not move from here on. */
static bool conn_reserve_input(struct exchange *x)
{
	const struct http_head *h = &x->http.head;
	size_t here = x->in.n - h->n;

	if (h->framing == HTTP_NO_BODY ||
		(h->framing == HTTP_LENGTH && here >= h->length))
		return true;
	return buf_reserve(&x->in, x->in.max - x->in.n);
}

static int conn_route(struct conn *c)
{
	struct exchange *x = c->x;
	const struct http_head *h = &x->http.head;

	x->used = h->n;
	if (!conn_reserve_input(x))
		return conn_refuse(c, &conn_no_memory);
	if (exchange_route(x))
		return conn_refuse(c, &bad_escape);
	conn_set_state(c, C_ROUTE);
	c->server->conf.ops->head(c->server->conf.arg, &x->rq);
	if (c->state == C_FREE)
		return ERR_CLOSED;
	if (c->state != C_ROUTE)
		return 0;
	if (h->framing == HTTP_NO_BODY)
		return conn_finish_body(c);
	if (h->framing == HTTP_LENGTH && h->length > x->rq.body_max)
		return conn_refuse(c, &conn_too_large);
	if (h->framing == HTTP_LENGTH && !conn_has_memory(x, h->length))
		return conn_refuse(c, &conn_body_no_memory);
	body_init(&x->decoder, h->framing, h->length);
	x->body_checked = 0;
	x->body.max = x->rq.body_max;
	x->body_from = loop_now(c->server->loop);
	conn_set_state(c, C_BODY);
	return 0;
}

static int conn_step_head(struct conn *c, struct turn *turn)
{
	struct buf *in;
	size_t n;
	int r;

	if (c->x) {
		r = http_request_parse(&c->x->http, buf_view(&c->x->in));
		if (r < 0)
			return conn_refuse(c, c->x->http.fault);
		if (r == 0)
			return conn_route(c);
	} else if (turn->dry) {
		return 1;
	} else {
		c->x = exchange_acquire(c);
		if (!c->x)
			return conn_drop(c);
	}
	in = &c->x->in;
	/* The buffer grows by doubling, so that a slow peer occupies little memory. */
	n = in->cap > in->n ? in->cap - in->n : in->n ? in->n : HTTP_READ_FIRST;
	if (n > HTTP_HEAD_MAX - in->n)
		n = HTTP_HEAD_MAX - in->n;
	r = conn_fill(c, turn, n);
	if (r == 1 && in->n == 0)
		exchange_release(c);
	if (r == 0 && c->state == C_IDLE)
		conn_set_state(c, C_HEAD);
	return r;
}

static int conn_step_wait(struct conn *c, struct turn *turn)
{
	(void)c;
	(void)turn;
	return 1;
}

static int conn_finish_reply(struct conn *c)
{
	struct exchange *x = c->x;

	if (x->status < 400 && c->rank == RANK_NEW)
		c->rank = RANK_SERVED;
	if (x->last || (c->server->stopping && x->in.n == x->used)) {
		exchange_release(c);
		/* Closing with unread input would discard the reply (RFC 9112, 9.6). */
		transport_end(&c->transport);
		conn_set_state(c, C_LINGER);
		return 0;
	}
	exchange_reset(x);
	if (x->in.n) {
		conn_set_state(c, C_HEAD);
	} else {
		exchange_release(c);
		conn_set_state(c, C_IDLE);
	}
	return 0;
}

/*
 * Ends c with a reset, so that the peer does not take an incomplete reply for complete.
 */
static int conn_reset(struct conn *c)
{
	struct linger now = {.l_onoff = 1};

	setsockopt(c->transport.fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	return conn_drop(c);
}

static bool conn_is_all_sent(const struct exchange *x)
{
	return x->sent == x->head.n + x->out.n;
}

/* Sends some of the written reply. 0; 1: the socket is full; ERR_CLOSED: c has ended. */
static int conn_send_reply(struct conn *c, struct turn *turn)
{
	struct exchange *x = c->x;
	struct str head = str_skip(buf_view(&x->head), x->sent);
	struct str body = buf_view(&x->out);
	struct iovec v[2];
	ssize_t n;

	/* There was no memory even for an error, or a reply in pieces has failed. */
	if (x->head.err || x->out.err)
		return conn_reset(c);
	if (conn_is_all_sent(x))
		return 0;
	if (head.n == 0)
		body = str_skip(body, x->sent - x->head.n);
	if (body.n > HTTP_TURN_BYTES)
		body.n = HTTP_TURN_BYTES;
	v[0] = (struct iovec){(void *)(uintptr_t)head.p, head.n};
	v[1] = (struct iovec){(void *)(uintptr_t)body.p, body.n};
	n = transport_send(&c->transport, v, 2);
	if (n == -EAGAIN)
		return 1;
	if (n < 0)
		return conn_drop(c);
	conn_spend_turn(turn, n);
	x->sent += (size_t)n;
	conn_set_deadline(c, c->server->conf.stall_ms);
	return 0;
}

static int conn_step_send(struct conn *c, struct turn *turn)
{
	int r = conn_send_reply(c, turn);

	if (r || !conn_is_all_sent(c->x))
		return r;
	turn->replies--;
	/*
	 * Replies differ in cost by a factor of a hundred, so the turn is bounded by
	 * time.
	 */
	if (turn->replies && clock_us() >= turn->until)
		turn->replies = 0;
	return conn_finish_reply(c);
}

/* Sends some of the offered bytes; results as of conn_send_reply. */
static int conn_send_offered(struct conn *c, struct turn *turn)
{
	struct exchange *x = c->x;
	size_t most = x->offered < HTTP_TURN_BYTES ? x->offered : HTTP_TURN_BYTES;
	ssize_t n = x->rq.ops->on_splice_out(&x->rq, c->transport.fd, most);

	if (n == -EAGAIN)
		return 1;
	if (n == -EINVAL) {
		x->copies = true;
		return 0;
	}
	if (n == 0)
		return conn_reset(c);
	if (n < 0)
		return conn_drop(c);
	conn_spend_turn(turn, n);
	conn_set_deadline(c, c->server->conf.stall_ms);
	x->offered -= (size_t)n;
	if (x->offered == 0)
		exchange_end_offer(x);
	return 0;
}

static int conn_step_part(struct conn *c, struct turn *turn)
{
	struct exchange *x = c->x;
	int r = conn_send_reply(c, turn);

	if (r || !conn_is_all_sent(x))
		return r;
	buf_reset(&x->head);
	buf_reset(&x->out);
	x->sent = 0;
	if (x->offered && !x->copies)
		r = conn_send_offered(c, turn);
	if (r || x->out.n || (x->offered && !x->copies))
		return r;
	conn_set_state(c, C_OWED);
	if (x->rq.user && x->rq.ops->on_writable)
		x->rq.ops->on_writable(&x->rq);
	return c->state == C_OWED;
}

static int conn_step_linger(struct conn *c, struct turn *turn)
{
	char unread[4096];
	ssize_t n;

	if (turn->dry)
		return 1;
	n = transport_recv(&c->transport, unread, sizeof(unread));
	if (n == -EAGAIN)
		return 1;
	if (n <= 0)
		return conn_drop(c);
	turn->dry = (size_t)n < sizeof(unread);
	conn_spend_turn(turn, n);
	return 0;
}

/*
 * Waits for the events of the state. If input is left, also for a writable socket; while
 * the transport still has bytes to send, only for that.
 */
static void conn_update_events(struct conn *c, bool more)
{
	uint32_t events = traits[c->state].events;
	int r = transport_flush(&c->transport);

	if (r < 0) {
		conn_drop(c);
		return;
	}
	/*
	 * A next request seldom comes before the answer. conn_on_event clears EPOLLIN if
	 * it does.
	 */
	if (c->state == C_WAIT && r == 0 && c->io.events == EPOLLIN)
		return;
	if (r > 0)
		events = EPOLLOUT;
	else if (more || (events & EPOLLIN && transport_pending(&c->transport)))
		events |= EPOLLOUT;
	if (conn_needs_peer(c))
		events |= EPOLLRDHUP;
	loop_set_events(c->server->loop, &c->io, events);
}

static void conn_run_steps(struct conn *c)
{
	struct turn turn = conn_begin_turn(c->server);
	int r = 0;

	while (r == 0 && turn.bytes && turn.replies)
		r = traits[c->state].step(c, &turn);
	if (r >= 0)
		conn_update_events(c, r == 0);
}

void conn_wake(struct conn *c)
{
	loop_set_events(c->server->loop, &c->io, traits[c->state].events | EPOLLOUT);
}

void conn_resume(struct conn *c)
{
	struct turn turn = {.bytes = HTTP_TURN_BYTES, .replies = 1};
	int r = 0;

	/* Sends only: a next request must not start inside the end of this one. */
	while (r == 0 && c->state == C_SEND && turn.bytes)
		r = conn_step_send(c, &turn);
	if (r >= 0)
		conn_update_events(c, c->state == C_HEAD);
}

void conn_start(struct conn *c)
{
	conn_run_steps(c);
}

static void conn_on_event(struct io *io, uint32_t events)
{
	struct conn *c = container_of(io, struct conn, io);

	/* EPOLLRDHUP is requested only for connections that need their peer. */
	if (events & (EPOLLERR | EPOLLHUP | EPOLLRDHUP))
		conn_drop(c);
	else if (c->state == C_WAIT && !(events & EPOLLOUT))
		loop_set_events(
			c->server->loop, &c->io, conn_needs_peer(c) ? EPOLLRDHUP : 0);
	else
		conn_run_steps(c);
}

static void conn_on_deadline(struct timer *t)
{
	struct conn *c = container_of(t, struct conn, timer);

	if (c->state == C_BODY || (c->state == C_HEAD && c->x)) {
		conn_refuse(c, &too_slow);
		conn_run_steps(c);
	} else if (c->state == C_DELAY) {
		conn_set_state(c, C_SEND);
		conn_run_steps(c);
	} else {
		conn_drop(c);
	}
}

static int conn_new(
	struct server *s, int fd, const struct tls_credentials *tls, struct conn **out)
{
	struct conn *c = calloc(1, sizeof(*c));
	int r = 0;

	if (!c)
		return -ENOMEM;
	c->server = s;
	if (tls)
		r = transport_tls(&c->transport, fd, tls);
	else
		transport_plain(&c->transport, fd);
	if (r)
		free(c);
	else
		*out = c;
	return r;
}

int conn_open(
	struct server *s, int fd, const struct tls_credentials *tls, struct conn **out)
{
	struct conn *c;
	int r = conn_new(s, fd, tls, &c);

	if (r) {
		fd_close(&fd);
		return r;
	}
	r = loop_add(s->loop, &c->io, fd, EPOLLIN, conn_on_event);
	if (r) {
		transport_close(&c->transport);
		free(c);
		return r;
	}
	c->prev = s->last;
	*(s->last ? &s->last->next : &s->first) = c;
	s->last = c;
	s->conns_n++;
	conn_set_state(c, C_HEAD);
	*out = c;
	return 0;
}
