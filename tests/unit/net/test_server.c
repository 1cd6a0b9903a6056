/* Deadlines, caps, the end of file descriptors, and a graceful stop. */
#include "net/conn.h"
#include "tests/support/http_peer.h"

#include <sys/resource.h>

enum { SHORT_MS = 30 };

static void test_head_deadline(void)
{
	struct peer p;

	server_up((struct server_conf){.head_ms = SHORT_MS});
	peer_open(&p);
	peer_say(&p, "GET / HTTP/1.1\r\nHos");
	peer_expect_end(&p, "half a head in time for its deadline");
	ok(peer_has(&p, "408 Request Timeout") && peer_has(&p, "too slowly"), "is 408");
	peer_close(&p);
	peer_open(&p);
	peer_expect_end(&p, "a silent connection");
	is_int((long long)p.got.n, 0, "is closed without a word");
	peer_close(&p);
	server_down();
}

static void test_idle_deadline(void)
{
	struct peer p;

	server_up((struct server_conf){.idle_ms = SHORT_MS});
	peer_open(&p);
	peer_say(&p, GET("/x"));
	peer_expect(&p, "\r\n\r\nok", "a reply");
	peer_expect_end(&p, "an idle connection is closed");
	is_int((long long)p.got.n, 0, "without a word");
	peer_close(&p);
	server_down();
}

static void test_body_deadline(void)
{
	struct peer p;

	server_up((struct server_conf){.body_ms = SHORT_MS, .body_rate = 1 << 20});
	peer_open(&p);
	peer_say(&p, "POST /later HTTP/1.1\r\nContent-Length: 9\r\n" HOST "abc");
	peer_expect_end(&p, "a body below the rate");
	ok(peer_has(&p, "408 Request Timeout"), "is 408");
	is_int(gone_n, 1, "the layer above is told");
	peer_close(&p);
	server_down();

	/* 3 bytes at 1 byte per second would have 3 s; the pause is too long before. */
	server_up((struct server_conf){.body_rate = 1, .stall_ms = SHORT_MS});
	peer_open(&p);
	peer_say(&p, "POST /later HTTP/1.1\r\nContent-Length: 9\r\n" HOST "abc");
	peer_expect_end(&p, "a pause in a body");
	ok(peer_has(&p, "408 Request Timeout"), "is 408");
	peer_close(&p);
	server_down();
}

static void test_stall(void)
{
	struct peer p;

	server_up((struct server_conf){.stall_ms = SHORT_MS});
	peer_open(&p);
	peer_say(&p, GET("/big?n=30000000"));
	while (ready_n == 0)
		tick();
	ok(poll_until(is_count, 0), "a reader that stands still is cut off");
	is_int(gone_n, 0, "its answer was given");
	peer_close(&p);
	server_down();
}

static void test_wait_and_linger(void)
{
	struct peer p;

	server_up((struct server_conf){.wait_ms = SHORT_MS});
	peer_open(&p);
	peer_say(&p, GET("/later"));
	peer_expect_end(&p, "no answer ever");
	is_int(gone_n, 1, "is given up");
	peer_close(&p);
	server_down();

	server_up((struct server_conf){.linger_ms = SHORT_MS});
	peer_open(&p);
	peer_say(&p, "GET /x HTTP/1.1\r\nConnection: close\r\n" HOST);
	peer_expect_end(&p, "all is sent");
	is_int(server_count_conns(server), 1, "the peer has time to close");
	peer_say(&p, "more, unread");
	ok(poll_until(is_count, 0), "but not for ever");
	peer_close(&p);
	server_down();
}

static void test_cap_silent(void)
{
	struct peer old, new, third;

	server_up((struct server_conf){.conns_max = 2, .young_ms = 1});
	peer_open(&old);
	peer_say(&old, "GET / HTT");
	ok(poll_until(is_count, 1), "one");
	peer_open(&new);
	ok(poll_until(is_count, 2), "two");
	for (int i = 0; i < 5; i++)
		poll_until(is_count, 2);
	peer_open(&third);
	peer_say(&third, GET("/x"));
	peer_expect(&third, "\r\n\r\nok", "a third is served");
	peer_expect_end(&old, "at the cost of the oldest");
	peer_say(&new, GET("/x"));
	peer_expect(&new, "\r\n\r\nok", "not of the younger");
	is_int(server_count_conns(server), 2, "the cap holds");
	peer_close(&old);
	peer_close(&new);
	peer_close(&third);
	server_down();
}

