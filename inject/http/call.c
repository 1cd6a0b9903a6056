#include "inject/http/call.h"

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
 * CALL_LOST_MS.
 */
enum { KEEP_IDLE_S = 3, KEEP_INTERVAL_S = 3, KEEP_PROBES = 4 };

/* TCP retransmits after 0.2 s, then after twice the time: the fifth time after 6 s. */
enum { LOST_REPEATS = 5, LOST_TICK_MS = 2000 };

/* A full queue of a unix socket cannot be polled for, so the connection is retried. */
int call_connect_unix(const char *path, uint32_t ms, bool calm)
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

static void call_keep_alive(int fd)
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
bool call_is_lost(const struct call *c)
{
	struct tcp_info i = {0};
	socklen_t n = sizeof(i);

	return getsockopt(c->way.fd, IPPROTO_TCP, TCP_INFO, &i, &n) == 0 &&
		i.tcpi_retransmits >= LOST_REPEATS &&
		i.tcpi_last_ack_recv >= CALL_LOST_MS;
}

uint64_t call_tick(uint64_t end)
{
	uint64_t tick = clock_ms() + LOST_TICK_MS;

	return end && end < tick ? end : tick;
}

int call_read_error(int r)
{
	return r == -ETIMEDOUT || r == -EHOSTUNREACH || r == -ENETUNREACH ? CALL_LOST : r;
}

int call_connect_tcp(uint16_t port, uint32_t ms)
{
	return call_connect_address("127.0.0.1", port, ms, false);
}

int call_connect_address(const char *address, uint16_t port, uint32_t ms, bool calm)
{
	int fd = fd_connect_tcp(address, port);
	int r;

	if (fd < 0)
		return fd;
	r = stop_wait(fd, POLLOUT, clock_ms() + ms, calm);
	if (r == 0)
		r = -ETIMEDOUT;
	else if (r > 0)
		r = fd_connected(fd);
	if (r)
		fd_close(&fd);
	else
		call_keep_alive(fd);
	return r ? r : fd;
}

void call_limit(struct call *c, uint32_t idle_ms, uint32_t grace_ms)
{
	c->idle_ms = idle_ms;
	c->grace_ms = grace_ms;
	c->began = clock_ms();
	c->moved = 0;
}

static void begin(struct call *c, uint32_t idle_ms, bool calm)
{
	call_limit(c, idle_ms, idle_ms);
	c->calm = calm;
	/* Heads and answers contain keys and tokens. */
	c->in = (struct buf)BUF_SECRET(WINDOW);
}

void call_begin(struct call *c, int fd, uint32_t idle_ms, bool calm)
{
	*c = (struct call){0};
	begin(c, idle_ms, calm);
	transport_plain(&c->way, fd);
}

int call_begin_tls(struct call *c, int fd, uint32_t idle_ms,
	const struct tls_trust *trust, struct str host)
{
	struct call made = {.secure = true};
	int r = transport_tls_client(&made.way, fd, trust, host);

	if (r)
		return r;
	begin(&made, idle_ms, false);
	*c = made;
	return 0;
}

int call_begin_pinned(
	struct call *c, int fd, uint32_t idle_ms, const uint8_t pin[SHA256_LEN])
{
	struct tls_trust *trust = NULL;
	const char *why;
	int r = tls_trust_new(STR(""), pin, &why, &trust);

	if (!r)
		r = call_begin_tls(c, fd, idle_ms, trust, STR("localhost"));
	if (r)
		tls_trust_del(trust);
	else
		c->pinned = trust;
	return r;
}

void call_close(struct call *c)
{
	if (c->way.ops)
		transport_close(&c->way);
	c->way.ops = NULL;
	tls_trust_del(c->pinned);
	c->pinned = NULL;
	buf_free(&c->in);
}

const char *call_tls_error(const struct call *c)
{
	return transport_tls_error(&c->way);
}

/* The end of the whole exchange if no more byte moves. */
static uint64_t call_total_deadline(const struct call *c)
{
	return c->began + c->grace_ms + c->moved * 1000 / INJECT_RATE;
}

