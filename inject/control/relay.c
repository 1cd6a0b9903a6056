#include "inject/control/relay.h"

#include "inject/control/relay_input.h"
#include "net/conn.h"
#include "net/resp.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

enum relay_state {
	RELAY_PROVE, /* the sandbox has to prove the key first; there is no channel */
	RELAY_TRANSFER,
	RELAY_FLUSH,  /* nothing more comes from the sandbox */
	RELAY_LINGER, /* all is sent; the client has to close first */
	RELAY_CLOSED,
};

struct relay {
	enum relay_state state;
	struct list node;     /* in the list of the link */
	struct list hub_node; /* in the list of the hub */
	struct link *link;    /* NULL: the channel has ended */
	struct hub *hub;
	uint32_t id;                  /* of the channel; 0: not opened yet */
	uint8_t verifier[SHA256_LEN]; /* of the key, for RELAY_PROVE */
	struct transport client;
	struct io io;
	struct timer timer;
	struct later later;
	bool ended;    /* the client sends no more */
	bool end_sent; /* the end of the request was sent to the sandbox */
	bool answered; /* a byte of the answer has arrived */
	struct relay_input input;
	struct buf in;         /* for the sandbox */
	size_t in_held;        /* its last bytes, which wait for the WebSocket to open */
	uint64_t in_sent;      /* bytes sent to the sandbox */
	uint64_t in_acked;     /* acknowledged by the sandbox */
	struct buf out;        /* for the client */
	size_t out_offset;     /* bytes of out */
	uint64_t out_received; /* bytes from the sandbox */
	uint64_t out_sent;     /* bytes sent to the client */
	uint64_t out_acked;    /* bytes acknowledged to the sandbox */
	uint64_t stall_mark;   /* done at the time when the stall timer was set */
};

static void relay_set_state(struct relay *r, enum relay_state to)
{
	assert(to > r->state);
	r->state = to;
}

static void relay_on_free(struct later *later)
{
	free(container_of(later, struct relay, later));
}

/* Detaches r from its link and, if required, sends the sandbox a close of the channel. */
static void relay_detach(struct relay *r, bool tell)
{
	struct link *l = r->link;
	struct jw w;

	if (!l)
		return;
	if (r->state == RELAY_PROVE)
		timer_cancel(r->hub->loop, &r->timer);
	list_remove(&r->node);
	l->relays_n--;
	r->link = NULL;
	if (tell && r->id) {
		listen_begin_frame(l, &w, "close", r->id);
		listen_send_frame(l, &w);
	}
}

static void relay_close(struct relay *r)
{
	relay_detach(r, true);
	relay_set_state(r, RELAY_CLOSED);
	list_remove(&r->hub_node);
	r->hub->relays_n--;
	timer_cancel(r->hub->loop, &r->timer);
	loop_remove(r->hub->loop, &r->io);
	transport_close(&r->client);
	buf_free(&r->in);
	buf_free(&r->out);
	loop_defer_free(r->hub->loop, &r->later, relay_on_free);
}

/* --- To the sandbox ------------------------------------------------------------- */

static bool relay_can_send(const struct relay *r)
{
	return r->id && r->link && r->link->ws &&
		r->in_sent - r->in_acked < STREAM_INPUT &&
		ws_conn_queued(r->link->ws) < WS_QUEUE;
}

static void relay_send_frame(struct relay *r)
{
	uint64_t open = STREAM_INPUT - (r->in_sent - r->in_acked);
	struct channel_frame f = {.kind = CHANNEL_INPUT,
		.id = r->id,
		.at = r->in_sent,
		.bytes = str_make(r->in.p, r->in.n - r->in_held)};
	uint8_t head[CHANNEL_HEAD];

	if (f.bytes.n > STREAM_PIECE)
		f.bytes.n = STREAM_PIECE;
	if (f.bytes.n > open)
		f.bytes.n = (size_t)open;
	f.span = (uint32_t)f.bytes.n;
	channel_frame_put(head, &f);
	(void)ws_conn_send(r->link->ws, WS_BINARY,
		str_make((const char *)head, CHANNEL_HEAD), f.bytes);
	r->in_sent += f.bytes.n;
	buf_consume(&r->in, f.bytes.n);
}

static void relay_send_input(struct relay *r)
{
	struct jw w;

	while (r->in.n > r->in_held && relay_can_send(r))
		relay_send_frame(r);
	if (!r->in.n && r->ended && !r->end_sent && r->link && r->id) {
		r->end_sent = true;
		listen_begin_frame(r->link, &w, "end", r->id);
		listen_send_frame(r->link, &w);
	}
}

