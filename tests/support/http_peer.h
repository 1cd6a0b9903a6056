/*
 * A server with a few routes and the peers that talk to it, all on one loop and
 * over loopback. Waiting is done by running the loop until something is there.
 */
#ifndef TESTS_SUPPORT_HTTP_PEER_H
#define TESTS_SUPPORT_HTTP_PEER_H

#include "base/clock.h"
#include "base/fd.h"
#include "limits.h"
#include "net/server.h"
#include "tests/tap.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

enum { GUARD_MS = 10000, PARKED = 8 };

static struct loop *loop;
static struct server *server;
static uint16_t port;
static struct request *parked[PARKED]; /* by /later, to be answered by the test */
static unsigned parked_n, gone_n, drained_n, ready_n, room_n, depth, deepest;
static size_t sink_room;      /* what /sink takes now */
static bool moves;            /* on_splice_in takes bytes, too */
static size_t moved_n;        /* bytes that it took */
static struct buf sink;       /* what it has got */
static struct str offered;    /* what on_splice_out sends */
static size_t hand_most;      /* of it, at once */
static ssize_t hand_says;     /* instead, unless that is 1 */
static uint64_t memory;       /* bytes that server_ops.has_memory reports as available */
static uint64_t memory_asked; /* bytes of its last question; 0: there was none */

static const struct request_ops request_ops;

static inline void on_head(void *arg, struct request *rq)
{
	(void)arg;
	rq->ops = &request_ops;
	rq->user = &server;
	if (str_eq(rq->path, STR("/echo")) || str_eq(rq->path, STR("/later")))
		rq->body_max = 1 << 20;
	if (str_eq(rq->path, STR("/small")))
		rq->body_max = 10;
	if (str_eq(rq->path, STR("/sink"))) {
		rq->body_max = 4000000;
		rq->body_streams = true;
		parked[0] = rq;
	}
	if (str_eq(rq->path, STR("/trust")))
		request_trust(rq);
	if (str_eq(rq->path, STR("/forbidden")))
		request_fail(rq, 403, STR("No \"way\"."));
}

/* METHOD PATH QUERY HOST BODY, so that a test sees what the server understood. */
static inline void echo(struct request *rq)
{
	struct buf *out = request_out(rq);
	struct str host = STR("-");

	ok(rq->user == &server, "user is kept");
	if (request_header(rq, STR("host"), &host))
		host = STR("-");
	buf_fmt(out, "%.*s %.*s %.*s %.*s ", STR_ARG(rq->method), STR_ARG(rq->path),
		STR_ARG(rq->query), STR_ARG(host));
	buf_str(out, rq->body);
	request_reply(rq, 200, "text/plain");
}

static inline void big(struct request *rq)
{
	struct str n = STR("0");
	uint64_t size = 0;

	if (request_query(rq, STR("n"), &n) || str_u64(n, 64 << 20, &size))
		size = 0;
	for (uint64_t i = 0; i < size; i++)
		buf_putc(request_out(rq), (char)('a' + i % 26));
	request_reply(rq, 200, NULL);
}

static inline void route(struct request *rq)
{
	struct buf *out = request_out(rq);

	if (str_eq(rq->path, STR("/echo"))) {
		echo(rq);
	} else if (str_eq(rq->path, STR("/later"))) {
		parked[parked_n++ % PARKED] = rq;
	} else if (str_eq(rq->path, STR("/sink"))) {
		buf_fmt(out, "%zu bytes", sink.n);
		request_reply(rq, 200, "text/plain");
	} else if (str_eq(rq->path, STR("/pieces"))) {
		parked[0] = rq;
		request_begin(rq, 200, "text/plain", REQUEST_LENGTH_UNKNOWN);
	} else if (str_eq(rq->path, STR("/five"))) {
		parked[0] = rq;
		request_begin(rq, 200, NULL, 5);
	} else if (str_eq(rq->path, STR("/big"))) {
		big(rq);
	} else if (str_eq(rq->path, STR("/empty"))) {
		request_reply(rq, 204, NULL);
	} else if (str_eq(rq->path, STR("/costly"))) {
		uint64_t end = clock_us() + 2 * HTTP_TURN_US;

		while (clock_us() < end)
			;
		request_reply(rq, 204, NULL);
	} else if (str_eq(rq->path, STR("/moved"))) {
		request_add_field(rq, STR("location"), STR("/echo"));
		request_reply(rq, 307, NULL);
	} else if (str_eq(rq->path, STR("/split"))) {
		request_add_field(rq, STR("location"), STR("/\r\nx: y"));
		request_reply(rq, 307, NULL);
	} else if (str_eq(rq->path, STR("/overflow"))) {
		size_t max = out->max;

		/* More than the memory that may be left from the last reply. */
		out->max = 9000;
		for (int i = 0; i < 10000; i++)
			buf_putc(out, 'x');
		out->max = max;
		request_reply(rq, 200, "text/plain");
	} else {
		buf_puts(out, "ok");
		request_reply(rq, 200, "text/plain");
	}
}

