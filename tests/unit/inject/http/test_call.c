/* Connecting, and the time limits of an exchange. */
#include "inject/http/http_client.h"

#include "base/clock.h"
#include "base/fd.h"
#include "inject/console/stop.h"
#include "tests/tap.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SHORT_MS = 30, LONG_MS = 10000, CROWD = 8, DRIP_MS = 10, DRIPS = 900 };

static void test_unix(void)
{
	char dir[] = "/tmp/test_call.XXXXXX";
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int listener = socket(AF_UNIX, SOCK_STREAM, 0);
	int crowd[CROWD], fd = -1, n = 0;
	uint64_t from;

	if (!mkdtemp(dir))
		return;
	snprintf(a.sun_path, sizeof(a.sun_path), "%s/sock", dir);
	is_int(http_client_connect_unix(a.sun_path, LONG_MS, false), -ENOENT,
		"no socket");
	ok(bind(listener, (struct sockaddr *)&a, sizeof(a)) == 0, "a socket");
	is_int(http_client_connect_unix(a.sun_path, LONG_MS, false), -ECONNREFUSED,
		"nobody listens");
	ok(listen(listener, 0) == 0, "somebody listens");
	while (n < CROWD && fd != -EAGAIN) {
		fd = fd_connect_unix(a.sun_path);
		if (fd >= 0)
			crowd[n++] = fd;
	}
	is_int(fd, -EAGAIN, "until the queue is full");
	from = clock_ms();
	is_int(http_client_connect_unix(a.sun_path, SHORT_MS, false), -ETIMEDOUT,
		"one who takes no more");
	ok(clock_ms() - from >= SHORT_MS, "is waited for");
	fd = fd_accept(listener);
	ok(fd >= 0, "one is taken");
	fd_close(&fd);
	fd = http_client_connect_unix(a.sun_path, LONG_MS, true);
	ok(fd >= 0, "which makes room");
	fd_close(&fd);
	while (n)
		fd_close(&crowd[--n]);
	fd_close(&listener);
	unlink(a.sun_path);
	rmdir(dir);
}

static void test_tcp(void)
{
	int listener = fd_listen_tcp("127.0.0.1", 0, 0);
	struct sockaddr_in a;
	socklen_t a_n = sizeof(a);
	int crowd[CROWD], fd;
	uint16_t port;

	if (!ok(getsockname(listener, (struct sockaddr *)&a, &a_n) == 0, "a listener"))
		return;
	port = ntohs(a.sin_port);
	fd = http_client_connect_tcp(port, LONG_MS);
	ok(fd >= 0, "takes a connection");
	for (int i = 0; i < CROWD; i++)
		crowd[i] = fd_connect_tcp("127.0.0.1", port);
	is_int(http_client_connect_tcp(port, SHORT_MS), -ETIMEDOUT,
		"and no more than it has room for");
	fd_close(&fd);
	for (int i = 0; i < CROWD; i++)
		fd_close(&crowd[i]);
	fd_close(&listener);
	is_int(http_client_connect_tcp(port, LONG_MS), -ECONNREFUSED, "nobody listens");
}

static void frame(struct buf *out, int stream, const char *p, size_t n)
{
	const char head[8] = {(char)stream, 0, 0, 0, 0, 0, (char)(n >> 8), (char)n};

	buf_put(out, head, sizeof(head));
	buf_put(out, p, n);
}

/* One answer through a tunnel, in frames of step bytes, with remarks on stderr. */
static void tunnel(size_t step)
{
	static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
	const struct http_client_request open = {
		.method = "POST", .target = TARGET("/exec/1/start")};
	const struct http_client_request ask = {
		.method = "GET", .target = TARGET("/alive")};
	struct buf said = BUF_INIT(4096), got = BUF_INIT(64);
	struct http_client c;
	int pair[2];

	if (!ok(fd_socketpair(SOCK_STREAM, pair) == 0, "a pair"))
		return;
	buf_puts(&said, "HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\n\r\n");
	for (size_t at = 0; at < sizeof(answer) - 1; at += step) {
		size_t left = sizeof(answer) - 1 - at;

		frame(&said, 2, "a remark", 8);
		frame(&said, 1, answer + at, left < step ? left : step);
	}
	is_int(fd_write_all(pair[1], said.p, said.n), 0, "all is there at once");
	http_client_begin(&c, pair[0], LONG_MS, false);
	is_int(http_client_send(&c, &open), 0, "the engine agrees");
	is_int(http_client_begin_tunnel(&c, LONG_MS), 0, "a tunnel, frames of %zu", step);
	is_int(http_client_send(&c, &ask), 0, "a call through it");
	is_int(c.head.status, 200, "is answered");
	is_int(http_client_read_all(&c, &got), 0, "whole");
	is_view(buf_view(&got), "hello", "without the frames and the remarks");
	http_client_close(&c);
	fd_close(&pair[1]);
	buf_free(&said);
	buf_free(&got);
}

