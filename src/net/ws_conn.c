#include "net/ws_conn.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/hash.h"
#include "limits.h"
#include "net/conn.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

enum { TURNS = 4 /* calls of room in one wake-up */ };

enum state {
	CONNECT, /* the socket is not connected yet */
	ASK,     /* a client's handshake is under way */
	OPEN,
	CLOSING, /* we have sent a close */
	ENDING,  /* both have, or it has failed: queued bytes are sent, no input */
	GONE,
	STATES
};

struct ws_conn {
	enum state state;
	struct loop *loop;
	struct ws_conf conf; /* no zeros left */
	struct transport transport;
	struct ws ws;
	bool masks;        /* it is a client: frames sent are masked */
	bool end_sent;     /* set when all is sent: settle ends the transport once */
	bool writable_due; /* ws_conn_send returned false: room is due */
	unsigned code;     /* the close code to report at the end */
	const char *why;
	char reason[WS_CONTROL_MAX + 1]; /* of the close that came or was sent first */
	char key[WS_KEY_LEN];
	struct buf in;    /* a message in pieces; before OPEN, the server's answer */
	struct buf early; /* input that followed the request */
	struct buf out;
	size_t sent; /* of out */
	/* Counted in beats that have passed: a stopped process counts a single beat. */
	uint64_t silent_ms;      /* since the peer's last bytes */
	uint64_t controls_until; /* see ws_conn_may_control */
	struct io io;
	struct timer timer;
	struct later later;
};

static timer_fn ws_conn_on_timer;

static void ws_conn_set_state(struct ws_conn *c, enum state to)
{
	static const bool legal[STATES][STATES] = {
		[CONNECT] = {[ASK] = true, [GONE] = true},
		[ASK] = {[OPEN] = true, [GONE] = true},
		[OPEN] = {[CLOSING] = true, [ENDING] = true, [GONE] = true},
		[CLOSING] = {[ENDING] = true, [GONE] = true},
		[ENDING] = {[GONE] = true},
	};
	const unsigned ms[STATES] = {
		[OPEN] = c->conf.beat_ms,
		[CLOSING] = c->conf.close_ms,
		[ENDING] = c->conf.close_ms,
	};

	assert(legal[c->state][to]);
	c->state = to;
	if (ms[to])
		timer_set(c->loop, &c->timer, ms[to], ws_conn_on_timer);
}

static void ws_conn_free(struct later *later)
{
	free(container_of(later, struct ws_conn, later));
}

static void ws_conn_destroy(struct ws_conn *c)
{
	ws_conn_set_state(c, GONE);
	timer_cancel(c->loop, &c->timer);
	loop_remove(c->loop, &c->io);
	transport_close(&c->transport);
	buf_free(&c->in);
	buf_free(&c->early);
	buf_free(&c->out);
	loop_defer_free(c->loop, &c->later, ws_conn_free);
}

void ws_conn_del(struct ws_conn *c)
{
	if (c)
		ws_conn_destroy(c);
}

/* Ends the connection at once, and reports it. */
static void ws_conn_drop(struct ws_conn *c, unsigned code, const char *why)
{
	if (!c->code) {
		c->code = code;
		c->why = why;
	}
	ws_conn_destroy(c);
	c->conf.ops->ended(c->conf.arg, c->code, c->why);
}

/* --- Sending -------------------------------------------------------------------- */

static void ws_conn_put_frame(
	struct ws_conn *c, enum ws_op op, struct str head, struct str body)
{
	uint8_t frame[WS_HEAD_MAX], key[4];
	size_t n = head.n + body.n, at;

	if (c->masks && random_bytes(key, sizeof(key))) {
		c->out.err = ERR_TLS;
		return;
	}
	at = ws_write_head(frame, op, true, n, c->masks ? key : NULL);
	buf_put(&c->out, frame, at);
	at = c->out.n;
	buf_str(&c->out, head);
	buf_str(&c->out, body);
	if (c->masks && !c->out.err)
		ws_mask(c->out.p + at, n, key, 0);
}