static void test_cap_ranks(void)
{
	struct peer known, served, next;

	server_up((struct server_conf){.conns_max = 2, .young_ms = 1});
	peer_open(&known);
	peer_say(&known, GET("/trust"));
	peer_expect(&known, "\r\n\r\nok", "a trusted one");
	peer_open(&served);
	peer_say(&served, GET("/x"));
	peer_expect(&served, "\r\n\r\nok", "a served one");
	peer_open(&next);
	peer_say(&next, GET("/trust"));
	peer_expect(&next, "\r\n\r\nok", "a third");
	peer_expect_end(&served, "takes the place of the served one");
	peer_close(&served);
	peer_open(&served);
	peer_say(&served, GET("/x"));
	peer_expect(&served, "\r\n\r\nok", "a fourth");
	peer_expect_end(&known, "takes that of the oldest idle one");
	peer_close(&known);
	peer_close(&served);
	peer_close(&next);
	server_down();
}

static void test_cap_busy(void)
{
	struct peer busy[2], next;

	server_up((struct server_conf){.conns_max = 2, .young_ms = 1});
	for (unsigned i = 0; i < 2; i++) {
		peer_open(&busy[i]);
		peer_say(&busy[i], GET("/later"));
		ok(poll_until(is_parked, i + 1), "one is busy");
	}
	peer_open(&next);
	peer_say(&next, GET("/x"));
	peer_expect_end(&next, "all are busy");
	ok(peer_has(&next, "503 Service Unavailable") &&
			peer_has(&next, "\r\n\r\n{\"detail\":\"Too many connections.\"}"),
		"is said at once");
	ok(peer_has(&next, "\r\nretry-after: 1\r\n"), "the answer has Retry-After");
	peer_close(&next);
	for (unsigned i = 0; i < 2; i++) {
		request_reply(parked[i], 204, NULL);
		peer_expect(&busy[i], "204 No Content\r\n\r\n", "the busy ones finish");
		peer_close(&busy[i]);
	}
	server_down();
}

/* Opens a connection on which a request has been answered. */
static void idle_open(struct peer *p, const char *request)
{
	peer_open(p);
	peer_say(p, request);
	peer_expect(p, "\r\n\r\nok", "a peer is served");
}

static void test_cap_idle(void)
{
	struct peer old, next[3];

	server_up((struct server_conf){.conns_max = 3, .young_ms = 3600000});
	idle_open(&old, GET("/x"));
	for (int i = 0; i < 2; i++)
		idle_open(&next[i], GET("/x"));
	peer_say(&old, GET("/x"));
	peer_expect(&old, "\r\n\r\nok", "the oldest connection is used again");
	idle_open(&next[2], GET("/x"));
	peer_expect_end(&next[0], "the connection that is idle for longest is closed");
	peer_say(&old, GET("/x"));
	peer_expect(&old, "\r\n\r\nok", "the one used again is not");
	peer_close(&old);
	for (int i = 0; i < 3; i++)
		peer_close(&next[i]);
	server_down();
}

/* Peers that have waited in the backlog are served in the wake-up that accepts them. */
static void test_cap_one_wake_up(void)
{
	enum { IDLE = 8 };
	struct peer idle[IDLE], next[IDLE];

	server_up((struct server_conf){.conns_max = IDLE, .young_ms = 3600000});
	for (int i = 0; i < IDLE; i++)
		idle_open(&idle[i], GET("/x"));
	for (int i = 0; i < IDLE; i++) {
		peer_open(&next[i]);
		peer_say(&next[i], GET("/x"));
	}
	ready_n = 0;
	tick();
	is_int(ready_n, IDLE, "one wake-up serves all peers that wait");
	for (int i = 0; i < IDLE; i++) {
		peer_expect(
			&next[i], "\r\n\r\nok", "a peer of the backlog has its answer");
		peer_expect_end(&idle[i], "an idle connection is closed for it");
		peer_close(&next[i]);
		peer_close(&idle[i]);
	}
	server_down();
}