static void test_tunnel_broken(void)
{
	static const char said[] = "HTTP/1.1 101 UPGRADED\r\n\r\nno frames at all";
	const struct http_client_request open = {
		.method = "POST", .target = TARGET("/exec/1/start")};
	struct http_client c;
	int pair[2];

	if (!ok(fd_socketpair(SOCK_STREAM, pair) == 0, "a pair"))
		return;
	is_int(fd_write_all(pair[1], said, sizeof(said) - 1), 0, "something else");
	http_client_begin(&c, pair[0], LONG_MS, false);
	is_int(http_client_send(&c, &open), 0, "the engine agrees");
	is_int(http_client_begin_tunnel(&c, LONG_MS), ERR_SYNTAX, "but sends no frames");
	http_client_close(&c);
	fd_close(&pair[1]);
}

/* A value that cannot stand in a head is refused before a byte is sent. */
static void test_head_refused(void)
{
	const struct http_client_request bad[] = {
		{.method = "GET x", .target = TARGET("/")},
		{.method = "GET",
			.target =
				TARGET("/volumes/x HTTP/1.1\r\nHost: h\r\n\r\nPOST /y")},
		{.method = "GET", .target = TARGET("volumes")},
		{.method = "GET", .target = TARGET("/"), .host = "h\r\nX: y"},
		{.method = "GET", .target = TARGET("/"), .headers = "A: b\r\n\r\n"},
		{.method = "POST", .target = TARGET("/"), .type = "text/plain\r\nX: y"},
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct http_client c;
		int pair[2];
		char byte;

		if (!ok(fd_socketpair(SOCK_STREAM, pair) == 0, "a pair"))
			return;
		http_client_begin(&c, pair[0], LONG_MS, false);
		is_int(http_client_send(&c, &bad[i]), -EINVAL, "request %zu is refused",
			i);
		http_client_close(&c);
		is_int(read(pair[1], &byte, 1), 0, "request %zu sends no byte", i);
		fd_close(&pair[1]);
	}
}

/* Takes n bytes, and ends. */
static void take(int fd, size_t n)
{
	static char bytes[4096];
	struct pollfd w = {.fd = fd, .events = POLLIN};

	alarm(LONG_MS / 1000);
	while (n && poll(&w, 1, -1) == 1) {
		ssize_t got = read(fd, bytes, n < sizeof(bytes) ? n : sizeof(bytes));

		if (got <= 0)
			_exit(1);
		n -= (size_t)got;
	}
	_exit(0);
}

/* Who has no room for what is pushed may say more meanwhile. */
static void test_push_amid_a_piece(void)
{
	static const char said[] = "HTTP/1.1 101 Switching Protocols\r\n\r\nfirst";
	static char much[1 << 20];
	const struct http_client_request open = {
		.method = "GET", .target = TARGET("/"), .keep = true};
	struct str piece = {0};
	struct http_client c;
	int pair[2], status = -1, room = 4096;
	pid_t pid;

	if (!ok(fd_socketpair(SOCK_STREAM, pair) == 0, "a pair"))
		return;
	setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	is_int(fd_write_all(pair[1], said, sizeof(said) - 1), 0, "another protocol");
	http_client_begin(&c, pair[0], LONG_MS, false);
	is_int(http_client_send(&c, &open), 0, "begins");
	is_int(http_client_try_read(&c, &piece), 1, "a piece is there");
	is_int(fd_write_all(pair[1], "second", 6), 0, "more has come");
	pid = fork();
	if (pid == 0)
		take(pair[1], sizeof(much));
	is_int(http_client_push(&c, str_make(much, sizeof(much))), 0, "much is pushed");
	is_view(piece, "first", "the piece stays where it was");
	is_int(http_client_try_read(&c, &piece), 1, "another one");
	is_view(piece, "second", "is what came meanwhile");
	is_int(waitpid(pid, &status, 0), pid, "all was taken");
	is_int(status, 0, "in order");
	http_client_close(&c);
	fd_close(&pair[1]);
}

