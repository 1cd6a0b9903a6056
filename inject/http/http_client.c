#include "inject/http/http_client.h"

#include "base/clock.h"
#include "base/fd.h"
#include "codec/http/request_head.h"
#include "inject/console/stop.h"
#include "limits.h"
#include "net/tls_trust.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { RETRY_MS = 10, WINDOW = HTTP_HEAD_MAX + 65536, CHUNK = 65536 };

/*
 * The kernel's first probe is sent KEEP_IDLE_S after the last byte, its last one before
 * HTTP_CLIENT_LOST_MS.
 */
enum { KEEP_IDLE_S = 3, KEEP_INTERVAL_S = 3, KEEP_PROBES = 4 };

/* TCP retransmits after 0.2 s, then after twice the time: the fifth time after 6 s. */
enum { LOST_REPEATS = 5, LOST_TICK_MS = 2000 };

/* A full queue of a unix socket cannot be polled for, so the connection is retried. */
int http_client_connect_unix(const char *path, uint32_t ms, bool calm)
{
	uint64_t deadline = clock_ms() + ms;

	for (;;) {
		int fd = fd_connect_unix(path);
		int r;

		if (fd != -EAGAIN)
			return fd;
		if (clock_ms() >= deadline)
			return -ETIMEDOUT;
		r = stop_wait(-1, 0, clock_ms() + RETRY_MS, calm);
		if (r < 0)
			return r;
	}
}

static void http_client_keep_alive(int fd)
{
	static const struct {
		int level, name, value;
	} options[] = {
		{SOL_SOCKET, SO_KEEPALIVE, 1},
		{IPPROTO_TCP, TCP_KEEPIDLE, KEEP_IDLE_S},
		{IPPROTO_TCP, TCP_KEEPINTVL, KEEP_INTERVAL_S},
		{IPPROTO_TCP, TCP_KEEPCNT, KEEP_PROBES},
	};

	for (size_t i = 0; i < ARRAY_LEN(options); i++)
		setsockopt(fd, options[i].level, options[i].name, &options[i].value,
			sizeof(options[i].value));
}

/*
 * The kernel probes idle connections only. TCP_USER_TIMEOUT would limit unacknowledged
 * bytes, too, but also ends a connection whose peer is paused and acknowledges probes of
 * its closed window.
 */
bool http_client_is_lost(const struct http_client *c)
{
	struct tcp_info i = {0};
	socklen_t n = sizeof(i);

	return getsockopt(c->transport.fd, IPPROTO_TCP, TCP_INFO, &i, &n) == 0 &&
		i.tcpi_retransmits >= LOST_REPEATS &&
		i.tcpi_last_ack_recv >= HTTP_CLIENT_LOST_MS;
}

uint64_t http_client_next_check(uint64_t end)
{
	uint64_t tick = clock_ms() + LOST_TICK_MS;

	return end && end < tick ? end : tick;
}

int http_client_map_error(int r)
{
	return r == -ETIMEDOUT || r == -EHOSTUNREACH || r == -ENETUNREACH
		? HTTP_CLIENT_LOST
		: r;
}

int http_client_connect_tcp(uint16_t port, uint32_t ms)
{
	return http_client_connect_to("127.0.0.1", port, ms, false);
}

int http_client_connect_to(const char *address, uint16_t port, uint32_t ms, bool calm)
{
	int fd = fd_connect_tcp(address, port);
	int r;

	if (fd < 0)
		return fd;
	r = stop_wait(fd, POLLOUT, clock_ms() + ms, calm);
	if (r == 0)
		r = -ETIMEDOUT;
	else if (r > 0)
		r = fd_connect_result(fd);
	if (r)
		fd_close(&fd);
	else
		http_client_keep_alive(fd);
	return r ? r : fd;
}

void http_client_set_limits(struct http_client *c, uint32_t idle_ms, uint32_t grace_ms)
{
	c->idle_ms = idle_ms;
	c->grace_ms = grace_ms;
	c->began = clock_ms();
	c->moved = 0;
}

static void http_client_init(struct http_client *c, uint32_t idle_ms, bool calm)
{
	http_client_set_limits(c, idle_ms, idle_ms);
	c->ignores_signals = calm;
	/* Heads and answers contain keys and tokens. */
	c->in = (struct buf)BUF_SECRET(WINDOW);
}