/* Waits for events; 0 when there are any, in *got. */
static int await(struct call *c, short events, short *got)
{
	uint64_t idle = c->idle_ms ? clock_ms() + c->idle_ms : 0;
	uint64_t total = c->grace_ms ? call_total_deadline(c) : 0;
	bool total_first = total && (!idle || total < idle);
	uint64_t end = total_first ? total : idle;
	int r;

	do {
		r = stop_wait(c->way.fd, events, call_tick(end), c->calm);
		if (r == 0 && call_is_lost(c))
			return CALL_LOST;
	} while (r == 0 && (!end || clock_ms() < end));
	if (r < 0)
		return r;
	if (r == 0)
		return total_first ? -ETIME : -ETIMEDOUT;
	*got = (short)r;
	return 0;
}

/* Removes the frames from the received bytes, from the byte at on. */
static int unframe(struct call *c, size_t at)
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

int call_tunnel(struct call *c, uint32_t idle_ms)
{
	buf_consume(&c->in, c->at);
	c->at = 0;
	call_limit(c, idle_ms, idle_ms);
	c->answered = c->unwanted = false;
	c->framed = true;
	frames_init(&c->frames);
	return unframe(c, 0);
}

/* Reads once into c->in. 0, also at the end of the stream; 1: no bytes are available. */
static int fill(struct call *c)
{
	size_t free_n = c->in.max - c->in.n;
	size_t most = c->piece_max ? c->piece_max : CHUNK;
	size_t n = free_n < most ? free_n : most;
	/*
	 * The whole space is reserved at once: the buffer must not move while a piece is
	 * used.
	 */
	char *room = n ? buf_room(&c->in, free_n) : NULL;
	size_t at = c->in.n;
	ssize_t got;

	if (!room)
		return n ? -ENOMEM : ERR_LIMIT;
	got = transport_recv(&c->way, room, n);
	if (got > 0) {
		buf_commit(&c->in, (size_t)got);
		c->moved += (size_t)got;
	}
	if (got > 0 && c->framed)
		return unframe(c, at);
	if (got > 0)
		return 0;
	if (got == 0)
		c->ended = true;
	else if (got == -EAGAIN)
		return 1;
	else if (got == -ECONNRESET && !c->secure)
		c->ended = true; /* earlier bytes are still used */
	else
		return call_read_error((int)got);
	return 0;
}

static int read_more(struct call *c)
{
	short got;
	int r;

	if (c->ended)
		return ERR_CLOSED;
	for (;;) {
		/*
		 * While the peer always has bytes to read, no wait checks for a signal.
		 */
		if (stop_is_asked(c->calm))
			return -EINTR;
		r = fill(c);
		if (r <= 0)
			return r;
		r = transport_flush(&c->way);
		if (r >= 0)
			r = await(c, (short)(POLLIN | (r ? POLLOUT : 0)), &got);
		if (r < 0)
			return r;
	}
}

/* Parses the received bytes; skips interim responses, which are no progress. */
static int parse_head(struct call *c)
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
static int listen_to(struct call *c)
{
	int r = fill(c);

	if (r < 0)
		return r;
	if (!c->answered && parse_head(c) == 0)
		c->answered = true;
	if (c->ended || (c->answered && c->head.status >= 300))
		c->unwanted = true;
	return 0;
}

/*
 * The events to wait for before more can be sent: space; with TLS, maybe the peer's part
 * of the handshake.
 */
static int wanted(struct call *c, short listen)
{
	int r = c->secure ? transport_flush(&c->way) : 1;

	return r < 0 ? r : r ? POLLOUT | listen : POLLIN;
}

/* Sends n bytes, and reads meanwhile, unless the peer does not want them any more. */
static int push(struct call *c, const char *p, size_t n)
{
	while (n && !c->unwanted) {
		struct iovec v = {(void *)(uintptr_t)p, n};
		short listen = c->in.n < WINDOW / 2 && !c->ended ? POLLIN : 0;
		ssize_t put = transport_send(&c->way, &v, 1);
		short got;
		int r;

		if (put == -EPIPE || put == -ECONNRESET) {
			c->unwanted = true;
			break;
		}
		if (put < 0 && put != -EAGAIN)
			return call_read_error((int)put);
		if (put > 0) {
			p += put;
			n -= (size_t)put;
			c->moved += (size_t)put;
			continue;
		}
		r = wanted(c, listen);
		if (r > 0)
			r = await(c, (short)r, &got);
		if (!r && got & POLLIN && listen)
			r = listen_to(c);
		if (r)
			return r;
	}
	return 0;
}

