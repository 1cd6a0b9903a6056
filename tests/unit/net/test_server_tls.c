/* A server whose transport is TLS, which has a will of its own. */
#include "base/clock.h"
#include "net/conn.h"
#include "net/tls_credentials.h"
#include "tests/support/http_peer.h"
#include "tests/support/tls_peer.h"

enum { SHORT_MS = 30 };

static uint16_t secure_port;

/* Beside the plain listener; its connections have small buffers if wanted. */
static void secure_up(struct server_conf conf, bool tiny)
{
	struct sockaddr_in a;
	socklen_t a_n = sizeof(a);
	int fd = fd_listen_tcp("127.0.0.1", 0, 64);

	server_up(conf);
	if (tiny)
		shrink(fd, SO_SNDBUF);
	if (fd < 0 || getsockname(fd, (struct sockaddr *)&a, &a_n) < 0 ||
		server_listen(server, fd, credentials))
		abort();
	secure_port = ntohs(a.sin_port);
}

static struct client *client_open(void)
{
	return client_new(peer_connect(secure_port), BR_TLS12);
}

typedef bool client_fn(struct client *c, const void *arg);

/* Server and client in turn until cond is true. */
static bool client_until(struct client *c, client_fn *cond, const void *arg)
{
	uint64_t end = clock_ms() + GUARD_MS;

	do {
		client_pump(c);
		tick();
	} while (!cond(c, arg) && clock_ms() < end);
	return cond(c, arg);
}

static bool c_has(struct client *c, const void *arg)
{
	return str_find(buf_view(&c->got), str_c(arg)) < c->got.n;
}

static bool c_ended(struct client *c, const void *arg)
{
	(void)arg;
	return c->eof || c->err;
}

static bool c_parked(struct client *c, const void *arg)
{
	(void)c;
	return parked_n >= *(const unsigned *)arg;
}

static bool c_got(struct client *c, const void *arg)
{
	return c->got.n >= *(const size_t *)arg;
}

static bool c_in_body(struct client *c, const void *arg)
{
	(void)c;
	(void)arg;
	return server->first && server->first->state == C_BODY;
}

static void client_ask(struct client *c, const char *request)
{
	client_say(c, request, strlen(request));
}

/* The end of what has come is this; it is dropped. */
static void client_expect(struct client *c, const char *words, const char *name)
{
	client_until(c, c_has, words);
	if (!ok(str_ends(buf_view(&c->got), str_c(words)), "%s", name))
		tap_bytes("got", c->got.p, c->got.n);
	buf_reset(&c->got);
}

static void test_served(void)
{
	struct buf request = BUF_INIT(2 << 20);
	struct client *c;
	struct peer plain;

	secure_up((struct server_conf){0}, false);
	c = client_open();
	for (int i = 0; i < 3; i++) {
		client_ask(c, GET("/echo?a=b"));
		client_expect(c, "\r\n\r\nGET /echo a=b h ", "a request over TLS");
	}
	is_int(server_count_conns(server), 1, "all on one connection");
	buf_puts(&request, "POST /echo HTTP/1.1\r\nContent-Length: 1000000\r\n" HOST);
	for (int i = 0; i < 1000000; i++)
		buf_putc(&request, "0123456789"[i % 10]);
	client_say(c, request.p, request.n);
	client_expect(c, request.p + request.n - 1000000, "a megabyte there and back");
	client_ask(c,
		"POST /echo HTTP/1.1\r\nContent-Length: 2\r\n"
		"Expect: 100-continue\r\n" HOST);
	client_expect(c, "HTTP/1.1 100 Continue\r\n\r\n", "an invitation");
	client_ask(c, "ab");
	client_expect(c, " h ab", "is taken");
	client_ask(c, "GET /x HTTP/1.1\r\nConnection: close\r\n" HOST);
	ok(client_until(c, c_ended, NULL) && client_saw_end(c), "a good end");
	ok(c_has(c, "\r\n\r\nok"), "after the last reply");
	peer_open(&plain);
	peer_say(&plain, GET("/x"));
	peer_expect(&plain, "\r\n\r\nok", "the plain port is plain");
	peer_close(&plain);
	client_del(c);
	buf_free(&request);
	server_down();
}