void http_client_begin(struct http_client *c, int fd, uint32_t idle_ms, bool calm)
{
	*c = (struct http_client){0};
	http_client_init(c, idle_ms, calm);
	transport_plain(&c->transport, fd);
}

int http_client_begin_tls(struct http_client *c, int fd, uint32_t idle_ms,
	const struct tls_trust *trust, struct str host)
{
	struct http_client made = {.secure = true};
	int r = transport_tls_client(&made.transport, fd, trust, host);

	if (r)
		return r;
	http_client_init(&made, idle_ms, false);
	*c = made;
	return 0;
}

int http_client_begin_pinned(
	struct http_client *c, int fd, uint32_t idle_ms, const uint8_t pin[SHA256_LEN])
{
	struct tls_trust *trust = NULL;
	const char *why;
	int r = tls_trust_new(STR(""), pin, &why, &trust);

	if (!r)
		r = http_client_begin_tls(c, fd, idle_ms, trust, STR("localhost"));
	if (r)
		tls_trust_del(trust);
	else
		c->pinned = trust;
	return r;
}

void http_client_close(struct http_client *c)
{
	if (c->transport.ops)
		transport_close(&c->transport);
	c->transport.ops = NULL;
	tls_trust_del(c->pinned);
	c->pinned = NULL;
	buf_free(&c->in);
}

const char *http_client_tls_error(const struct http_client *c)
{
	return transport_tls_error(&c->transport);
}

/* The end of the whole exchange if no more byte moves. */
static uint64_t http_client_total_deadline(const struct http_client *c)
{
	return c->began + c->grace_ms + c->moved * 1000 / INJECT_RATE;
}

/* Waits for events; 0 when there are any, in *got. */
static int http_client_wait(struct http_client *c, short events, short *got)
{
	uint64_t idle = c->idle_ms ? clock_ms() + c->idle_ms : 0;
	uint64_t total = c->grace_ms ? http_client_total_deadline(c) : 0;
	bool total_first = total && (!idle || total < idle);
	uint64_t end = total_first ? total : idle;
	int r;

	do {
		r = stop_wait(c->transport.fd, events, http_client_next_check(end),
			c->ignores_signals);
		if (r == 0 && http_client_is_lost(c))
			return HTTP_CLIENT_LOST;
	} while (r == 0 && (!end || clock_ms() < end));
	if (r < 0)
		return r;
	if (r == 0)
		return total_first ? -ETIME : -ETIMEDOUT;
	*got = (short)r;
	return 0;
}

/* Removes the frames from the received bytes, from the byte at on. */
static int http_client_unframe(struct http_client *c, size_t at)
{
	struct str in = str_skip(buf_view(&c->in), at), piece;
	int fd, r;

	while ((r = frames_next(&c->frames, &in, &fd, &piece)) == 0) {
		if (fd != STDOUT_FILENO)
			continue;
		memmove(c->in.p + at, piece.p, piece.n);
		at += piece.n;
	}
	c->in.n = at;
	return r < 0 ? r : 0;
}

int http_client_begin_tunnel(struct http_client *c, uint32_t idle_ms)
{
	buf_consume(&c->in, c->at);
	c->at = 0;
	http_client_set_limits(c, idle_ms, idle_ms);
	c->answered = c->is_rejected = false;
	c->framed = true;
	frames_init(&c->frames);
	return http_client_unframe(c, 0);
}

/* Reads once into c->in. 0, also at the end of the stream; 1: no bytes are available. */
static int http_client_receive(struct http_client *c)
{
	size_t free_n = c->in.max - c->in.n;
	size_t most = c->piece_max ? c->piece_max : CHUNK;
	size_t n = free_n < most ? free_n : most;
	/*
	 * The whole space is reserved at once: the buffer must not move while a piece is
	 * used.
	 */
	char *room = n ? buf_reserve(&c->in, free_n) : NULL;
	size_t at = c->in.n;
	ssize_t got;

	if (!room)
		return n ? -ENOMEM : ERR_LIMIT;
	got = transport_recv(&c->transport, room, n);
	if (got > 0) {
		buf_commit(&c->in, (size_t)got);
		c->moved += (size_t)got;
	}
	if (got > 0 && c->framed)
		return http_client_unframe(c, at);
	if (got > 0)
		return 0;
	if (got == 0)
		c->ended = true;
	else if (got == -EAGAIN)
		return 1;
	else if (got == -ECONNRESET && !c->secure)
		c->ended = true; /* earlier bytes are still used */
	else
		return http_client_map_error((int)got);
	return 0;
}