/* A flood of silent peers takes half of the places at most from trusted idle peers. */
static void test_cap_flood(void)
{
	enum { CAP = 8, FLOOD = 40 };
	struct peer trusted[CAP], flood[FLOOD], next;

	server_up((struct server_conf){.conns_max = CAP, .young_ms = 3600000});
	for (int i = 0; i < CAP; i++)
		idle_open(&trusted[i], GET("/trust"));
	for (int i = 0; i < FLOOD; i++) {
		peer_open(&flood[i]);
		tick();
	}
	idle_open(&next, GET("/x"));
	for (int i = CAP / 2 + 1; i < CAP; i++) {
		peer_say(&trusted[i], GET("/x"));
		peer_expect(&trusted[i], "\r\n\r\nok", "a trusted idle peer stays");
	}
	peer_expect_end(&trusted[0], "the oldest trusted idle peer is closed");
	peer_expect_end(&flood[0], "the flood replaces its own oldest connection");
	is_int(server_count_conns(server), CAP, "the cap holds");
	for (int i = 0; i < CAP; i++)
		peer_close(&trusted[i]);
	for (int i = 0; i < FLOOD; i++)
		peer_close(&flood[i]);
	peer_close(&next);
	server_down();
}

/* A connection that the server is given. */
static void test_cap_given(void)
{
	struct peer silent, busy;
	int pair[2][2];

	server_up((struct server_conf){.conns_max = 2, .young_ms = 1});
	peer_open(&silent);
	peer_open(&busy);
	peer_say(&busy, GET("/later"));
	ok(poll_until(is_parked, 1), "one of two connections is busy");
	if (fd_socketpair(SOCK_STREAM, pair[0]) || fd_socketpair(SOCK_STREAM, pair[1]))
		abort();
	is_int(server_adopt(server, pair[0][1], false), 0,
		"a given connection is served");
	peer_expect_end(&silent, "a silent connection is closed for it");
	peer_put(&(struct peer){.fd = pair[0][0]}, GET("/later"),
		sizeof(GET("/later")) - 1);
	ok(poll_until(is_parked, 2), "both connections are busy");
	is_int(server_adopt(server, pair[1][1], false), ERR_LIMIT,
		"a given connection is refused while all are busy");
	fd_close(&pair[0][0]);
	fd_close(&pair[1][0]);
	peer_close(&silent);
	peer_close(&busy);
	server_down();
}

/* Runs the loop until the connections that are open now are no longer new. */
static void grow_old(void)
{
	uint64_t until = clock_ms() + 2;

	while (clock_ms() <= until)
		tick();
}

static void test_cap_unread(void)
{
	enum { CAP = 3 };
	struct peer unread[CAP], next[CAP - 1];

	server_up((struct server_conf){.conns_max = CAP, .young_ms = 1});
	idle_open(&unread[0], GET("/x"));
	peer_open(&unread[1]);
	idle_open(&unread[2], GET("/trust"));
	ready_n = 0;
	for (int i = 0; i < CAP; i++) {
		loop_remove(loop, &unread[i].io);
		peer_say(&unread[i], GET("/big?n=30000000"));
	}
	while (ready_n < CAP)
		tick();
	grow_old();
	for (int i = 0; i < CAP - 1; i++)
		idle_open(&next[i], GET("/trust"));
	peer_expect_end(&unread[0], "a served peer with an unread reply is closed");
	peer_expect_end(&unread[1], "a new peer with an unread reply is closed");
	peer_say(&unread[2], GET("/x"));
	peer_expect(&unread[2], "\r\n\r\nok", "a trusted peer gets its reply");
	is_int(server_count_conns(server), CAP, "the cap holds");
	for (int i = 0; i < CAP; i++)
		peer_close(&unread[i]);
	for (int i = 0; i < CAP - 1; i++)
		peer_close(&next[i]);
	server_down();
}