static void ws_conn_put_close(struct ws_conn *c, unsigned code, struct str reason)
{
	char payload[WS_CONTROL_MAX];
	size_t n = code == WS_NO_CODE ? 0 : ws_write_close(payload, code, reason);

	ws_conn_put_frame(c, WS_CLOSE, str_make(payload, n), STR(""));
}

size_t ws_conn_queued(const struct ws_conn *c)
{
	return c->out.n - c->sent;
}

/* Wakes the loop, which then sends, or detects why it cannot. */
static void ws_conn_wake(struct ws_conn *c)
{
	loop_set_events(c->loop, &c->io, c->io.events | EPOLLOUT);
}

bool ws_conn_send(struct ws_conn *c, enum ws_op op, struct str head, struct str body)
{
	if (c->state != OPEN)
		return false;
	ws_conn_put_frame(c, op, head, body);
	ws_conn_wake(c);
	c->writable_due = ws_conn_queued(c) >= WS_QUEUE;
	return !c->writable_due;
}

/* 0: all is sent; 1: the socket is full; an error of the socket or of the queue. */
static int ws_conn_flush(struct ws_conn *c)
{
	int r;

	if (c->out.err)
		return c->out.err;
	while (ws_conn_queued(c)) {
		struct iovec v = {c->out.p + c->sent, ws_conn_queued(c)};
		ssize_t n;

		if (v.iov_len > HTTP_TURN_BYTES)
			v.iov_len = HTTP_TURN_BYTES;
		n = transport_send(&c->transport, &v, 1);
		if (n == -EAGAIN)
			break;
		if (n < 0)
			return (int)n;
		c->sent += (size_t)n;
	}
	if (ws_conn_queued(c)) {
		/* Sent bytes must not count against the maximum of the queue. */
		if (c->sent > c->out.n / 2) {
			buf_consume(&c->out, c->sent);
			c->sent = 0;
		}
	} else if (c->sent) {
		buf_free(&c->out);
		c->sent = 0;
	}
	r = transport_flush(&c->transport);
	return r ? r : ws_conn_queued(c) > 0;
}

/* Sends as much as possible at once, because the program may be about to end. */
void ws_conn_close(struct ws_conn *c, unsigned code, struct str reason)
{
	if (c->state != OPEN)
		return;
	ws_copy_reason(c->reason, reason);
	ws_conn_put_close(c, code, reason);
	ws_conn_set_state(c, CLOSING);
	/* The next event reports an error of ws_conn_flush. */
	if (ws_conn_flush(c))
		ws_conn_wake(c);
}

/* --- Receiving ------------------------------------------------------------------ */

/* Sends the reason to the peer. No more input is handled. */
static void ws_conn_fail(struct ws_conn *c, unsigned code, const char *why)
{
	c->code = code;
	c->why = why;
	if (c->state == OPEN)
		ws_conn_put_close(c, code, str_c(why));
	ws_conn_set_state(c, ENDING);
}

static void ws_conn_on_close(struct ws_conn *c, const struct ws_event *e)
{
	bool ours = c->state == CLOSING;

	if (!ours) {
		ws_copy_reason(c->reason, e->data);
		ws_conn_put_close(c, e->code, STR(""));
	}
	c->code = e->code;
	c->why = c->reason[0] ? c->reason
		: ours        ? "closed by this side"
			      : "the peer has closed it";
	ws_conn_set_state(c, ENDING);
}

static void ws_conn_handle_data(struct ws_conn *c, const struct ws_event *e)
{
	struct str whole = e->data;

	if (c->state != OPEN)
		return;
	if (!e->last || c->in.n) {
		buf_str(&c->in, e->data);
		whole = buf_view(&c->in);
	}
	if (c->in.err)
		ws_conn_fail(c, WS_TRY_LATER, "out of memory");
	else if (e->last)
		c->conf.ops->message(c->conf.arg, e->op, whole);
	if (e->last)
		buf_free(&c->in);
}