/* --- To the client -------------------------------------------------------------- */

/* Acknowledges the bytes that the client has taken, so that the sandbox sends more. */
static void relay_send_ack(struct relay *r)
{
	struct jw w;

	if (!r->link || r->out_sent - r->out_acked < RELAY_WINDOW / 4)
		return;
	r->out_acked = r->out_sent;
	listen_begin_frame(r->link, &w, "ack", r->id);
	jw_key(&w, "bytes");
	jw_uint(&w, r->out_sent);
	listen_send_frame(r->link, &w);
}

/*
 * 0: all bytes are sent; 1: the client takes no more now; negative: it has disconnected.
 */
static int relay_flush_output(struct relay *r)
{
	int e;

	if (r->out.err)
		return r->out.err;
	while (r->out.n > r->out_offset) {
		struct iovec v = {r->out.p + r->out_offset, r->out.n - r->out_offset};
		ssize_t n = transport_send(&r->client, &v, 1);

		if (n == -EAGAIN)
			break;
		if (n < 0)
			return (int)n;
		r->out_offset += (size_t)n;
		r->out_sent += (size_t)n;
	}
	if (r->out_offset == r->out.n) {
		buf_free(&r->out);
		r->out_offset = 0;
	}
	relay_send_ack(r);
	e = transport_flush(&r->client);
	return e ? e : r->out.n > r->out_offset;
}

static void relay_on_linger_end(struct timer *t)
{
	relay_close(container_of(t, struct relay, timer));
}