/* The share of a wake-up is a time, whatever a reply costs. */
static void test_turn_time(void)
{
	enum { REQUESTS = 8, PEERS = 3 };
	unsigned before, most = 0, ticks = 0;
	struct peer p[PEERS];

	server_up((struct server_conf){0});
	for (int i = 0; i < PEERS; i++) {
		peer_open(&p[i]);
		for (int k = 0; k < REQUESTS; k++)
			peer_say(&p[i], GET("/costly"));
	}
	while (ticks++ < 1000 && ready_n < REQUESTS * PEERS) {
		before = ready_n;
		tick();
		if (ready_n - before > most)
			most = ready_n - before;
	}
	is_int(ready_n, REQUESTS * PEERS, "all costly requests are answered");
	ok(most <= PEERS, "a wake-up answers one of each peer: %u", most);
	for (int i = 0; i < PEERS; i++)
		peer_close(&p[i]);
	server_down();
}

/* Its own idea of RLIMIT_NOFILE closes a connection that the kernel has accepted. */
static bool under_valgrind(void)
{
	const char *preload = getenv("LD_PRELOAD");

	return preload && strstr(preload, "vgpreload");
}

/* The process may open no more fds than it has. */
static void fds_out(struct rlimit *before)
{
	struct rlimit none;
	int free_fd;

	getrlimit(RLIMIT_NOFILE, before);
	free_fd = fd_dup(0, 3);
	none = *before;
	none.rlim_cur = (rlim_t)free_fd;
	fd_close(&free_fd);
	setrlimit(RLIMIT_NOFILE, &none);
}

static void test_no_fds(void)
{
	struct peer slow, busy, next[3];
	struct rlimit before;

	server_up((struct server_conf){.young_ms = 1});
	peer_open(&busy);
	peer_say(&busy, GET("/later"));
	ok(poll_until(is_parked, 1), "a busy connection");
	for (int i = 0; i < 3; i++) {
		peer_open(&next[i]);
		peer_say(&next[i], GET("/x"));
	}
	fds_out(&before);
	for (int i = 0; i < 3; i++) {
		peer_expect_end(&next[i], "without fds");
		ok(peer_has(&next[i], "503 Service Unavailable"), "peer %d is refused",
			i);
		peer_close(&next[i]);
	}
	setrlimit(RLIMIT_NOFILE, &before);
	peer_open(&next[0]);
	peer_say(&next[0], GET("/x"));
	peer_expect(&next[0], "\r\n\r\nok", "with fds again all is well");
	peer_close(&next[0]);
	ok(poll_until(is_count, 1), "the busy one is left");

	peer_open(&slow);
	peer_say(&slow, "GET");
	ok(poll_until(is_count, 2), "a slow one comes");
	for (int i = 0; i < 5; i++)
		poll_until(is_count, 2);
	peer_open(&next[0]);
	peer_say(&next[0], GET("/x"));
	fds_out(&before);
	peer_expect(&next[0], "\r\n\r\nok", "its fd serves another");
	setrlimit(RLIMIT_NOFILE, &before);
	peer_expect_end(&slow, "it is cut");
	request_reply(parked[0], 204, NULL);
	peer_expect(&busy, "204 No Content\r\n\r\n", "the busy one was never in danger");
	peer_close(&busy);
	peer_close(&slow);
	peer_close(&next[0]);
	server_down();
}

/* No fd at all, not even the spare one: the server pauses and does not spin. */
static void test_no_spare(void)
{
	struct rlimit before;
	struct peer busy, next;

	server_up((struct server_conf){.young_ms = 1});
	peer_open(&busy);
	peer_say(&busy, GET("/later"));
	ok(poll_until(is_parked, 1), "a busy connection");
	peer_open(&next);
	peer_say(&next, GET("/x"));
	getrlimit(RLIMIT_NOFILE, &before);
	setrlimit(RLIMIT_NOFILE, &(struct rlimit){3, before.rlim_max});
	for (int i = 0; i < 5; i++)
		tick();
	is_int(server_count_conns(server), 1, "nobody is accepted");
	is_int(server->listeners[0].io.events, 0, "the listener rests");
	setrlimit(RLIMIT_NOFILE, &before);
	peer_expect(&next, "\r\n\r\nok", "who waited is served");
	ok(server->spare_fd >= 0, "the spare fd is back");
	request_reply(parked[0], 204, NULL);
	peer_expect(&busy, "204 No Content\r\n\r\n", "and the busy one");
	peer_close(&busy);
	peer_close(&next);
	server_down();
}