/*
 * A token bucket of WS_CONTROLS frames, filled again at as many a second.
 * controls_until is the time at which the bucket is full.
 */
static bool ws_conn_may_control(struct ws_conn *c)
{
	uint64_t now = loop_now(c->loop);

	if (c->controls_until < now)
		c->controls_until = now;
	c->controls_until += 1000 / WS_CONTROLS;
	return c->controls_until - now <= 1000;
}

static void ws_conn_handle_event(struct ws_conn *c, const struct ws_event *e)
{
	if ((e->op == WS_PING || e->op == WS_PONG) && !ws_conn_may_control(c)) {
		ws_conn_fail(c, WS_POLICY, "too many pings");
		return;
	}
	switch (e->op) {
	case WS_PING:
		if (c->state == OPEN)
			ws_conn_put_frame(c, WS_PONG, e->data, STR(""));
		break;
	case WS_PONG:
		break;
	case WS_CLOSE:
		ws_conn_on_close(c, e);
		break;
	default:
		ws_conn_handle_data(c, e);
	}
}

static const char *ws_conn_error(int err, unsigned code)
{
	switch (err) {
	case ERR_LIMIT:
		return code == WS_POLICY ? "the message has too many fragments"
					 : "the message is too large";
	case ERR_UTF8:
		return "the text is not UTF-8";
	default:
		return "the frame violates the protocol";
	}
}

static void ws_conn_parse_frames(struct ws_conn *c, char *p, size_t n)
{
	struct ws_event e;
	int r = 0;

	while (r == 0 && (c->state == OPEN || c->state == CLOSING)) {
		r = ws_next(&c->ws, &p, &n, &e);
		if (r == 0)
			ws_conn_handle_event(c, &e);
		else if (r < 0)
			ws_conn_fail(c, c->ws.code, ws_conn_error(r, c->ws.code));
	}
}

/* Takes the answer to a client's handshake. The bytes that follow it are frames. */
static void ws_conn_parse_answer(struct ws_conn *c, const char *p, size_t n)
{
	struct http_response h;
	const char *why;
	struct buf in;
	int r;

	buf_put(&c->in, p, n);
	if (c->in.err) {
		ws_conn_drop(c, WS_LOST, "the server's answer is too long");
		return;
	}
	http_response_init(&h, false);
	r = http_response_parse(&h, buf_view(&c->in));
	if (r > 0)
		return;
	why = r ? h.fault->text : ws_hand_check_answer(&h, c->in.p, c->key);
	if (why) {
		ws_conn_drop(c, WS_LOST, why);
		return;
	}
	in = c->in;
	buf_init(&c->in, c->conf.message_max);
	ws_conn_set_state(c, OPEN);
	if (c->conf.ops->open)
		c->conf.ops->open(c->conf.arg);
	if (c->state == OPEN)
		ws_conn_parse_frames(c, in.p + h.head.n, in.n - h.head.n);
	buf_free(&in);
}

static void ws_conn_feed(struct ws_conn *c, char *p, size_t n)
{
	c->silent_ms = 0;
	if (c->state == ASK)
		ws_conn_parse_answer(c, p, n);
	else
		ws_conn_parse_frames(c, p, n);
}

/* While a peer does not read and much is queued for it, its input is not read either. */
static bool ws_conn_can_read(const struct ws_conn *c)
{
	return c->state != CONNECT && ws_conn_queued(c) < 4 * WS_QUEUE;
}

/* A turn is bounded by time, because small messages may be expensive. */
static int ws_conn_receive(struct ws_conn *c)
{
	uint64_t until = clock_us() + HTTP_TURN_US;
	char piece[WS_READ];
	ssize_t n;

	do {
		n = transport_recv(&c->transport, piece, sizeof(piece));
		if (n <= 0)
			return n == -EAGAIN ? 0 : n ? (int)n : ERR_CLOSED;
		ws_conn_feed(c, piece, (size_t)n);
	} while (n == WS_READ && ws_conn_can_read(c) && c->state != GONE &&
		clock_us() < until);
	return 0;
}

