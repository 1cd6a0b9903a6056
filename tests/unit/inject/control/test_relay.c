/* od-runtime listen: a client that takes his answer slowly, and one that does not. */
#include "inject/control/listen.h"

#include "base/clock.h"
#include "base/fd.h"
#include "codec/channel_frame.h"
#include "limits.h"
#include "net/ws_conn.h"
#include "tests/tap.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { GUARD_MS = 20000, STALL_MS = 1500, SLOW_MS = 3 * STALL_MS / 2, PIECE = 16384 };

static struct loop *loop;
static struct timer guard, pause_over;
static bool late;

/* --- A sandbox, which has an answer without an end ------------------------------ */

static struct ws_conn *box;
static uint32_t id;
static uint64_t sent, acked;
static bool is_closed, is_lost;

static void send_more(void)
{
	static const char zeros[PIECE];

	while (sent - acked + PIECE <= RELAY_WINDOW) {
		const struct channel_frame f = {.kind = CHANNEL_OUTPUT,
			.id = id,
			.at = sent,
			.span = PIECE,
			.bytes = str_make(zeros, PIECE)};
		uint8_t head[CHANNEL_HEAD];

		channel_frame_put(head, &f);
		(void)ws_conn_send(box, WS_BINARY,
			str_make((const char *)head, sizeof(head)), f.bytes);
		sent += PIECE;
	}
}

/* The number behind a member's name. */
static uint64_t number(struct str text, struct str name)
{
	uint64_t n = 0;

	text = str_skip(text, str_find(text, name) + name.n);
	while (text.n && text.p[0] >= '0' && text.p[0] <= '9') {
		n = 10 * n + (uint64_t)(text.p[0] - '0');
		text = str_skip(text, 1);
	}
	return n;
}

static void on_open(void *arg)
{
	(void)arg;
	(void)ws_conn_send(
		box, WS_TEXT, STR("{\"type\":\"hello\",\"box\":\"a\"}"), STR(""));
}

static void on_message(void *arg, enum ws_op op, struct str data)
{
	(void)arg;
	if (op != WS_TEXT)
		return;
	if (str_starts(data, STR("{\"type\":\"open\""))) {
		id = (uint32_t)number(data, STR("\"id\":"));
		sent = acked = 0;
		is_closed = false;
		send_more();
	} else if (str_starts(data, STR("{\"type\":\"ack\""))) {
		acked = number(data, STR("\"bytes\":"));
		send_more();
	} else if (str_starts(data, STR("{\"type\":\"close\""))) {
		is_closed = true;
	}
}

static void on_ended(void *arg, unsigned code, const char *why)
{
	(void)arg;
	printf("# the connection of the sandbox has ended: %s (%u)\n", why, code);
	is_lost = true;
}

static const struct ws_ops ops = {.open = on_open,
	.message = on_message,
	.ended = on_ended};

/* --- Waiting ---------------------------------------------------------------------- */

static void on_guard(struct timer *t)
{
	(void)t;
	late = true;
	loop_stop(loop);
}

static void on_pause(struct timer *t)
{
	(void)t;
	loop_stop(loop);
}

static void run_for(uint64_t ms)
{
	timer_set(loop, &pause_over, ms, on_pause);
	if (loop_run(loop))
		late = true;
}

static uint16_t port_of(int fd)
{
	struct sockaddr_in a;
	socklen_t n = sizeof(a);

	return getsockname(fd, (struct sockaddr *)&a, &n) ? 0 : ntohs(a.sin_port);
}

static bool dial_in(uint16_t port)
{
	const struct ws_hand_params ask = {
		.host = STR("localhost"), .target = STR("/connect")};
	const struct ws_conf conf = {.ops = &ops};
	struct transport t;

	transport_plain(&t, fd_connect_tcp("127.0.0.1", port));
	return ws_conn_dial(loop, &t, &ask, &conf, &box) == 0;
}

static ssize_t take(int fd)
{
	static char room[PIECE / 2];

	return recv(fd, room, sizeof(room), 0);
}

/* The socket of a client whose request has reached the sandbox. */
static int ask(uint16_t port)
{
	static const char text[] =
		"GET /sandboxes/a/ HTTP/1.1\r\nhost: localhost\r\n\r\n";
	int fd = -1;

	id = 0;
	while (!id && !late) {
		fd_close(&fd);
		fd = fd_connect_tcp("127.0.0.1", port);
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &(int){16 * PIECE}, sizeof(int));
		run_for(1);
		if (send(fd, text, sizeof(text) - 1, MSG_NOSIGNAL) < 0)
			continue;
		/* Before the sandbox has said its name there is an answer at once. */
		while (!id && !late && take(fd) < 0)
			run_for(1);
	}
	return fd;
}

/* Takes some of it again and again, for longer than a stall. */
static void check_slow(uint16_t port)
{
	uint64_t all = 0, end;
	int fd = ask(port);

	for (end = clock_ms() + SLOW_MS; clock_ms() < end && !late; run_for(10)) {
		ssize_t n = take(fd);

		all += n > 0 ? (uint64_t)n : 0;
	}
	ok(!is_closed && all > RELAY_WINDOW,
		"one who takes some of it now and then is served on");
	fd_close(&fd);
	while (!is_closed && !late)
		run_for(1);
	ok(is_closed, "and his channel is closed when he leaves");
}

static void check_stalled(uint16_t port)
{
	ssize_t n;
	int fd = ask(port);

	while (!is_closed && !late)
		run_for(10);
	ok(is_closed, "the channel of one who takes nothing is closed");
	do
		n = take(fd);
	while (n > 0);
	ok(n < 0 && errno == ECONNRESET, "and what he has does not pass for all of it");
	fd_close(&fd);
}

int main(void)
{
	struct hub_conf conf = {.stall_ms = STALL_MS};
	struct hub *hub;
	uint16_t port;
	int err = 0;

	signal(SIGPIPE, SIG_IGN);
	loop = loop_new(&err);
	if (!loop)
		return 1;
	timer_set(loop, &guard, GUARD_MS, on_guard);
	conf.loop = loop;
	conf.fd = fd_listen_tcp("127.0.0.1", 0, 16);
	/* Little is in the kernel then: megabytes would hide how slow a client is. */
	setsockopt(conf.fd, SOL_SOCKET, SO_SNDBUF, &(int){PIECE}, sizeof(int));
	port = port_of(conf.fd);
	hub = hub_new(&conf, &err);
	ok(hub && dial_in(port), "a sandbox dials in");
	check_slow(port);
	check_stalled(port);
	ok(!late && !is_lost, "the sandbox stays");
	ws_conn_del(box);
	hub_del(hub);
	timer_cancel(loop, &guard);
	loop_del(loop);
	return done_testing();
}