static void test_stop(void)
{
	struct peer idle, new, busy, late;

	server_up((struct server_conf){0});
	peer_open(&idle);
	peer_say(&idle, GET("/x"));
	peer_expect(&idle, "\r\n\r\nok", "one will be idle");
	peer_open(&new);
	peer_open(&busy);
	peer_say(&busy, GET("/later"));
	peer_open(&late);
	peer_say(&late, "GET /x HT");
	ok(poll_until(is_parked, 1) && poll_until(is_count, 4), "others are not");
	for (int i = 0; i < 5; i++)
		tick();
	server_stop(server);
	peer_expect_end(&idle, "the idle one is closed");
	peer_expect_end(&new, "so is the silent one");
	is_int(peer_connect(port), -ECONNREFUSED, "no new ones");
	peer_say(&late, "TP/1.1\r\n" HOST);
	peer_expect_end(&late, "a request that had begun");
	ok(peer_has(&late, "\r\n\r\nok") && peer_has(&late, "connection: close"),
		"is answered");
	is_int(drained_n, 0, "not yet the end");
	request_reply(parked[0], 204, NULL);
	peer_expect_end(&busy, "the last one finishes");
	peer_close(&late);
	peer_close(&busy);
	while (drained_n == 0)
		tick();
	is_int(drained_n, 1, "drained is told once");
	is_int(server_listen(server, 0, NULL), ERR_LIMIT, "a stopped server stays so");
	peer_close(&idle);
	peer_close(&new);
	server_down();

	server_up((struct server_conf){0});
	server_stop(server);
	is_int(drained_n, 1, "an idle server is drained at once");
	server_stop(server);
	is_int(drained_n, 1, "once");
	server_down();
}

static void test_del(void)
{
	struct peer p, q;

	server_up((struct server_conf){0});
	peer_open(&p);
	peer_say(&p, GET("/later"));
	peer_open(&q);
	peer_say(&q, "POST /echo HTTP/1.1\r\nContent-Length: 5\r\n" HOST "ab");
	ok(poll_until(is_parked, 1) && poll_until(is_count, 2), "two requests");
	for (int i = 0; i < 5; i++)
		tick();
	server_del(server);
	server = NULL;
	is_int(gone_n, 2, "both are told");
	peer_expect_end(&p, "connections are cut");
	peer_close(&p);
	peer_close(&q);
	server_down();
}

static void test_bad_listener(void)
{
	int pair[2];

	server_up((struct server_conf){0});
	is_int(server_listen(server, -1, NULL), -EBADF, "a bad fd is not taken");
	is_int(fd_socketpair(SOCK_STREAM, pair), 0, "a pair");
	is_int(server_listen(server, pair[0], NULL), 0, "a socket that does not listen");
	fd_close(&pair[1]);
	tick();
	is_int(server_count_conns(server), 0, "accepts nothing");
	is_int(server->listeners[0].io.events, 0, "and does not spin");
	server_down();
}

int main(void)
{
	test_head_deadline();
	test_idle_deadline();
	test_body_deadline();
	test_stall();
	test_wait_and_linger();
	test_cap_silent();
	test_cap_ranks();
	test_cap_busy();
	test_turn_time();
	test_cap_idle();
	test_cap_one_wake_up();
	test_cap_flood();
	test_cap_unread();
	test_cap_given();
	if (under_valgrind()) {
		skip("out of file descriptors", "valgrind");
	} else {
		test_no_fds();
		test_no_spare();
	}
	test_stop();
	test_del();
	test_bad_listener();
	return done_testing();
}
