/*
 * A WebSocket connection that sends every message back, in either role, and a peer of
 * bytes, on one loop. Waiting is done by running the loop until something is there.
 */
#ifndef TESTS_SUPPORT_WS_PEER_H
#define TESTS_SUPPORT_WS_PEER_H

#include "base/clock.h"
#include "base/fd.h"
#include "net/conn.h"
#include "net/ws_conn.h"
#include "tests/tap.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { GUARD_MS = 20000, BIG = 16 << 20 };

static struct loop *loop;
static struct server *server;
static struct ws_conn *conn; /* under test */
static struct ws_conf conf;
static const char *ended_why;
static unsigned ended_code, opened_n, room_n, beats_n, messages_n;
static bool deletes;     /* the connection goes in the middle of a message */
static uint64_t work_us; /* that each message takes */
static size_t flood;     /* bytes that each room is answered with, until it is none */
static struct timer guard;
static bool late;

static inline void echo(void *arg, enum ws_op op, struct str data)
{
	(void)arg;
	messages_n++;
	for (uint64_t until = clock_us() + work_us; clock_us() < until;)
		;
	if (deletes) {
		ws_conn_del(conn);
		conn = NULL;
	} else {
		(void)ws_conn_send(conn, op, str_make(data.p, data.n / 3),
			str_skip(data, data.n / 3));
	}
}

static inline void opened(void *arg)
{
	(void)arg;
	opened_n++;
}

static inline void on_room(void *arg)
{
	static const char zeros[4096];

	(void)arg;
	room_n++;
	while (flood &&
		ws_conn_send(conn, WS_BINARY, str_make(zeros, sizeof(zeros)), STR("")))
		flood -= sizeof(zeros);
}

static inline void on_beat(void *arg)
{
	(void)arg;
	beats_n++;
}

static inline void on_end(void *arg, unsigned code, const char *why)
{
	(void)arg;
	conn = NULL;
	ended_code = code;
	ended_why = why;
}

static const struct ws_ops ops = {
	.open = opened,
	.message = echo,
	.writable = on_room,
	.beat = on_beat,
	.ended = on_end,
};

/* --- The peer ------------------------------------------------------------------- */

static int peer;
static bool peer_closed;
static struct buf got, to_say;

static inline void on_guard(struct timer *t)
{
	(void)t;
	late = true;
	loop_stop(loop);
}

static inline void tick(struct timer *t)
{
	(void)t;
	loop_stop(loop);
}

/* The guard ends a test in which nothing moves, however long the rest takes. */
static inline void guard_set(void)
{
	timer_set(loop, &guard, GUARD_MS, on_guard);
}

/* One round of the loop, then the peer takes and gives what it can. */
static inline void turn(void)
{
	static struct timer soon;
	size_t to_say_n = to_say.n, got_n = got.n;
	ssize_t n;
	char *room;

	timer_set(loop, &soon, 1, tick);
	if (loop_run(loop))
		late = true;
	timer_cancel(loop, &soon);
	while (to_say.n) {
		n = send(peer, to_say.p, to_say.n, MSG_NOSIGNAL);
		if (n <= 0)
			break;
		buf_consume(&to_say, (size_t)n);
	}
	while (!peer_closed && (room = buf_reserve(&got, 65536))) {
		n = recv(peer, room, 65536, 0);
		if (n < 0 && errno == EAGAIN)
			break;
		if (n <= 0)
			peer_closed = true;
		else
			buf_commit(&got, (size_t)n);
	}
	if (to_say.n != to_say_n || got.n != got_n)
		guard_set();
}

static inline bool wait_for(size_t n)
{
	while (got.n < n && !peer_closed && !late)
		turn();
	return got.n >= n;
}

static inline void say(struct str s)
{
	buf_str(&to_say, s);
}

static inline void say_chopped(struct str s, size_t step)
{
	while (s.n) {
		size_t n = s.n < step ? s.n : step;

		say(str_make(s.p, n));
		turn();
		s = str_skip(s, n);
	}
}

/* --- Both roles ----------------------------------------------------------------- */

#define ASK_FIELDS "Host: x\r\nUpgrade: WebSocket\r\nConnection: keep-alive, Upgrade\r\n"
#define ASK_KEY "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
#define ASK_VERSION "Sec-WebSocket-Version: 13\r\n"
#define ASK "GET /x HTTP/1.1\r\n" ASK_FIELDS ASK_KEY ASK_VERSION "\r\n"
#define AGREED \
	"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\n" \
	"connection: Upgrade\r\n" \
	"sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"

static inline void http_ready(struct request *rq)
{
	if (ws_conn_accept(loop, rq, &conf, STR(""), &conn))
		conn = NULL;
}

static inline void http_head(void *arg, struct request *rq)
{
	static const struct request_ops request_ops = {.on_ready = http_ready};

	(void)arg;
	rq->ops = &request_ops;
}

