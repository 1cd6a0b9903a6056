#include "base/jw.h"
#include "codec/http/uri.h"
#include "net/conn.h"
#include "net/penalty.h"
#include "net/resp.h"
#include "net/session_key.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#define JSON_TYPE "application/json"

static struct exchange *request_get_exchange(const struct request *rq)
{
	return container_of((struct request *)(uintptr_t)rq, struct exchange, rq);
}

static struct exchange *request_exchange_new(void)
{
	struct exchange *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	buf_init(&x->in, HTTP_HEAD_MAX + HTTP_WINDOW);
	buf_init(&x->body, HTTP_BODY_MAX);
	buf_init(&x->head, HTTP_REPLY_HEAD_MAX);
	buf_init(&x->fields, HTTP_REPLY_HEAD_MAX);
	buf_init(&x->out, HTTP_REPLY_MAX);
	arena_init(&x->rq.arena, HTTP_ARENA_MAX);
	http_request_init(&x->http);
	return x;
}

struct exchange *exchange_acquire(struct conn *c)
{
	struct server *s = c->server;
	struct exchange *x = s->spares;

	if (x) {
		s->spares = x->next;
		s->spares_n--;
	} else {
		x = request_exchange_new();
	}
	if (x)
		x->conn = c;
	return x;
}

static void request_free_exchange(struct exchange *x)
{
	buf_free(&x->in);
	buf_free(&x->body);
	buf_free(&x->head);
	buf_free(&x->fields);
	buf_free(&x->out);
	arena_reset(&x->rq.arena);
	free(x);
}

/* Empties b. Keeps its memory if it is small. */
static void request_recycle_buf(struct buf *b)
{
	if (b->cap > HTTP_KEEP_MAX)
		buf_free(b);
	buf_reset(b);
}

void exchange_reset(struct exchange *x)
{
	struct arena arena = x->rq.arena;

	buf_consume(&x->in, x->used);
	x->used = 0;
	request_recycle_buf(&x->body);
	request_recycle_buf(&x->head);
	request_recycle_buf(&x->fields);
	request_recycle_buf(&x->out);
	x->sent = 0;
	x->offered = 0;
	x->copies = false;
	x->unread = str_make(NULL, 0);
	http_request_init(&x->http);
	arena_rewind(&arena);
	x->rq = (struct request){.arena = arena};
}

void exchange_release(struct conn *c)
{
	struct server *s = c->server;
	struct exchange *x = c->x;

	c->x = NULL;
	if (!x)
		return;
	if (s->spares_n == HTTP_SPARES) {
		request_free_exchange(x);
		return;
	}
	x->used = x->in.n;
	exchange_reset(x);
	request_recycle_buf(&x->in);
	x->conn = NULL;
	x->next = s->spares;
	s->spares = x;
	s->spares_n++;
}

void exchange_free_spares(struct server *s)
{
	while (s->spares) {
		struct exchange *x = s->spares;

		s->spares = x->next;
		request_free_exchange(x);
	}
	s->spares_n = 0;
}

int exchange_route(struct exchange *x)
{
	struct request *rq = &x->rq;
	struct http_request *h = &x->http;
	size_t n = 0;
	int r;

	/* The decoded path is never longer than the encoded one, and replaces it. */
	r = uri_decode(http_text(x->in.p, h->path), false, x->in.p + h->path.at, &n);
	if (r)
		return r;
	rq->method = http_text(x->in.p, h->method);
	rq->path = str_make(x->in.p + h->path.at, n);
	rq->query = http_text(x->in.p, h->query);
	return 0;
}

static void request_write_head(struct exchange *x, unsigned status, const char *type,
	enum http_framing framing, uint64_t length)
{
	struct buf *head = &x->head;

	x->status = status;
	buf_reset(head);
	resp_start(head, status);
	if (type)
		resp_field(head, STR("content-type"), str_c(type));
	if (framing == HTTP_CHUNKED)
		resp_field(head, STR("transfer-encoding"), STR("chunked"));
	if (framing == HTTP_LENGTH && status != 204 && status != 304)
		resp_length(head, length);
	if (x->last)
		resp_field(head, STR("connection"), STR("close"));
	else if (x->http.head.minor == 0)
		resp_field(head, STR("connection"), STR("keep-alive"));
	buf_str(head, buf_view(&x->fields));
	resp_end(head);
}

static void request_write_detail(struct exchange *x, struct str words)
{
	struct jw w;

	request_recycle_buf(&x->out);
	jw_init(&w, &x->out);
	jw_object(&w);
	jw_key(&w, "detail");
	jw_str(&w, words);
	jw_end(&w);
}