/*
 * Requests that come in one record: the socket is empty after the first, and the loop
 * would never report it.
 */
static void test_pipelined(void)
{
	struct buf requests = BUF_INIT(1 << 20);
	struct client *c;

	secure_up((struct server_conf){0}, false);
	c = client_open();
	for (int i = 0; i < 3; i++)
		buf_fmt(&requests,
			"POST /later HTTP/1.1\r\nContent-Length: 5\r\nPad: "
			"%05000d\r\n" HOST "hello",
			0);
	for (int i = 0; i < 3 * HTTP_TURN_REPLIES; i++)
		buf_fmt(&requests, GET("/echo?%d"), i);
	client_say(c, requests.p, requests.n);
	for (unsigned i = 1; i <= 3; i++) {
		ok(client_until(c, c_parked, &i), "request %u is there", i);
		for (int k = 0; k < 5; k++)
			tick();
		is_int(parked_n, i, "and not yet the next one");
		request_reply(parked[i - 1], 200, NULL);
	}
	client_expect(c, "/echo 95 h ", "small ones, more than one turn can answer");
	is_int(ready_n, 3 + 3 * HTTP_TURN_REPLIES, "each once");
	client_del(c);
	buf_free(&requests);
	server_down();
}

/* The same, with a first request that ends where the first read from it ends. */
static void test_pipelined_edge(void)
{
	static const char head[] = "GET /later HTTP/1.1\r\nHost: h\r\nPad: ";
	struct buf requests = BUF_INIT(1 << 20);
	unsigned one = 1;
	struct client *c;

	secure_up((struct server_conf){0}, false);
	c = client_open();
	buf_fmt(&requests, "%s%0*d\r\n\r\n", head,
		(int)(HTTP_READ_FIRST - sizeof(head) + 1 - 4), 0);
	is_int((long long)requests.n, HTTP_READ_FIRST, "a request of that size");
	buf_puts(&requests, GET("/echo"));
	client_say(c, requests.p, requests.n);
	ok(client_until(c, c_parked, &one), "the first one is there");
	is_int((long long)unread(server->first->transport.fd), 0, "the socket is empty");
	request_reply(parked[0], 200, NULL);
	is_int(server->first->state, C_IDLE, "nothing more was read");
	client_expect(c, "GET /echo  h ", "the second one is answered, too");
	client_del(c);
	buf_free(&requests);
	server_down();
}

/*
 * The end of a reply is still in the machine, because the peer does not read. When the
 * next request waits for its answer that end must not wait, too; and when the next
 * request is not complete its rest must not wake us before we can go on.
 */
static void test_tail(const char *second, const char *rest, enum conn_state state)
{
	unsigned tails = 0, one = 1;
	size_t n = 1000;

	/* With sanitizers a large reply would be all of a turn. */
	secure_up((struct server_conf){.turn_us = 1000000}, true);
	for (bool more = true; more && n < 400000; n += 5000) {
		struct client *c = client_open();
		size_t all =
			n + strlen("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n");
		char request[200];

		parked_n = 0;
		shrink(c->fd, SO_RCVBUF);
		client_ask(c, "GET /empty HTTP/1.1\r\n" HOST);
		client_expect(c, "204 No Content\r\n\r\n", "a connection");
		c->deaf = true;
		snprintf(request, sizeof(request), GET("/big?n=%zu") "%s", n, second);
		client_ask(c, request);
		for (int i = 0; i < 10; i++)
			tick();
		client_ask(c, rest);
		for (int i = 0; i < 10; i++)
			tick();
		more = server->last->state != C_SEND;
		if (server->last->state == state && server->last->io.events == EPOLLOUT)
			tails++;
		c->deaf = false;
		ok(client_until(c, c_got, &all), "%zu bytes arrive", n);
		ok(client_until(c, c_parked, &one), "and the next request");
		for (int i = 0; i < 3; i++)
			tick();
		is_int(server->last->io.events & EPOLLOUT, 0,
			"then there is nothing to send");
		request_reply(parked[0], 204, NULL);
		client_expect(c, "204 No Content\r\n\r\n", "which is answered");
		client_del(c);
		ok(poll_until(is_count, 0), "the end");
	}
	ok(tails > 0, "%u replies were stuck by their ends", tails);
	server_down();
}