static void ws_conn_update_events(struct ws_conn *c, bool full)
{
	uint32_t events = 0;

	if (c->state == ENDING && !full && !c->end_sent) {
		c->end_sent = true;
		/* The server closes first (RFC 6455, 7.1.1). */
		if (!c->masks)
			transport_end(&c->transport);
		full = transport_flush(&c->transport) > 0;
	}
	if (ws_conn_can_read(c))
		events = EPOLLIN;
	if (full || (events && transport_pending(&c->transport)))
		events |= EPOLLOUT;
	loop_set_events(c->loop, &c->io, events);
}

static int ws_conn_check_connect(struct ws_conn *c)
{
	int r = c->state == CONNECT ? fd_connect_result(c->transport.fd) : 0;

	if (!r && c->state == CONNECT) {
		c->silent_ms = 0;
		ws_conn_set_state(c, ASK);
	}
	return r;
}

static void ws_conn_feed_early(struct ws_conn *c)
{
	struct buf early = c->early;

	if (!early.n)
		return;
	buf_init(&c->early, 0);
	ws_conn_feed(c, early.p, early.n);
	buf_free(&early);
}

/* Calls writable while it is due, TURNS times at most; results as of ws_conn_flush. */
static int ws_conn_notify_writable(struct ws_conn *c, int r)
{
	for (int i = 0; i < TURNS && r == 0 && c->writable_due && c->state == OPEN; i++) {
		c->writable_due = false;
		if (c->conf.ops->writable)
			c->conf.ops->writable(c->conf.arg);
		if (c->state != GONE)
			r = ws_conn_flush(c);
	}
	return r;
}

static void ws_conn_run(struct ws_conn *c)
{
	int r = ws_conn_flush(c), end = 0;

	if (r >= 0 && ws_conn_can_read(c)) {
		ws_conn_feed_early(c);
		if (c->state != GONE)
			end = ws_conn_receive(c);
	}
	if (c->state != GONE && r >= 0)
		r = ws_conn_notify_writable(c, ws_conn_flush(c));
	if (c->state == GONE)
		return;
	if (c->out.err)
		ws_conn_drop(c, WS_LOST,
			"the peer reads too slowly: the queue of frames is full");
	else if (r == ERR_TLS || end == ERR_TLS)
		ws_conn_drop(c, WS_LOST, transport_tls_error(&c->transport));
	else if (r < 0 || end < 0)
		ws_conn_drop(c, WS_LOST, "the connection was lost");
	else
		ws_conn_update_events(c, r > 0 || c->writable_due);
}

static void ws_conn_event(struct io *io, uint32_t events)
{
	struct ws_conn *c = container_of(io, struct ws_conn, io);
	int r = ws_conn_check_connect(c);

	if (r)
		ws_conn_drop(c, WS_LOST, err_text(r));
	/* The connection is not read now, so a read would not detect the error. */
	else if ((events & (EPOLLERR | EPOLLHUP)) && !ws_conn_can_read(c))
		ws_conn_drop(c, WS_LOST, "the connection was lost");
	else
		ws_conn_run(c);
}

static void ws_conn_on_timer(struct timer *t)
{
	struct ws_conn *c = container_of(t, struct ws_conn, timer);

	if (c->state == CONNECT || c->state == ASK) {
		ws_conn_drop(c, WS_LOST, "the server did not answer in time");
		return;
	}
	if (c->state != OPEN) {
		ws_conn_drop(c, WS_LOST, "the peer did not close the connection in time");
		return;
	}
	c->silent_ms += c->conf.beat_ms;
	if (c->silent_ms > c->conf.dead_ms) {
		ws_conn_drop(c, WS_LOST, "the peer did not answer a ping in time");
		return;
	}
	ws_conn_put_frame(c, WS_PING, STR(""), STR(""));
	if (c->conf.ops->beat)
		c->conf.ops->beat(c->conf.arg);
	if (c->state == GONE)
		return;
	timer_set(c->loop, &c->timer, c->conf.beat_ms, ws_conn_on_timer);
	ws_conn_wake(c);
}