static int http_client_read_more(struct http_client *c)
{
	short got;
	int r;

	if (c->ended)
		return ERR_CLOSED;
	for (;;) {
		/*
		 * While the peer always has bytes to read, no wait checks for a signal.
		 */
		if (stop_is_requested(c->ignores_signals))
			return -EINTR;
		r = http_client_receive(c);
		if (r <= 0)
			return r;
		r = transport_flush(&c->transport);
		if (r >= 0)
			r = http_client_wait(
				c, (short)(POLLIN | (r ? POLLOUT : 0)), &got);
		if (r < 0)
			return r;
	}
}

/* Parses the received bytes; skips interim responses, which are no progress. */
static int http_client_parse_head(struct http_client *c)
{
	for (;;) {
		struct str in = str_skip(buf_view(&c->in), c->at);
		int r = http_response_parse(&c->head, in);

		if (r)
			return r;
		c->at += c->head.head.n;
		if (c->head.status >= 200 || c->head.status == 101)
			return 0;
		c->moved -= c->moved < c->head.head.n ? c->moved : c->head.head.n;
		http_response_init(&c->head, c->head.to_head);
	}
}

/* Reads the peer's answer while the request is being sent. */
static int http_client_read_early(struct http_client *c)
{
	int r = http_client_receive(c);

	if (r < 0)
		return r;
	if (!c->answered && http_client_parse_head(c) == 0)
		c->answered = true;
	if (c->ended || (c->answered && c->head.status >= 300))
		c->is_rejected = true;
	return 0;
}

/*
 * The events to wait for before more can be sent: space; with TLS, maybe the peer's part
 * of the handshake.
 */
static int http_client_poll_events(struct http_client *c, short listen)
{
	int r = c->secure ? transport_flush(&c->transport) : 1;

	return r < 0 ? r : r ? POLLOUT | listen : POLLIN;
}

/* Sends n bytes, and reads meanwhile, unless the peer does not want them any more. */
static int http_client_send_bytes(struct http_client *c, const char *p, size_t n)
{
	while (n && !c->is_rejected) {
		struct iovec v = {(void *)(uintptr_t)p, n};
		short listen = c->in.n < WINDOW / 2 && !c->ended ? POLLIN : 0;
		ssize_t put = transport_send(&c->transport, &v, 1);
		short got;
		int r;

		if (put == -EPIPE || put == -ECONNRESET) {
			c->is_rejected = true;
			break;
		}
		if (put < 0 && put != -EAGAIN)
			return http_client_map_error((int)put);
		if (put > 0) {
			p += put;
			n -= (size_t)put;
			c->moved += (size_t)put;
			continue;
		}
		r = http_client_poll_events(c, listen);
		if (r > 0)
			r = http_client_wait(c, (short)r, &got);
		if (!r && got & POLLIN && listen)
			r = http_client_read_early(c);
		if (r)
			return r;
	}
	return 0;
}

/*
 * Sends the bytes that TLS holds back: a later poll for the answer would not send them.
 */
static int http_client_flush(struct http_client *c)
{
	int r = 0;

	while (!c->is_rejected && (r = transport_flush(&c->transport)) == 1) {
		short listen = c->in.n < WINDOW / 2 && !c->ended ? POLLIN : 0;
		short got;

		r = http_client_wait(c, (short)(POLLOUT | listen), &got);
		if (!r && got & POLLIN && listen)
			r = http_client_read_early(c);
		if (r)
			return r;
	}
	return r == -EPIPE || r == -ECONNRESET ? 0 : r;
}

static size_t http_client_body_length(const struct http_client_request *q)
{
	size_t n = 0;

	for (size_t i = 0; i < q->parts_n; i++)
		n += q->parts[i].n;
	return n;
}

static void http_client_write_head(const struct http_client_request *q, struct buf *out)
{
	const struct request_line line = {
		.method = q->method,
		.prefix = q->prefix,
		.target = target_view(q->target),
		.host = str_c(q->host ? q->host : "localhost"),
	};

	request_head_begin(out, &line);
	if (!q->keep)
		buf_puts(out, "Connection: close\r\n");
	buf_puts(out, "User-Agent: od-runtime/" OD_VERSION "\r\n");
	if (q->type)
		request_head_put_field(out, STR("Content-Type"), str_c(q->type));
	if (q->chunked)
		buf_puts(out, "Transfer-Encoding: chunked\r\n");
	else if (q->type || strcmp(q->method, "POST") == 0 ||
		strcmp(q->method, "PUT") == 0)
		buf_fmt(out, "Content-Length: %llu\r\n",
			(unsigned long long)(http_client_body_length(q) + q->put_n));
	request_head_put_fields(out, str_c(q->headers));
	buf_puts(out, "\r\n");
}