static void test_head_deadline(void)
{
	struct client *c;
	struct peer silent;

	secure_up((struct server_conf){.head_ms = SHORT_MS}, false);
	port = secure_port;
	peer_open(&silent);
	peer_expect_end(&silent, "a silent peer is cut off");
	peer_close(&silent);
	c = client_open();
	c->deaf = true;
	client_pump(c);
	while (server_count_conns(server) == 0)
		tick();
	ok(poll_until(is_count, 0), "so is one who does not finish the handshake");
	client_del(c);
	server_down();
	secure_up((struct server_conf){.head_ms = 10 * SHORT_MS}, false);
	c = client_open();
	client_ask(c, "GET / HTTP/1.1\r\nHos");
	ok(client_until(c, c_ended, NULL) && client_saw_end(c), "half a head");
	ok(c_has(c, "408 Request Timeout"), "is answered");
	client_del(c);
	server_down();
}

static void test_idle_deadline(void)
{
	struct client *c;

	secure_up((struct server_conf){.idle_ms = SHORT_MS}, false);
	c = client_open();
	client_ask(c, GET("/x"));
	ok(client_until(c, c_ended, NULL) && client_saw_end(c),
		"an idle connection ends with a goodbye");
	ok(c_has(c, "\r\n\r\nok"), "after its reply");
	client_del(c);
	server_down();
}

static void test_plain_client(void)
{
	struct peer p;

	secure_up((struct server_conf){.linger_ms = 3600000}, false);
	port = secure_port;
	peer_open(&p);
	peer_say(&p, GET("/x"));
	peer_expect_end(&p, "plain HTTP to the TLS port ends");
	is_int((long long)p.got.n, 0, "without an answer");
	is_int(p.err, 0, "and without a reset");
	is_int(ready_n, 0, "it was not served");
	is_int(server_count_conns(server), 1, "the peer shall close first");
	peer_close(&p);
	ok(poll_until(is_count, 0), "the connection goes with its peer");
	server_down();
}

static void test_full(void)
{
	struct client *busy, *next;
	unsigned one = 1;

	secure_up((struct server_conf){.conns_max = 1}, false);
	busy = client_open();
	client_ask(busy, GET("/later"));
	ok(client_until(busy, c_parked, &one), "the only place is taken");
	next = client_open();
	ok(client_until(next, c_ended, NULL), "the next peer is not served");
	ok(!client_is_open(next), "not even with a handshake");
	request_reply(parked[0], 204, NULL);
	client_expect(busy, "204 No Content\r\n\r\n", "the first is");
	client_del(busy);
	client_del(next);
	server_down();
}

/* The body comes to grief in the middle: the layer above has to hear of it. */
static void test_broken_body(void)
{
	struct client *c;

	secure_up((struct server_conf){0}, false);
	c = client_open();
	client_ask(c, "POST /later HTTP/1.1\r\nContent-Length: 100\r\n" HOST "abc");
	ok(client_until(c, c_in_body, NULL), "a body begins");
	if (send(c->fd, "\x17\x03\x03\x00\x20 no record of this connection...", 37, 0) <
		0)
		abort();
	ok(client_until(c, c_ended, NULL) && c->err == 0, "an altered record");
	is_int(gone_n, 1, "the layer above is told");
	ok(!client_saw_end(c), "and the peer is told nothing that it could believe");
	client_del(c);
	server_down();
}

int main(void)
{
	make_credentials();
	test_served();
	test_pipelined();
	test_pipelined_edge();
	test_tail(GET("/later"), "", C_WAIT);
	test_tail("GET /la", "ter HTTP/1.1\r\n" HOST, C_HEAD);
	test_head_deadline();
	test_idle_deadline();
	test_plain_client();
	test_full();
	test_broken_body();
	tls_credentials_del(credentials);
	return done_testing();
}