/* The first error among the parts of the reply. */
static int request_reply_error(const struct exchange *x)
{
	if (x->out.err)
		return x->out.err;
	return x->fields.err ? x->fields.err : x->head.err;
}

/* A peer that receives 503 may send its request again (RFC 9110, 15.6.4). */
static void request_add_retry_after(struct exchange *x)
{
	const struct str name = STR("retry-after");

	if (str_find(buf_view(&x->fields), name) == x->fields.n)
		resp_field(&x->fields, name, STR("1"));
}

static void request_write_failure(struct exchange *x, int err)
{
	request_recycle_buf(&x->fields);
	if (err == -ENOMEM) {
		request_add_retry_after(x);
		request_write_detail(x, STR("Out of memory."));
		request_write_head(x, 503, JSON_TYPE, HTTP_LENGTH, x->out.n);
	} else {
		request_write_detail(x,
			str_c(err == ERR_LIMIT ? "The reply is too large."
					       : "The reply is malformed."));
		request_write_head(x, 500, JSON_TYPE, HTTP_LENGTH, x->out.n);
	}
}

/* Writes the reply for request_out. If even an error cannot be written, sets head.err. */
static void request_write_reply(struct exchange *x, unsigned status, const char *type)
{
	request_write_head(x, status, type, HTTP_LENGTH, x->out.n);
	if (request_reply_error(x))
		request_write_failure(x, request_reply_error(x));
	if (request_reply_error(x))
		x->head.err = request_reply_error(x);
	/* The head of the reply equals that for a GET (RFC 9110, 9.3.2). */
	if (str_eq(x->rq.method, STR("HEAD")))
		buf_reset(&x->out);
}

/* Writes the head of a reply whose body, of length bytes, comes in pieces. */
static void request_begin_reply(
	struct exchange *x, unsigned status, const char *type, uint64_t length)
{
	request_recycle_buf(&x->out);
	x->framing = HTTP_LENGTH;
	x->promised = length;
	if (length == REQUEST_LENGTH_UNKNOWN && x->http.head.minor == 0) {
		x->framing = HTTP_UNTIL_CLOSE;
		x->last = true;
	} else if (length == REQUEST_LENGTH_UNKNOWN) {
		x->framing = HTTP_CHUNKED;
	}
	request_write_head(x, status, type, x->framing, length);
	if (x->fields.err)
		x->head.err = x->fields.err;
	if (str_eq(x->rq.method, STR("HEAD")))
		x->framing = HTTP_NO_BODY;
}

void exchange_fail(struct exchange *x, unsigned status, struct str words)
{
	if (status == 503)
		request_add_retry_after(x);
	request_write_detail(x, words);
	request_write_reply(x, status, JSON_TYPE);
}

int request_header(const struct request *rq, struct str name, struct str *value)
{
	const struct exchange *x = request_get_exchange(rq);

	return http_field_find(&x->http.head, x->in.p, name, value);
}

bool request_accepts(const struct request *rq, struct str type)
{
	struct str list, one;

	if (request_header(rq, STR("accept"), &list) != 0)
		return false;
	while (list.n) {
		one = str_cut(&list, ',');
		if (str_eq_nocase(str_trim(str_cut(&one, ';'), " \t"), type))
			return true;
	}
	return false;
}

int request_query(struct request *rq, struct str name, struct str *value)
{
	return uri_query_find(rq->query, name, &rq->arena, value);
}

bool request_is_http10(const struct request *rq)
{
	return request_get_exchange(rq)->http.head.minor == 0;
}

bool request_is_local_origin(const struct request *rq)
{
	static const char *const hosts[] = {"localhost", "127.0.0.1", "[::1]"};
	struct str origin, host;
	int r = request_header(rq, STR("origin"), &origin);

	for (size_t i = 0; r == 0 && i < ARRAY_LEN(hosts); i++) {
		host = str_skip(origin, str_find(origin, STR("://")) + 3);
		if (!str_starts(host, str_c(hosts[i])))
			continue;
		host = str_skip(host, strlen(hosts[i]));
		if (!host.n || host.p[0] == ':')
			return true;
	}
	return r == 1;
}

void request_trust(struct request *rq)
{
	request_get_exchange(rq)->conn->rank = RANK_TRUSTED;
}

bool request_is_authorized(const struct request *rq)
{
	return request_get_exchange(rq)->conn->authorized;
}

bool request_is_half_closed(const struct request *rq)
{
	const struct exchange *x = container_of(rq, const struct exchange, rq);
	struct pollfd p = {.fd = x->conn->transport.fd, .events = POLLRDHUP};

	return poll(&p, 1, 0) > 0;
}

struct buf *request_out(struct request *rq)
{
	return &request_get_exchange(rq)->out;
}