static inline void on_ready(struct request *rq)
{
	ready_n++;
	if (++depth > deepest)
		deepest = depth;
	route(rq);
	depth--;
}

static inline bool on_has_memory(void *arg, uint64_t n)
{
	(void)arg;
	memory_asked = n;
	return n <= memory;
}

static inline size_t on_body(struct request *rq, struct str piece)
{
	size_t n = piece.n < sink_room ? piece.n : sink_room;

	(void)rq;
	buf_put(&sink, piece.p, n);
	sink_room -= n;
	return n;
}

/* Into the sink, too. */
static inline ssize_t on_move(struct request *rq, int fd, size_t n)
{
	ssize_t got;
	char *room;

	(void)rq;
	if (!moves)
		return -EINVAL;
	if (sink_room == 0)
		return -ENOBUFS;
	if (n > sink_room)
		n = sink_room;
	room = buf_reserve(&sink, n);
	if (!room)
		abort();
	got = recv(fd, room, n, MSG_DONTWAIT);
	if (got < 0)
		return -errno;
	buf_commit(&sink, (size_t)got);
	sink_room -= (size_t)got;
	moved_n += (size_t)got;
	return got;
}

static inline ssize_t on_hand(struct request *rq, int fd, size_t n)
{
	ssize_t put;

	(void)rq;
	if (hand_says != 1)
		return hand_says;
	if (n > hand_most)
		n = hand_most;
	if (n > offered.n)
		abort();
	put = send(fd, offered.p, n, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (put < 0)
		return -errno;
	offered = str_skip(offered, (size_t)put);
	return put;
}

static inline void on_room(struct request *rq)
{
	(void)rq;
	room_n++;
}

static inline void on_gone(struct request *rq)
{
	(void)rq;
	gone_n++;
}

static inline void on_drained(void *arg)
{
	(void)arg;
	drained_n++;
	loop_stop(loop);
}

static const struct request_ops request_ops = {
	.on_ready = on_ready,
	.on_close = on_gone,
	.on_writable = on_room,
	.on_body = on_body,
	.on_splice_in = on_move,
	.on_splice_out = on_hand,
};

static const struct server_ops ops = {
	.head = on_head,
	.has_memory = on_has_memory,
	.drained = on_drained,
};

static inline void server_up(struct server_conf conf)
{
	struct sockaddr_in a = {0};
	socklen_t a_n = sizeof(a);
	int fd, err = 0;

	conf.ops = &ops;
	parked_n = gone_n = drained_n = ready_n = room_n = deepest = 0;
	buf_free(&sink);
	buf_init(&sink, 8 << 20);
	sink_room = 0;
	offered = STR("");
	hand_most = SIZE_MAX;
	hand_says = 1;
	memory = UINT64_MAX;
	memory_asked = 0;
	loop = loop_new(&err);
	server = loop ? server_new(loop, &conf, &err) : NULL;
	fd = fd_listen_tcp("127.0.0.1", 0, 64);
	if (!server || fd < 0 || getsockname(fd, (struct sockaddr *)&a, &a_n) < 0 ||
		server_listen(server, fd, NULL)) {
		printf("Bail out! no server\n");
		exit(1);
	}
	port = ntohs(a.sin_port);
}

static inline void server_down(void)
{
	server_del(server);
	loop_del(loop);
	server = NULL;
	buf_free(&sink);
}

/* One client connection. */
struct peer {
	struct io io;
	int fd;
	struct buf got;
	bool eof;
	int err;
};

static bool guard_fired;

static inline void on_guard(struct timer *t)
{
	(void)t;
	guard_fired = true;
	loop_stop(loop);
}

static inline void on_tick(struct timer *t)
{
	(void)t;
	loop_stop(loop);
}

/* One round of the loop: what is ready now. */
static inline void tick(void)
{
	struct timer t = {0};

	timer_set(loop, &t, 0, on_tick);
	if (loop_run(loop))
		abort();
	timer_cancel(loop, &t);
}

static inline void on_peer(struct io *io, uint32_t events)
{
	struct peer *p = container_of(io, struct peer, io);
	char *room = buf_reserve(&p->got, 65536);
	ssize_t n;

	(void)events;
	if (!room)
		abort();
	n = recv(p->fd, room, 65536, 0);
	if (n > 0) {
		buf_commit(&p->got, (size_t)n);
	} else {
		p->eof = n == 0;
		p->err = n < 0 ? errno : 0;
		loop_remove(loop, &p->io);
	}
	loop_stop(loop);
}

/* A connection that is there, or the -errno for which there is none. */
static inline int peer_connect(uint16_t to)
{
	int fd = fd_connect_tcp("127.0.0.1", to);
	struct pollfd w = {.fd = fd, .events = POLLOUT};
	int r = fd < 0                    ? fd
		: poll(&w, 1, 10000) == 1 ? fd_connect_result(fd)
					  : -ETIMEDOUT;

	if (r)
		fd_close(&fd);
	return r ? r : fd;
}

/* Connects; the peer does not read before peer_read. */
static inline void peer_open(struct peer *p)
{
	*p = (struct peer){.fd = peer_connect(port), .io.fd = -1};
	buf_init(&p->got, 128 << 20);
	if (p->fd < 0) {
		printf("Bail out! no connection\n");
		exit(1);
	}
}

static inline void peer_read(struct peer *p)
{
	if (p->io.fd < 0 && !p->eof && !p->err &&
		loop_add(loop, &p->io, p->fd, EPOLLIN, on_peer))
		abort();
}

static inline void peer_close(struct peer *p)
{
	loop_remove(loop, &p->io);
	fd_close(&p->fd);
	buf_free(&p->got);
}

/* Closes with a reset. */
static inline void peer_abort(struct peer *p)
{
	struct linger l = {.l_onoff = 1};

	setsockopt(p->fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
	peer_close(p);
}

static inline void peer_put(struct peer *p, const char *text, size_t n)
{
	if (send(p->fd, text, n, MSG_NOSIGNAL) != (ssize_t)n)
		printf("# short send\n");
}

static inline void peer_say(struct peer *p, const char *text)
{
	peer_put(p, text, strlen(text));
}

typedef bool until_fn(struct peer *p, const void *arg);

/* Runs the loop until cond, the end of the stream, or the guard's time. */
static inline bool run_until(struct peer *p, until_fn *cond, const void *arg)
{
	struct timer guard = {0};
	bool good;

	guard_fired = false;
	timer_set(loop, &guard, GUARD_MS, on_guard);
	while (!(good = cond(p, arg)) && !guard_fired)
		if (loop_run(loop))
			abort();
	timer_cancel(loop, &guard);
	if (!good)
		printf("# the wanted did not come in %d ms\n", GUARD_MS);
	return good;
}

/* In a long reply only its end is compared: a search for each piece takes minutes. */
static inline bool has_text(struct peer *p, const void *arg)
{
	enum { SEARCH_MAX = 1 << 20 };

	if (p->eof || p->err)
		return true;
	return p->got.n > SEARCH_MAX ? str_ends(buf_view(&p->got), str_c(arg))
				     : str_find(buf_view(&p->got), str_c(arg)) < p->got.n;
}

static inline bool has_bytes(struct peer *p, const void *arg)
{
	return p->eof || p->err || p->got.n >= *(const size_t *)arg;
}

static inline bool has_ended(struct peer *p, const void *arg)
{
	(void)arg;
	return p->eof || p->err;
}

/* Waits for text, which must be the end of what is there; what was got is dropped. */
static inline bool peer_expect(struct peer *p, const char *text, const char *name)
{
	bool good;

	peer_read(p);
	run_until(p, has_text, text);
	good = ok(str_ends(buf_view(&p->got), str_c(text)), "%s", name);
	if (!good)
		tap_bytes("got", p->got.p, p->got.n);
	buf_reset(&p->got);
	return good;
}

/* Waits for the end of the stream; what came before is left in got. */
static inline bool peer_expect_end(struct peer *p, const char *name)
{
	peer_read(p);
	run_until(p, has_ended, NULL);
	return ok(p->eof, "%s", name);
}

static inline bool peer_has(struct peer *p, const char *text)
{
	return str_find(buf_view(&p->got), str_c(text)) < p->got.n;
}

#define HOST "Host: h\r\n\r\n"
#define GET(path) "GET " path " HTTP/1.1\r\n" HOST

static inline bool is_parked(struct peer *p, const void *arg)
{
	(void)p;
	return parked_n >= *(const unsigned *)arg;
}

static inline bool is_gone(struct peer *p, const void *arg)
{
	(void)p;
	return gone_n >= *(const unsigned *)arg;
}

static inline bool is_count(struct peer *p, const void *arg)
{
	(void)p;
	return server_count_conns(server) == *(const unsigned *)arg;
}

/* These change without a peer that would stop the loop: look every millisecond. */
static inline bool poll_until(until_fn *cond, unsigned n)
{
	for (unsigned i = 0; i < GUARD_MS && !cond(NULL, &n); i++) {
		struct timer t = {0};

		timer_set(loop, &t, 1, on_tick);
		if (loop_run(loop))
			abort();
		timer_cancel(loop, &t);
	}
	return cond(NULL, &n);
}

#endif
