/* Receives the body of a request. */
#include "net/conn.h"
#include "net/resp.h"

#include <errno.h>

enum { HTTP_MOVE = 1 << 20 }; /* bytes of a body that are spliced at once: about 0.1 ms */

static const struct http_fault bad_chunks = {400, "The chunked body is malformed."};

bool conn_has_memory(const struct exchange *x, uint64_t total)
{
	const struct server_conf *conf = &x->conn->server->conf;

	if (total <= HTTP_BODY_STEP || x->rq.body_streams || !conf->ops->has_memory)
		return true;
	return conf->ops->has_memory(conf->arg, 2 * total - x->body.n);
}

/*
 * Checks the memory for each further HTTP_BODY_STEP of a body before it is buffered:
 * other bodies grow at the same time, and the total length of chunks is not known in
 * advance.
 */
static bool conn_can_grow_body(struct exchange *x, size_t n)
{
	const struct http_head *h = &x->http.head;
	size_t total = x->body.n + n;

	if (total <= x->body_checked + HTTP_BODY_STEP)
		return true;
	x->body_checked = total;
	return conn_has_memory(
		x, h->framing == HTTP_LENGTH ? h->length : total + HTTP_BODY_STEP);
}

/* Buffers a piece or passes it to the layer above. False if not all of it was taken. */
static bool conn_put_body(struct exchange *x, struct str piece)
{
	if (!x->rq.body_streams) {
		buf_str(&x->body, piece);
		return true;
	}
	x->unread = str_skip(piece, x->rq.ops->on_body(&x->rq, piece));
	return x->unread.n == 0;
}

/*
 * Decodes the input. 0: the body is complete; 1: it is not; 2: no more is taken for now;
 * ERR_SYNTAX with *fault. All bytes of a body that were read into memory pass through
 * here.
 */
static int conn_decode_body(struct exchange *x, const struct http_fault **fault)
{
	struct str in = str_skip(buf_view(&x->in), x->used);

	if (x->unread.n && !conn_put_body(x, x->unread))
		return 2;
	while (x->decoder.state != BODY_DONE && in.n) {
		struct str piece;
		int r = body_next(&x->decoder, &in, &piece);

		x->used = x->in.n - in.n;
		if (r < 0)
			*fault = &bad_chunks;
		else if (x->decoder.data > x->rq.body_max)
			*fault = &conn_too_large;
		else if (!conn_can_grow_body(x, piece.n))
			*fault = &conn_body_no_memory;
		else if (piece.n && !conn_put_body(x, piece))
			return 2;
		if (!*fault && x->body.err)
			*fault = &conn_no_memory;
		if (*fault)
			return ERR_SYNTAX;
	}
	return x->decoder.state != BODY_DONE;
}

/* RFC 9110, 10.1.1. If the body has begun to arrive, no 100 (Continue) is sent. */
static int conn_send_continue(struct conn *c)
{
	struct http_head *h = &c->x->http.head;
	const struct str words = RESP_CONTINUE;
	struct iovec v = {.iov_base = (void *)(uintptr_t)words.p, .iov_len = words.n};
	ssize_t n;

	if (!h->expect_continue || c->x->decoder.data || c->x->decoder.overhead)
		return 0;
	h->expect_continue = false;
	n = transport_send(&c->transport, &v, 1);
	/* The peer may proceed without 100 (Continue), but not with half of it. */
	return n == -EAGAIN || n == (ssize_t)words.n ? 0 : conn_drop(c);
}

/* Enforces body_rate over the whole body, and stall_ms for each pause. */
static void conn_set_body_deadline(struct conn *c)
{
	const struct server_conf *conf = &c->server->conf;
	uint64_t allowed = conf->body_ms + c->x->decoder.data * 1000 / conf->body_rate;
	uint64_t spent = loop_now(c->server->loop) - c->x->body_from;
	uint64_t left = allowed > spent ? allowed - spent : 0;

	conn_set_deadline(c, left < conf->stall_ms ? (unsigned)left : conf->stall_ms);
}

static int conn_pause_body(struct conn *c)
{
	c->x->full_from = loop_now(c->server->loop);
	conn_set_state(c, C_FULL);
	return 1;
}

/* Whether the socket has only body bytes, and enough of them to move directly. */
static bool conn_can_move_body(const struct conn *c)
{
	const struct exchange *x = c->x;

	return x->rq.body_streams && x->rq.ops->on_splice_in &&
		transport_get_plain_fd(&c->transport) >= 0 &&
		body_get_remaining(&x->decoder) > HTTP_WINDOW;
}

/*
 * As conn_fill and conn_decode_body, but the bytes bypass our memory. If move fails,
 * conn_fill reads them.
 */
static int conn_move_body(struct conn *c, struct turn *turn)
{
	struct exchange *x = c->x;
	uint64_t sure = body_get_remaining(&x->decoder);
	size_t n = sure < HTTP_MOVE ? (size_t)sure : HTTP_MOVE;
	ssize_t got = x->rq.ops->on_splice_in(&x->rq, c->transport.fd, n);

	if (got == -EAGAIN)
		return 1;
	if (got == -ENOBUFS)
		return conn_pause_body(c);
	if (got == 0)
		return conn_handle_eof(c);
	if (got < 0)
		return conn_fill(c, turn, x->in.cap - x->in.n);
	body_skip_data(&x->decoder, (uint64_t)got);
	conn_set_body_deadline(c);
	conn_spend_turn(turn, got);
	return (size_t)got < n;
}

int conn_step_body(struct conn *c, struct turn *turn)
{
	struct exchange *x = c->x;
	const struct http_fault *fault = NULL;
	int r = conn_decode_body(x, &fault);

	if (r < 0)
		return conn_refuse(c, fault);
	if (r == 0)
		return conn_finish_body(c);
	if (r == 2)
		return conn_pause_body(c);
	x->in.n = x->used = x->http.head.n;
	r = conn_send_continue(c);
	if (r == 0)
		r = conn_can_move_body(c) ? conn_move_body(c, turn)
					  : conn_fill(c, turn, x->in.cap - x->in.n);
	if (r == 0 && c->state == C_BODY)
		conn_set_body_deadline(c);
	return r;
}