/*
 * Sends the bytes that TLS holds back: a later poll for the answer would not send them.
 */
static int drain(struct call *c)
{
	int r = 0;

	while (!c->unwanted && (r = transport_flush(&c->way)) == 1) {
		short listen = c->in.n < WINDOW / 2 && !c->ended ? POLLIN : 0;
		short got;

		r = await(c, (short)(POLLOUT | listen), &got);
		if (!r && got & POLLIN && listen)
			r = listen_to(c);
		if (r)
			return r;
	}
	return r == -EPIPE || r == -ECONNRESET ? 0 : r;
}

static size_t length_of(const struct call_request *q)
{
	size_t n = 0;

	for (size_t i = 0; i < q->parts_n; i++)
		n += q->parts[i].n;
	return n;
}

static void write_head(const struct call_request *q, struct buf *out)
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
		request_head_field(out, STR("Content-Type"), str_c(q->type));
	if (q->chunked)
		buf_puts(out, "Transfer-Encoding: chunked\r\n");
	else if (q->type || strcmp(q->method, "POST") == 0 ||
		strcmp(q->method, "PUT") == 0)
		buf_fmt(out, "Content-Length: %llu\r\n",
			(unsigned long long)(length_of(q) + q->put_n));
	request_head_fields(out, str_c(q->headers));
	buf_puts(out, "\r\n");
}

int call_push(struct call *c, struct str part)
{
	int r = c->chunked ? 0 : push(c, part.p, part.n);

	while (c->chunked && part.n && !r && !c->unwanted) {
		size_t n = part.n < CHUNK ? part.n : CHUNK;
		struct buf line = BUF_INIT(32);

		buf_fmt(&line, "%zx\r\n", n);
		r = line.err ? line.err : push(c, line.p, line.n);
		if (!r)
			r = push(c, part.p, n);
		if (!r)
			r = push(c, "\r\n", 2);
		buf_free(&line);
		part = str_skip(part, n);
	}
	return r;
}

int call_start(struct call *c, const struct call_request *q)
{
	struct buf head = BUF_SECRET(HTTP_HEAD_MAX);
	int r;

	http_response_init(&c->head, strcmp(q->method, "HEAD") == 0);
	c->chunked = q->chunked;
	write_head(q, &head);
	r = target_error(q->target);
	if (!r)
		r = head.err ? head.err : push(c, head.p, head.n);
	buf_free(&head);
	for (size_t i = 0; i < q->parts_n && !r; i++)
		r = call_push(c, q->parts[i]);
	if (!r && q->more)
		r = q->more(q->more_arg, c);
	return r ? r : drain(c);
}

int call_finish(struct call *c)
{
	int r = c->chunked ? push(c, "0\r\n\r\n", 5) : 0;

	if (r)
		return r;
	r = c->answered ? 0 : 1;
	while (r == 1) {
		r = parse_head(c);
		if (r == 1) {
			r = read_more(c);
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

int call_send(struct call *c, const struct call_request *q)
{
	int r = call_start(c, q);

	return r ? r : call_finish(c);
}

bool call_again(struct call *c)
{
	if (c->unwanted || !c->answered || c->body.state != BODY_DONE ||
		!c->head.head.keep_alive || c->ended || c->at != c->in.n)
		return false;
	c->answered = false;
	c->at = 0;
	buf_reset(&c->in);
	call_limit(c, c->idle_ms, c->grace_ms);
	return true;
}

/* Returns the next piece, and reads with more() if there is none. */
static int next_piece(struct call *c, int (*more)(struct call *c), struct str *piece)
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

int call_read(struct call *c, struct str *piece)
{
	return next_piece(c, read_more, piece);
}

static int read_there(struct call *c)
{
	int r = c->ended ? ERR_CLOSED : fill(c);

	return r > 0 ? -EAGAIN : r;
}

int call_try(struct call *c, struct str *piece)
{
	return next_piece(c, read_there, piece);
}

int call_collect(struct call *c, struct buf *out)
{
	struct str piece = {0};
	int r;

	while ((r = call_read(c, &piece)) == 1) {
		buf_str(out, piece);
		if (out->err)
			return out->err;
	}
	return r;
}