void request_add_field(struct request *rq, struct str name, struct str value)
{
	resp_field(&request_get_exchange(rq)->fields, name, value);
}

/* The connection ends after an answer that precedes the body: the body is not read. */
static void request_decide_close(struct exchange *x)
{
	const struct http_head *h = &x->http.head;
	struct conn *c = x->conn;
	enum request_phase phase = conn_get_phase(c);

	assert(phase == REQUEST_ROUTED || phase == REQUEST_READY);
	x->last = !h->keep_alive || c->server->stopping ||
		(phase == REQUEST_ROUTED && h->framing != HTTP_NO_BODY);
}

static void request_send_reply(struct conn *c)
{
	enum conn_state before = c->state;

	conn_set_state(c, C_SEND);
	/* Inside a callback, the step that made the call continues and sends. */
	if (before == C_WAIT)
		conn_resume(c);
}

void request_reply(struct request *rq, unsigned status, const char *type)
{
	struct exchange *x = request_get_exchange(rq);

	request_decide_close(x);
	request_write_reply(x, status, type);
	request_send_reply(x->conn);
}

void request_resume_body(struct request *rq)
{
	struct conn *c = request_get_exchange(rq)->conn;

	if (c->state != C_FULL)
		return;
	/* The pause was ours: it does not count against the peer. */
	c->x->body_from += loop_now(c->server->loop) - c->x->full_from;
	conn_set_state(c, C_BODY);
	conn_wake(c);
}

void request_begin(struct request *rq, unsigned status, const char *type, uint64_t length)
{
	struct exchange *x = request_get_exchange(rq);
	struct conn *c = x->conn;
	bool late = c->state == C_WAIT;

	request_decide_close(x);
	request_begin_reply(x, status, type, length);
	conn_set_state(c, C_PART);
	if (late)
		conn_wake(c);
}

void request_begin_events(struct request *rq)
{
	request_add_field(rq, STR("cache-control"), STR("no-cache"));
	request_begin(rq, 200, REQUEST_EVENTS, REQUEST_LENGTH_UNKNOWN);
}

/* If offered bytes are to be written, piece begins with them. Returns the rest of it. */
static struct str request_put_offered(struct exchange *x, struct str piece)
{
	size_t n = piece.n < x->offered ? piece.n : x->offered;

	if (n == 0)
		return piece;
	buf_put(&x->out, piece.p, n);
	x->offered -= n;
	if (x->offered == 0)
		exchange_end_offer(x);
	return str_skip(piece, n);
}

/* A lack of memory is detected when the piece is sent. */
static void request_put_piece(struct exchange *x, struct str piece)
{
	switch (x->framing) {
	case HTTP_CHUNKED:
		/* An empty chunk would end the body. */
		if (piece.n == 0)
			return;
		buf_fmt(&x->out, "%zx\r\n", piece.n);
		buf_str(&x->out, piece);
		buf_puts(&x->out, "\r\n");
		break;
	case HTTP_LENGTH:
		if (piece.n > x->promised)
			x->out.err = ERR_RANGE;
		x->promised -= piece.n;
		buf_str(&x->out, piece);
		break;
	case HTTP_UNTIL_CLOSE:
		buf_str(&x->out, piece);
		break;
	case HTTP_NO_BODY:
		break;
	}
}

bool request_write(struct request *rq, struct str piece)
{
	struct exchange *x = request_get_exchange(rq);
	struct conn *c = x->conn;

	assert(conn_get_phase(c) == REQUEST_PARTS);
	assert(x->offered == 0 || x->copies);
	request_put_piece(x, request_put_offered(x, piece));
	if (c->state == C_OWED && (x->out.n || x->out.err)) {
		conn_set_state(c, C_PART);
		conn_wake(c);
	}
	return x->out.n < HTTP_QUEUE && !x->out.err;
}

void exchange_end_offer(struct exchange *x)
{
	if (x->framing == HTTP_CHUNKED)
		buf_puts(&x->out, "\r\n");
}

bool request_offer(struct request *rq, size_t n)
{
	struct exchange *x = request_get_exchange(rq);
	struct conn *c = x->conn;

	assert(conn_get_phase(c) == REQUEST_PARTS);
	assert(n && (x->offered == 0 || x->copies));
	if (x->copies || x->framing == HTTP_NO_BODY || !rq->ops->on_splice_out ||
		transport_get_plain_fd(&c->transport) < 0)
		return false;
	if (x->framing == HTTP_CHUNKED)
		buf_fmt(&x->out, "%zx\r\n", n);
	if (x->framing == HTTP_LENGTH) {
		if (n > x->promised)
			x->out.err = ERR_RANGE;
		x->promised -= n;
	}
	x->offered = n;
	if (c->state == C_OWED) {
		conn_set_state(c, C_PART);
		conn_wake(c);
	}
	return true;
}