/* Writes the text, and behind it DRIPS bytes, one every DRIP_MS. */
static void drip(int fd, const char *text)
{
	alarm(2 * LONG_MS / 1000);
	if (fd_write_all(fd, text, strlen(text)))
		_exit(1);
	for (int i = 0; i < DRIPS; i++) {
		poll(NULL, 0, DRIP_MS);
		if (write(fd, "x", 1) != 1)
			_exit(2);
	}
	_exit(0);
}

/* An exchange with a peer that drips behind text; the result of it. */
static int exchange_with_drip(const char *text, uint32_t grace_ms, size_t *got_n)
{
	const struct http_client_request q = {.method = "GET", .target = TARGET("/")};
	struct buf got = BUF_INIT(1 << 20);
	struct http_client c;
	int pair[2], r;
	pid_t pid;

	if (!ok(fd_socketpair(SOCK_STREAM, pair) == 0, "a pair"))
		return -1;
	pid = fork();
	if (pid == 0) {
		fd_close(&pair[0]);
		drip(pair[1], text);
	}
	fd_close(&pair[1]);
	http_client_begin(&c, pair[0], LONG_MS, false);
	http_client_set_limits(&c, LONG_MS, grace_ms);
	r = http_client_send(&c, &q);
	if (!r)
		r = http_client_read_all(&c, &got);
	*got_n = got.n;
	http_client_close(&c);
	waitpid(pid, NULL, 0);
	buf_free(&got);
	return r;
}

static void test_drip(void)
{
	size_t n = 0;

	is_int(exchange_with_drip("HTTP/1.1 200 OK\r\nX: ", SHORT_MS, &n), -ETIME,
		"a head that comes byte by byte ends with -ETIME");
	is_int(exchange_with_drip(
		       "HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n", SHORT_MS, &n),
		-ETIME, "a body that comes byte by byte ends with -ETIME");
	ok(n < DRIPS, "before all of it is there");
	is_int(exchange_with_drip("HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\n", 0, &n),
		0, "without a grace only silence is limited");
	is_int(n, 90, "and the body is complete");
}

/* Bytes that have moved buy time: a second per INJECT_RATE. */
static void test_rate(void)
{
	static char text[64 + 16 * INJECT_RATE];
	size_t n = 0, head, body = 16 * (size_t)INJECT_RATE - 64;

	snprintf(text, sizeof(text), "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n",
		body + 20);
	head = strlen(text);
	memset(text + head, 'y', body);
	is_int(exchange_with_drip(text, 1, &n), 0,
		"a long answer may take longer than the grace");
	is_int(n, body + 20, "and is complete");
}

static void test_user_limit(void)
{
	uint64_t now = clock_ms();

	stop_set_limit(now + SHORT_MS);
	is_int(stop_wait(-1, 0, now + LONG_MS, false), -EINTR,
		"the user's limit ends a wait");
	ok(stop_is_expired() && !stop_get_signal(), "the limit ended it, and no signal");
	is_int(stop_wait(-1, 0, clock_ms() + 1, true), 0, "a calm wait goes on");
	ok(stop_is_requested(false) && !stop_is_requested(true),
		"only what is calm goes on");
	stop_set_limit(0);
	is_int(stop_wait(-1, 0, clock_ms() + 1, false), 0, "without a limit waits go on");
}

int main(void)
{
	test_drip();
	test_rate();
	test_user_limit();
	tunnel(1);
	tunnel(7);
	tunnel(4096);
	test_tunnel_broken();
	test_head_refused();
	test_push_amid_a_piece();
	test_unix();
	test_tcp();
	return done_testing();
}