/* --- Start ---------------------------------------------------------------------- */

static unsigned ws_conn_choose(unsigned given, unsigned otherwise)
{
	return given ? given : otherwise;
}

static struct ws_conn *ws_conn_new(
	struct loop *l, struct transport *t, const struct ws_conf *conf, bool server)
{
	struct ws_conn *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->state = server ? OPEN : CONNECT;
	c->loop = l;
	c->conf = *conf;
	c->conf.message_max =
		conf->message_max ? conf->message_max : (size_t)WS_MESSAGE_MAX;
	c->conf.queue_max = conf->queue_max ? conf->queue_max : (size_t)WS_QUEUE_MAX;
	c->conf.beat_ms = ws_conn_choose(conf->beat_ms, WS_BEAT_MS);
	c->conf.dead_ms = ws_conn_choose(conf->dead_ms, WS_DEAD_MS);
	c->conf.open_ms = ws_conn_choose(conf->open_ms, WS_OPEN_MS);
	c->conf.close_ms = ws_conn_choose(conf->close_ms, WS_CLOSE_MS);
	c->masks = !server;
	c->io.fd = -1;
	c->transport = *t;
	ws_init(&c->ws, server, c->conf.message_max);
	buf_init(&c->in, server ? c->conf.message_max : HTTP_HEAD_MAX + HTTP_WINDOW);
	buf_init(&c->out, c->conf.queue_max);
	return c;
}

/* Starts to watch the socket. On failure c and its transport are freed. */
static int ws_conn_start(struct ws_conn *c, unsigned ms)
{
	int r = loop_add(c->loop, &c->io, c->transport.fd, EPOLLOUT, ws_conn_event);

	timer_set(c->loop, &c->timer, ms, ws_conn_on_timer);
	if (!r && c->out.err)
		r = c->out.err;
	if (r)
		ws_conn_destroy(c);
	return r;
}

int ws_conn_accept(struct loop *l, struct request *rq, const struct ws_conf *conf,
	struct str protocol, struct ws_conn **out)
{
	const struct http_fault *fault;
	struct buf answer = BUF_INIT(HTTP_REPLY_HEAD_MAX);
	struct transport t;
	struct ws_conn *c;
	struct str key;

	fault = ws_hand_check(rq, &key);
	if (fault) {
		if (fault->status == 426) {
			request_add_field(rq, STR("upgrade"), STR("websocket"));
			request_add_field(rq, STR("sec-websocket-version"), STR("13"));
		}
		request_fail(rq, fault->status, str_c(fault->text));
		return 1;
	}
	c = ws_conn_new(l, &(struct transport){0}, conf, true);
	ws_hand_answer(&answer, key, protocol);
	if (!c || answer.err) {
		free(c);
		buf_free(&answer);
		request_fail(rq, 503, STR("Out of memory."));
		return 1;
	}
	buf_init(&c->early, HTTP_HEAD_MAX + HTTP_WINDOW);
	request_take_over(rq, &t, &c->early);
	c->transport = t;
	c->out = answer;
	c->out.max = c->conf.queue_max;
	if (c->early.err)
		c->out.err = c->early.err;
	if (ws_conn_start(c, c->conf.beat_ms))
		return 1;
	*out = c;
	return 0;
}

int ws_conn_dial(struct loop *l, struct transport *t, const struct ws_hand_params *ask,
	const struct ws_conf *conf, struct ws_conn **out)
{
	struct ws_conn *c = ws_conn_new(l, t, conf, false);
	int r;

	if (!c) {
		transport_close(t);
		return -ENOMEM;
	}
	r = ws_hand_request(&c->out, ask, c->key);
	if (r)
		ws_conn_destroy(c);
	else
		r = ws_conn_start(c, c->conf.open_ms);
	if (!r)
		*out = c;
	return r;
}