static inline void reset(void)
{
	ended_code = opened_n = room_n = beats_n = messages_n = 0;
	ended_why = NULL;
	peer_closed = late = deletes = false;
	flood = 0;
	buf_free(&got);
	buf_free(&to_say);
	guard_set();
}

static inline void pair(int *theirs)
{
	int fds[2];

	if (fd_socketpair(SOCK_STREAM, fds))
		exit(1);
	peer = fds[0];
	*theirs = fds[1];
}

static inline void open_server(struct str ask)
{
	int fd;

	reset();
	pair(&fd);
	is_int(server_adopt(server, fd, false), 0, "a connection");
	say(ask);
}

static inline void open_client(struct str fields)
{
	const struct ws_hand_params ask = {STR("h:1"), STR("/p?q"), fields};
	struct transport t;
	int fd;

	reset();
	pair(&fd);
	transport_plain(&t, fd);
	is_int(ws_conn_dial(loop, &t, &ask, &conf, &conn), 0, "a client");
}

/* Answers the client's request with a head that has this key's answer for a @. */
static inline void answer_client(const char *head)
{
	struct buf accept = BUF_INIT(64);
	struct str rest, key;

	while (!late && str_find(buf_view(&got), STR("\r\n\r\n")) == got.n)
		turn();
	rest = str_skip(buf_view(&got),
		str_find(buf_view(&got), STR("Sec-WebSocket-Key: ")) + 19);
	key = str_make(rest.p, 24);
	ok(ws_is_key(key), "the client sends a key");
	ws_write_accept(&accept, key);
	rest = str_c(head);
	buf_str(&to_say, str_cut(&rest, '@'));
	if (rest.n)
		buf_str(&to_say, buf_view(&accept));
	buf_str(&to_say, rest);
	buf_free(&accept);
	buf_reset(&got);
}

#define SERVER_HEAD \
	"HTTP/1.1 101 Hi\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" \
	"Sec-WebSocket-Accept: @\r\n"

static inline void up(bool as_server)
{
	if (as_server) {
		open_server(STR(ASK));
		wait_for(sizeof(AGREED) - 1);
		buf_reset(&got);
		while (!conn && !late)
			turn();
	} else {
		open_client(STR(""));
		answer_client(SERVER_HEAD "\r\n");
		while (!opened_n && !late)
			turn();
	}
}

static inline void down(void)
{
	ws_conn_del(conn);
	conn = NULL;
	fd_close(&peer);
	for (int i = 0; i < 3; i++)
		turn();
	timer_cancel(loop, &guard);
}

/* A frame from the peer, masked as its role wants it. */
static inline void frame(struct buf *out, bool masked, unsigned first, struct str payload)
{
	static const uint8_t key[4] = {0x37, 0xfa, 0x21, 0x3d};
	uint8_t head[WS_HEAD_MAX];
	size_t n = ws_write_head(head, WS_TEXT, true, payload.n, masked ? key : NULL), at;

	head[0] = (uint8_t)first;
	buf_put(out, head, n);
	at = out->n;
	buf_str(out, payload);
	if (masked)
		ws_mask(out->p + at, payload.n, key, 0);
}

/* What came, with masks taken off: only for those of a client. */
static inline void unmask_got(void)
{
	struct buf plain = BUF_INIT(2 * BIG);
	size_t at = 0;

	while (at + 2 <= got.n) {
		unsigned len = (unsigned char)got.p[at + 1] & 0x7f;
		size_t more = len == 126 ? 2 : len == 127 ? 8 : 0;
		uint64_t n = more ? 0 : len;

		for (size_t i = 0; i < more; i++)
			n = n << 8 | (unsigned char)got.p[at + 2 + i];
		if (!((unsigned char)got.p[at + 1] & 0x80) || n + 6 + more > got.n - at) {
			ok(false, "a client's frame is masked and whole");
			break;
		}
		ws_mask(got.p + at + 6 + more, n, (const uint8_t *)got.p + at + 2 + more,
			0);
		got.p[at + 1] = (char)len;
		buf_put(&plain, got.p + at, 2 + more);
		buf_put(&plain, got.p + at + 6 + more, n);
		at += 6 + more + n;
	}
	buf_free(&got);
	got = plain;
}

/* The loop, the server and the options that each test begins with. */
static inline void ws_peer_begin(void)
{
	static const struct server_ops server_ops = {.head = http_head};
	struct server_conf sc = {.ops = &server_ops};
	int err;

	buf_init(&got, 4 * BIG);
	buf_init(&to_say, 4 * BIG);
	peer = -1;
	loop_ignore_signal(SIGPIPE);
	loop = loop_new(&err);
	server = server_new(loop, &sc, &err);
	conf.ops = &ops;
}

/* Frees what ws_peer_begin has made: the last step of a test. */
static inline int ws_peer_end(void)
{
	reset();
	timer_cancel(loop, &guard);
	server_del(server);
	loop_del(loop);
	return done_testing();
}

#endif