void request_end(struct request *rq)
{
	struct exchange *x = request_get_exchange(rq);
	struct conn *c = x->conn;

	assert(conn_get_phase(c) == REQUEST_PARTS);
	if (x->framing == HTTP_CHUNKED)
		buf_puts(&x->out, "0\r\n\r\n");
	if (x->offered || (x->framing == HTTP_LENGTH && x->promised))
		x->out.err = ERR_RANGE;
	conn_set_state(c, C_SEND);
	conn_wake(c);
}

void request_abort(struct request *rq)
{
	struct conn *c = request_get_exchange(rq)->conn;

	assert(conn_get_phase(c) == REQUEST_PARTS);
	c->x->out.err = ERR_CLOSED;
	conn_set_state(c, C_SEND);
	conn_wake(c);
}

void request_fail(struct request *rq, unsigned status, struct str words)
{
	struct exchange *x = request_get_exchange(rq);

	request_decide_close(x);
	exchange_fail(x, status, words);
	request_send_reply(x->conn);
}

enum http_framing request_framing(const struct request *rq, uint64_t *length)
{
	const struct http_head *h = &request_get_exchange(rq)->http.head;

	*length = h->framing == HTTP_LENGTH ? h->length : 0;
	return h->framing;
}

bool request_is_websocket(const struct request *rq)
{
	struct str upgrade;

	return request_header(rq, STR("upgrade"), &upgrade) == 0 &&
		str_eq_nocase(upgrade, STR("websocket")) &&
		str_eq(rq->method, STR("GET")) &&
		request_get_exchange(rq)->http.head.framing == HTTP_NO_BODY;
}

static const char *request_format_peer(
	const struct sockaddr *a, char text[INET6_ADDRSTRLEN])
{
	const void *at = &((const struct sockaddr_in *)(const void *)a)->sin_addr;

	if (a->sa_family == AF_INET6)
		at = &((const struct sockaddr_in6 *)(const void *)a)->sin6_addr;
	return inet_ntop(a->sa_family, at, text, INET6_ADDRSTRLEN);
}

/* Returns the delay of the answer in ms. */
static unsigned request_count_failure(struct conn *c, struct penalty *p)
{
	struct sockaddr_storage a = {0};
	socklen_t n = sizeof(a);
	char text[INET6_ADDRSTRLEN] = "";
	unsigned ms;

	if (getpeername(c->transport.fd, (struct sockaddr *)&a, &n) < 0)
		return 0;
	ms = penalty_fail(p, (struct sockaddr *)&a, loop_now(c->server->loop));
	if (ms && request_format_peer((struct sockaddr *)&a, text))
		server_warn(c->server, SERVER_WARN_KEY, text);
	return ms;
}

void request_deny(
	struct request *rq, struct penalty *p, unsigned status, struct str words)
{
	struct exchange *x = request_get_exchange(rq);
	struct conn *c = x->conn;
	unsigned ms = request_count_failure(c, p);

	assert(conn_get_phase(c) == REQUEST_ROUTED);
	if (!ms) {
		request_fail(rq, status, words);
		return;
	}
	request_decide_close(x);
	exchange_fail(x, status, words);
	conn_set_state(c, C_DELAY);
	conn_set_deadline(c, ms);
}

void request_forward(const struct request *rq, struct str target, struct buf *out)
{
	const struct exchange *x = request_get_exchange(rq);
	const struct http_head *h = &x->http.head;
	/* A WebSocket needs the field Connection; other upgrades are optional. */
	bool keeps = request_is_websocket(rq);

	buf_fmt(out, "%.*s ", STR_ARG(rq->method));
	buf_str(out, target);
	buf_fmt(out, " HTTP/1.%u\r\n", h->minor);
	for (unsigned i = 0; i < h->fields_n; i++) {
		struct str name = http_text(x->in.p, h->fields[i].name);

		if (keeps || !str_eq_nocase(name, STR("connection")))
			session_key_strip_field(
				out, name, http_text(x->in.p, h->fields[i].value));
	}
	if (!keeps)
		resp_field(out, STR("connection"), STR("close"));
	resp_end(out);
}

void request_take_over(struct request *rq, struct transport *t, struct buf *rest)
{
	struct exchange *x = request_get_exchange(rq);

	assert(x->conn->state == C_ROUTE || x->conn->state == C_READY);
	buf_str(rest, str_skip(buf_view(&x->in), x->used));
	*t = x->conn->transport;
	conn_detach(x->conn);
}