/* Resets the connection, so that a part of an answer is not taken for the whole. */
static void relay_reset(struct relay *r)
{
	struct linger now = {.l_onoff = 1};

	setsockopt(r->client.fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	relay_close(r);
}

static void relay_on_stall(struct timer *t)
{
	relay_reset(container_of(t, struct relay, timer));
}

/*
 * Resets the connection if the client takes no byte of its answer for stall_ms, because
 * it occupies a channel of the sandbox. waits: bytes of the answer are not sent.
 */
static void relay_watch_stall(struct relay *r, bool waits)
{
	if (r->state == RELAY_PROVE || r->state == RELAY_LINGER ||
		(waits && timer_is_armed(&r->timer) && r->out_sent == r->stall_mark))
		return;
	r->stall_mark = r->out_sent;
	if (waits)
		timer_set(r->hub->loop, &r->timer, r->hub->conf.stall_ms, relay_on_stall);
	else
		timer_cancel(r->hub->loop, &r->timer);
}

static bool relay_can_read(const struct relay *r)
{
	return r->state == RELAY_LINGER ||
		(r->state == RELAY_TRANSFER && r->input.state != RELAY_INPUT_UPGRADE &&
			!r->ended && !r->in.n && relay_can_send(r));
}

static void relay_update(struct relay *r)
{
	int e = relay_flush_output(r);
	uint32_t events;

	if (e < 0) {
		relay_close(r);
		return;
	}
	if (e == 0 && r->state == RELAY_FLUSH) {
		transport_end(&r->client);
		e = transport_flush(&r->client);
		relay_set_state(r, RELAY_LINGER);
		timer_set(r->hub->loop, &r->timer, HTTP_LINGER_MS, relay_on_linger_end);
	}
	relay_watch_stall(r, e > 0);
	events = (relay_can_read(r) ? EPOLLIN : 0U) | (e > 0 ? EPOLLOUT : 0U);
	if (relay_can_read(r) && transport_pending(&r->client))
		events |= EPOLLOUT;
	loop_set_events(r->hub->loop, &r->io, events);
}

/* Writes the answer for a client that has received no byte of an answer. */
static void relay_write_fault(struct relay *r, const struct http_fault *fault)
{
	struct buf body = BUF_INIT(512);
	struct jw w;

	jw_init(&w, &body);
	jw_object(&w);
	jw_key(&w, "detail");
	jw_cstr(&w, fault->text);
	jw_end(&w);
	resp_start(&r->out, fault->status);
	resp_field(&r->out, STR("content-type"), STR("application/json"));
	if (fault->status > 500)
		resp_field(&r->out, STR("retry-after"), STR("1"));
	resp_field(&r->out, STR("connection"), STR("close"));
	resp_length(&r->out, body.n);
	resp_end(&r->out);
	buf_str(&r->out, buf_view(&body));
	buf_free(&body);
}

/* Answers in place of the sandbox, which receives no more of the request. */
static void relay_refuse(struct relay *r, const struct http_fault *fault)
{
	relay_detach(r, true);
	relay_write_fault(r, fault);
	relay_set_state(r, RELAY_FLUSH);
	relay_update(r);
}

void relay_on_close(struct relay *r)
{
	static const struct http_fault busy = {
		503, "The sandbox does not accept the request at the moment. Try again."};

	relay_detach(r, false);
	if (!r->answered)
		relay_write_fault(r, &busy);
	relay_set_state(r, RELAY_FLUSH);
	relay_update(r);
}

void relays_fail(struct link *l)
{
	static const struct http_fault lost = {502,
		"The connection to the sandbox was lost. The sandbox may have started to "
		"process the request."};
	static const struct http_fault away = {503,
		"The connection to the sandbox was lost before the request was sent. Try "
		"again."};

	struct relay *r;

	while ((r = LIST_FIRST(&l->relays, struct relay, node))) {

		relay_detach(r, false);
		if (r->answered) {
			relay_reset(r);
			continue;
		}
		relay_write_fault(r, r->id ? &lost : &away);
		relay_set_state(r, RELAY_FLUSH);
		relay_update(r);
	}
}

/* If the sandbox refuses a WebSocket, it receives nothing more from the client. */
static void relay_read_answer(struct relay *r, struct str bytes)
{
	if (r->input.state != RELAY_INPUT_UPGRADE)
		return;
	relay_input_read_answer(&r->input, r->out_received, bytes);
	if (r->input.state == RELAY_INPUT_DONE) {
		r->in.n -= r->in_held;
		r->ended = true;
	}
	if (r->input.state != RELAY_INPUT_UPGRADE)
		r->in_held = 0;
	relay_send_input(r);
}

void relay_on_output(struct relay *r, const struct channel_frame *f)
{
	/* The sandbox ignores the window or skips bytes: it violates the protocol. */
	if (f->at != r->out_received ||
		r->out_received - r->out_sent + f->bytes.n > RELAY_WINDOW) {
		relay_reset(r);
		return;
	}
	relay_read_answer(r, f->bytes);
	r->out_received += f->bytes.n;
	r->answered = true;
	/* Sent bytes must not count against the maximum. */
	if (r->out.n + f->bytes.n > RELAY_WINDOW) {
		buf_consume(&r->out, r->out_offset);
		r->out_offset = 0;
	}
	buf_str(&r->out, f->bytes);
	relay_update(r);
}

void relay_on_ack(struct relay *r, uint64_t bytes)
{
	if (bytes <= r->in_sent && bytes > r->in_acked)
		r->in_acked = bytes;
	relay_send_input(r);
	relay_update(r);
}

void relays_free(struct hub *h)
{
	LIST_EACH (struct relay, r, &h->relays, hub_node)
		relay_close(r);
}

void relays_resume(struct link *l)
{
	LIST_EACH (struct relay, r, &l->relays, node) {
		relay_send_input(r);
		relay_update(r);
	}
}

struct relay *relay_find(const struct link *l, uint32_t id)
{
	LIST_EACH (struct relay, r, &l->relays, node)
		if (id && r->id == id)
			return r;
	return NULL;
}

/*
 * Adds n received bytes, which lie after the end of r->in, to r->in, without those that
 * are not for the sandbox. 0, or negative: they are malformed.
 */
static int relay_commit(struct relay *r, size_t n)
{
	ssize_t taken = relay_input_take(&r->input, str_make(r->in.p + r->in.n, n));

	if (taken > 0)
		buf_commit(&r->in, (size_t)taken);
	return taken < 0 ? (int)taken : 0;
}

/* Receives from the client: 0, or negative at the end of the connection. */
static int relay_receive(struct relay *r)
{
	char *room = buf_reserve(&r->in, STREAM_PIECE);
	ssize_t n = room ? transport_recv(&r->client, room, STREAM_PIECE) : -ENOMEM;

	if (n == -EAGAIN)
		return 0;
	if (n < 0 || (n == 0 && r->state == RELAY_LINGER))
		return ERR_CLOSED;
	if (n == 0)
		r->ended = true;
	else if (r->state == RELAY_TRANSFER)
		return relay_commit(r, (size_t)n);
	return 0;
}

static void relay_fail_input(struct relay *r)
{
	static const struct http_fault bad = {400, "The chunked body is malformed."};

	if (r->answered)
		relay_reset(r);
	else
		relay_refuse(r, &bad);
}

static void relay_on_event(struct io *io, uint32_t events)
{
	struct relay *r = container_of(io, struct relay, io);
	int e = events & (EPOLLHUP | EPOLLERR) ? ERR_CLOSED : 0;

	if (!e && relay_can_read(r))
		e = relay_receive(r);
	if (e == ERR_SYNTAX || e == ERR_LIMIT) {
		relay_fail_input(r);
		return;
	}
	if (e) {
		relay_close(r);
		return;
	}
	relay_send_input(r);
	relay_update(r);
}

/* --- Opening channels ----------------------------------------------------------- */

static void relay_open_channel(struct relay *r, bool authorized)
{
	struct link *l = r->link;
	uint32_t id;
	struct jw w;

	/* After 2^32 requests an id repeats: an id that is still in use is skipped. */
	do
		id = ++l->last_id;
	while (!id || relay_find(l, id));
	r->id = id;
	timer_cancel(r->hub->loop, &r->timer);
	relay_set_state(r, RELAY_TRANSFER);
	listen_begin_frame(l, &w, "open", r->id);
	jw_key(&w, "kind");
	jw_cstr(&w, "http");
	jw_key(&w, "window");
	jw_uint(&w, RELAY_WINDOW);
	if (authorized) {
		jw_key(&w, "authorized");
		jw_bool(&w, true);
	}
	listen_send_frame(l, &w);
	relay_send_input(r);
	relay_update(r);
}

static void relay_expire_proof(struct timer *t)
{
	relay_refuse(container_of(t, struct relay, timer), &listen_proof_pending);
}

static void relay_check_proof(struct relay *r)
{
	const struct http_fault *fault = listen_proof_check(r->link, r->verifier);

	if (!fault)
		relay_open_channel(r, true);
	else if (fault != &listen_proof_pending)
		relay_refuse(r, fault);
	else
		timer_set(r->hub->loop, &r->timer, LISTEN_PROOF_MS, relay_expire_proof);
}

void relays_check_proof(struct link *l)
{
	LIST_EACH (struct relay, r, &l->relays, node)
		if (r->state == RELAY_PROVE)
			relay_check_proof(r);
}

static void relay_link(struct relay *r, struct link *l)
{
	r->hub = l->hub;
	r->link = l;
	list_prepend(&l->relays, &r->node);
	l->relays_n++;
	list_prepend(&l->hub->relays, &r->hub_node);
	l->hub->relays_n++;
}

/*
 * Writes the request with another target and without its key into r->in. 0, or negative
 * if the received part of its body is malformed.
 */
static int relay_take_request(struct relay *r, struct request *rq, struct str target)
{
	struct buf rest = BUF_INIT(HTTP_HEAD_MAX + HTTP_WINDOW);
	ssize_t n;

	relay_input_init(&r->input, rq);
	request_forward(rq, target, &r->in);
	request_take_over(rq, &r->client, &rest);
	if (r->input.state == RELAY_INPUT_UPGRADE)
		n = (ssize_t)(r->in_held = rest.n);
	else
		n = relay_input_take(&r->input, buf_view(&rest));
	if (n > 0)
		buf_put(&r->in, rest.p, (size_t)n);
	if (rest.err)
		r->in.err = rest.err;
	buf_free(&rest);
	return n < 0 ? (int)n : 0;
}

void relay_new(
	struct link *l, struct request *rq, struct str target, const uint8_t *verifier)
{
	struct relay *r = calloc(1, sizeof(*r));
	int e;

	if (!r) {
		request_fail(rq, 503, STR("Out of memory."));
		return;
	}
	buf_init(&r->in, 2 * (HTTP_HEAD_MAX + HTTP_WINDOW));
	buf_init(&r->out, RELAY_WINDOW + HTTP_REPLY_HEAD_MAX);
	r->io.fd = -1;
	e = relay_take_request(r, rq, target);
	relay_link(r, l);
	if (r->in.err ||
		loop_add(l->hub->loop, &r->io, r->client.fd, 0, relay_on_event)) {
		relay_close(r);
	} else if (e) {
		relay_fail_input(r);
	} else if (!verifier) {
		relay_open_channel(r, false);
	} else {
		memcpy(r->verifier, verifier, sizeof(r->verifier));
		relay_check_proof(r);
	}
}