int http_client_push(struct http_client *c, struct str part)
{
	int r = c->chunked ? 0 : http_client_send_bytes(c, part.p, part.n);

	while (c->chunked && part.n && !r && !c->is_rejected) {
		size_t n = part.n < CHUNK ? part.n : CHUNK;
		struct buf line = BUF_INIT(32);

		buf_fmt(&line, "%zx\r\n", n);
		r = line.err ? line.err : http_client_send_bytes(c, line.p, line.n);
		if (!r)
			r = http_client_send_bytes(c, part.p, n);
		if (!r)
			r = http_client_send_bytes(c, "\r\n", 2);
		buf_free(&line);
		part = str_skip(part, n);
	}
	return r;
}

int http_client_start(struct http_client *c, const struct http_client_request *q)
{
	struct buf head = BUF_SECRET(HTTP_HEAD_MAX);
	int r;

	http_response_init(&c->head, strcmp(q->method, "HEAD") == 0);
	c->chunked = q->chunked;
	http_client_write_head(q, &head);
	r = target_error(q->target);
	if (!r)
		r = head.err ? head.err : http_client_send_bytes(c, head.p, head.n);
	buf_free(&head);
	for (size_t i = 0; i < q->parts_n && !r; i++)
		r = http_client_push(c, q->parts[i]);
	if (!r && q->more)
		r = q->more(q->more_arg, c);
	return r ? r : http_client_flush(c);
}

int http_client_finish(struct http_client *c)
{
	int r = c->chunked ? http_client_send_bytes(c, "0\r\n\r\n", 5) : 0;

	if (r)
		return r;
	r = c->answered ? 0 : 1;
	while (r == 1) {
		r = http_client_parse_head(c);
		if (r == 1) {
			r = http_client_read_more(c);
			r = r ? r : 1;
		}
	}
	if (r)
		return r;
	c->answered = true;
	/* After a change of protocol all bytes are for the caller. */
	body_init(&c->body,
		c->head.status == 101 ? HTTP_UNTIL_CLOSE : c->head.head.framing,
		c->head.head.length);
	return 0;
}

int http_client_send(struct http_client *c, const struct http_client_request *q)
{
	int r = http_client_start(c, q);

	return r ? r : http_client_finish(c);
}

bool http_client_reuse(struct http_client *c)
{
	if (c->is_rejected || !c->answered || c->body.state != BODY_DONE ||
		!c->head.head.keep_alive || c->ended || c->at != c->in.n)
		return false;
	c->answered = false;
	c->at = 0;
	buf_reset(&c->in);
	http_client_set_limits(c, c->idle_ms, c->grace_ms);
	return true;
}

/* Returns the next piece, and reads with more() if there is none. */
static int http_client_next_piece(
	struct http_client *c, int (*more)(struct http_client *c), struct str *piece)
{
	for (;;) {
		struct str in = str_skip(buf_view(&c->in), c->at);
		struct str data = {0};
		int r = body_next(&c->body, &in, &data);

		c->at = c->in.n - in.n;
		if (r < 0)
			return r;
		if (data.n) {
			*piece = data;
			return 1;
		}
		if (r == 0)
			return 0;
		if (in.n)
			continue;
		buf_consume(&c->in, c->at);
		c->at = 0;
		if (c->ended)
			return body_close(&c->body);
		r = more(c);
		if (r)
			return r;
	}
}

int http_client_read(struct http_client *c, struct str *piece)
{
	return http_client_next_piece(c, http_client_read_more, piece);
}

static int http_client_read_ready(struct http_client *c)
{
	int r = c->ended ? ERR_CLOSED : http_client_receive(c);

	return r > 0 ? -EAGAIN : r;
}

int http_client_try_read(struct http_client *c, struct str *piece)
{
	return http_client_next_piece(c, http_client_read_ready, piece);
}

int http_client_read_all(struct http_client *c, struct buf *out)
{
	struct str piece = {0};
	int r;

	while ((r = http_client_read(c, &piece)) == 1) {
		buf_str(out, piece);
		if (out->err)
			return out->err;
	}
	return r;
}
