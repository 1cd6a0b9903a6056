/* Bodies and replies that come in pieces. */
#include "tests/support/http_peer.h"

static const struct server_conf usual = {0};

static bool is_ready(struct peer *p, const void *arg)
{
	(void)p;
	return ready_n >= *(const unsigned *)arg;
}

static bool is_sunk(struct peer *p, const void *arg)
{
	(void)p;
	return sink.n >= *(const unsigned *)arg;
}

static bool is_room(struct peer *p, const void *arg)
{
	(void)p;
	return room_n >= *(const unsigned *)arg;
}

static void rest(void)
{
	for (int i = 0; i < 5; i++)
		tick();
}

static void test_body_held_up(bool by_moves)
{
	enum { BIG = 1000000 };
	struct buf all = BUF_INIT(2 << 20);
	struct peer p;
	size_t at = 0;
	bool good = true;

	for (int i = 0; i < BIG; i++)
		buf_putc(&all, (char)('a' + i % 23));
	server_up(usual);
	moves = by_moves;
	moved_n = 0;
	peer_open(&p);
	peer_say(&p, "POST /sink HTTP/1.1\r\nContent-Length: 1000000\r\n" HOST);
	peer_put(&p, all.p, 200000);
	at = 200000;
	rest();
	is_int(sink.n, 0, "nobody takes anything");
	sink_room = 3;
	request_resume_body(parked[0]);
	ok(poll_until(is_sunk, 3), "a few bytes are taken");
	rest();
	is_int(sink.n, 3, "and no more");
	sink_room = 150000;
	request_resume_body(parked[0]);
	ok(poll_until(is_sunk, 150003), "some more are taken");
	rest();
	is_int(sink.n, 150003, "and no more");
	sink_room = SIZE_MAX;
	request_resume_body(parked[0]);
	while (at < BIG) {
		ssize_t n = send(p.fd, all.p + at, BIG - at, MSG_NOSIGNAL | MSG_DONTWAIT);

		at += n > 0 ? (size_t)n : 0;
		tick();
	}
	peer_expect(&p, "1000000 bytes", "all of it comes");
	for (size_t i = 0; i < BIG && good; i++)
		good = sink.p[i] == all.p[i];
	ok(good, "in order");
	ok(by_moves == (moved_n > BIG / 2), "and the way that was wanted");
	peer_say(&p, GET("/x"));
	peer_expect(&p, "\r\n\r\nok", "the connection lives");
	is_int(gone_n, 0, "nobody has gone");
	peer_close(&p);
	server_down();
	buf_free(&all);
}

static void test_moved_body_ends(void)
{
	static char piece[200000];
	struct peer p;

	server_up(usual);
	moves = true;
	sink_room = SIZE_MAX;
	peer_open(&p);
	peer_say(&p, "POST /sink HTTP/1.1\r\nContent-Length: 1000000\r\n" HOST);
	peer_put(&p, piece, sizeof(piece));
	ok(poll_until(is_sunk, sizeof(piece)), "a part of a body is moved");
	shutdown(p.fd, SHUT_WR);
	peer_expect(&p, "is incomplete.\"}", "its early end is told");
	is_int(gone_n, 1, "above, too");
	peer_close(&p);
	server_down();
}

/* The end of the body is held up, with the next request behind it. */
static void test_end_held_up(void)
{
	static const char *const says[] = {
		"POST /sink HTTP/1.1\r\nContent-Length: 5\r\n" HOST "hello" GET("/x"),
		"POST /sink HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" HOST
		"2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n" GET("/x"),
	};

	for (size_t i = 0; i < ARRAY_LEN(says); i++) {
		struct peer p;

		server_up(usual);
		peer_open(&p);
		peer_say(&p, says[i]);
		for (unsigned n = 0; n < 5; n++) {
			rest();
			is_int(sink.n, n, "%u bytes so far", n);
			is_int(ready_n, 0, "not complete");
			sink_room = 1;
			request_resume_body(parked[0]);
		}
		peer_read(&p);
		run_until(&p, has_text, "\r\n\r\nok");
		ok(peer_has(&p, "5 bytesHTTP/1.1 200"), "its end, then the next request");
		is_view(buf_view(&sink), "hello", "every byte once");
		peer_close(&p);
		server_down();
	}
}

static void test_body_ends(void)
{
	static const struct server_conf quick = {
		.body_ms = 150, .stall_ms = 150, .wait_ms = 60000};
	struct peer p;

	server_up(usual);
	sink_room = SIZE_MAX;
	peer_open(&p);
	peer_say(&p, "POST /sink HTTP/1.1\r\nContent-Length: 4000001\r\n" HOST);
	peer_expect_end(&p, "too long a body");
	ok(peer_has(&p, "413 Content"), "is refused by its length");
	peer_close(&p);
	peer_open(&p);
	peer_say(&p, "POST /sink HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" HOST "x");
	peer_expect_end(&p, "bad chunks");
	ok(peer_has(&p, "400 Bad"), "are refused");
	peer_close(&p);
	is_int(gone_n, 2, "the layer above heard of both");
	sink_room = 0;
	peer_open(&p);
	peer_say(&p, "POST /sink HTTP/1.1\r\nContent-Length: 9\r\n" HOST "abc");
	rest();
	peer_abort(&p);
	ok(poll_until(is_gone, 3), "a hang-up is noticed while nothing is taken");
	server_down();

	server_up(quick);
	peer_open(&p);
	peer_say(&p, "POST /sink HTTP/1.1\r\nContent-Length: 9\r\n" HOST "abc");
	rest();
	/* Far longer than a sender may pause. */
	for (uint64_t from = loop_now(loop); loop_now(loop) < from + 400;)
		tick();
	is_int(gone_n, 0, "a pause of ours is not held against the peer");
	sink_room = SIZE_MAX;
	request_resume_body(parked[0]);
	ok(poll_until(is_sunk, 3), "and it goes on");
	peer_expect_end(&p, "a pause of the peer's");
	ok(peer_has(&p, "408 Request"), "ends it");
	is_int(gone_n, 1, "and is told");
	peer_close(&p);
	server_down();
}

static void test_chunks(void)
{
	struct peer p;

	server_up(usual);
	peer_open(&p);
	peer_say(&p, GET("/pieces") GET("/x"));
	peer_expect(&p,
		"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n"
		"transfer-encoding: chunked\r\n\r\n",
		"the head comes at once");
	ok(poll_until(is_room, 1), "there is room");
	ok(request_write(parked[0], STR("hello")), "a piece");
	ok(request_write(parked[0], STR("")), "nothing is no piece");
	ok(request_write(parked[0], STR("0123456789abcdef")), "another");
	peer_read(&p);
	run_until(&p, has_text, "abcdef\r\n");
	ok(peer_has(&p, "5\r\nhello\r\n10\r\n0123456789abcdef\r\n"), "each a chunk");
	is_int(ready_n, 1, "the next request waits");
	request_end(parked[0]);
	run_until(&p, has_text, "\r\n\r\nok");
	ok(peer_has(&p, "\r\n0\r\n\r\nHTTP/1.1 200"), "the end, then the next");
	peer_close(&p);

	peer_open(&p);
	peer_say(&p, GET("/pieces"));
	ok(poll_until(is_ready, 3), "begun");
	/* Before anything of it is sent. */
	ok(request_write(parked[0], STR("a")), "written at once");
	request_end(parked[0]);
	peer_expect(&p, "chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", "and ended");
	peer_close(&p);
	is_int(gone_n, 0, "nobody has gone");
	server_down();
}

static void test_length(void)
{
	struct peer p;

	server_up(usual);
	peer_open(&p);
	peer_say(&p, GET("/five"));
	peer_expect(&p, "content-length: 5\r\n\r\n", "the length is announced");
	ok(request_write(parked[0], STR("he")), "two");
	ok(request_write(parked[0], STR("llo")), "three");
	request_end(parked[0]);
	peer_expect(&p, "hello", "as they are");
	peer_say(&p, "HEAD /five HTTP/1.1\r\n" HOST);
	peer_expect(&p, "content-length: 5\r\n\r\n", "the same for HEAD");
	ok(request_write(parked[0], STR("hello")), "whose body is thrown away");
	request_end(parked[0]);
	peer_say(&p, GET("/x"));
	run_until(&p, has_text, "\r\n\r\nok");
	ok(str_starts(buf_view(&p.got), STR("HTTP/1.1 200")), "the connection lives");
	peer_close(&p);
	server_down();
}

/* Whatever went wrong, nobody may take half a reply for all of it. */
static void test_cut(void)
{
	struct peer p;

	server_up(usual);
	for (int i = 0; i < 4; i++) {
		peer_open(&p);
		peer_say(&p,
			i == 0          ? GET("/pieces")
				: i < 3 ? GET("/five")
					: "GET /pieces HTTP/1.0\r\n\r\n");
		peer_expect(&p, "\r\n\r\n", "a reply begins");
		if (i == 2)
			ok(!request_write(parked[0], STR("too long")), "too much");
		else
			ok(request_write(parked[0], STR("abc")), "a piece");
		if (i == 0 || i == 3)
			request_abort(parked[0]);
		else if (i == 1)
			request_end(parked[0]);
		run_until(&p, has_ended, NULL);
		is_int(p.err, ECONNRESET, "ends with a reset");
		peer_close(&p);
	}
	is_int(gone_n, 1, "the layer above hears of it unless it has ended it");
	server_down();
}

static void test_old_version(void)
{
	struct peer p;

	server_up(usual);
	peer_open(&p);
	peer_say(&p, "GET /pieces HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
	peer_expect(&p, "\r\n\r\n", "a reply begins");
	ok(!peer_has(&p, "chunked"), "without chunks");
	ok(request_write(parked[0], STR("hello")), "a piece");
	request_end(parked[0]);
	peer_expect_end(&p, "ends with the connection");
	ok(str_eq(buf_view(&p.got), STR("hello")) || peer_has(&p, "\r\n\r\nhello"),
		"as it is");
	is_int(p.err, 0, "in order");
	peer_close(&p);
	server_down();
}

static void test_back_pressure(void)
{
	enum { PIECE = 65536, PIECES = 400 };
	static char piece[PIECE];
	size_t want = (size_t)PIECE * PIECES;
	unsigned written = 0, full = 0;
	struct peer p;

	memset(piece, 'x', sizeof(piece));
	server_up(usual);
	peer_open(&p);
	peer_say(&p, "GET /pieces HTTP/1.0\r\n\r\n");
	ok(poll_until(is_room, 1), "a reply begins");
	while (written < PIECES) {
		unsigned before = room_n;

		written++;
		if (request_write(parked[0], str_make(piece, PIECE)))
			continue;
		full++;
		for (int i = 0; i < 20 && room_n == before; i++)
			tick();
		if (room_n > before)
			continue;
		/* The peer does not read: only now it starts to. */
		peer_read(&p);
		while (room_n == before)
			tick();
	}
	request_end(parked[0]);
	run_until(&p, has_bytes, &want);
	peer_expect_end(&p, "all is there");
	ok(full > 10, "the writer had to wait");
	peer_close(&p);
	server_down();
}

static bool offer(const char *p, size_t n)
{
	offered = str_make(p, n);
	return request_offer(parked[0], n);
}

/* Pieces that the layer above sends itself, among others. */
static void test_offered(void)
{
	struct peer p;

	server_up(usual);
	peer_open(&p);
	peer_say(&p, GET("/pieces") GET("/x"));
	ok(offered.n == 0 && poll_until(is_room, 1), "a reply begins");
	ok(request_write(parked[0], STR("hello")), "a piece");
	hand_most = 3;
	ok(offer("0123456789abcdef", 16), "one that is offered");
	peer_expect(&p, "5\r\nhello\r\n10\r\n0123456789abcdef\r\n", "in order");
	is_int(offered.n, 0, "it was handed out, three bytes at a time");
	ok(poll_until(is_room, 2), "then there is room");
	ok(offer("xyz", 3), "another");
	peer_expect(&p, "3\r\nxyz\r\n", "follows");
	ok(poll_until(is_room, 3), "again");
	ok(request_write(parked[0], STR("end")), "and one more");
	request_end(parked[0]);
	run_until(&p, has_text, "\r\n\r\nok");
	ok(peer_has(&p, "3\r\nend\r\n0\r\n\r\nHTTP/1.1 200"), "the end, then the next");
	buf_reset(&p.got);
	peer_say(&p, GET("/five"));
	peer_expect(&p, "\r\n\r\n", "a reply of five bytes");
	ok(offer("hello", 5), "all at once");
	peer_expect(&p, "hello", "as they are");
	ok(poll_until(is_room, 5), "are sent");
	request_end(parked[0]);
	peer_say(&p, "HEAD /pieces HTTP/1.1\r\n" HOST);
	peer_expect(&p, "\r\n\r\n", "of a reply to HEAD");
	ok(!offer("x", 1), "nothing is handed out");
	ok(request_write(parked[0], STR("x")), "nor sent");
	request_end(parked[0]);
	peer_say(&p, GET("/x"));
	peer_expect(&p, "\r\n\r\nok", "the connection lives");
	is_int(gone_n, 0, "nobody has gone");
	peer_close(&p);
	server_down();
}

/* What cannot be handed out is written, in the chunk that was begun. */
static void test_offer_refused(void)
{
	struct peer p;

	server_up(usual);
	peer_open(&p);
	peer_say(&p, GET("/pieces"));
	peer_expect(&p, "\r\n\r\n", "a reply begins");
	hand_says = -EINVAL;
	ok(offer("0123456789", 10), "a piece is offered");
	ok(poll_until(is_room, 2), "which cannot be handed out");
	ok(!offer("0123456789", 10), "and not offered again");
	ok(request_write(parked[0], STR("0123")), "four bytes");
	peer_expect(&p, "a\r\n0123", "go into its chunk");
	ok(request_write(parked[0], STR("456789abc")), "nine more");
	request_end(parked[0]);
	peer_expect(&p, "456789\r\n3\r\nabc\r\n0\r\n\r\n", "end it, and begin another");
	peer_say(&p, GET("/pieces"));
	peer_expect(&p, "\r\n\r\n", "the next reply");
	hand_says = 1;
	ok(offer("xyz", 3), "tries again");
	peer_expect(&p, "3\r\nxyz\r\n", "and finds that it can");
	request_end(parked[0]);
	peer_close(&p);
	server_down();
}

/* Nobody may take what lacks a piece for all of it. */
static void test_offer_cut(void)
{
	struct peer p;

	server_up(usual);
	for (int i = 0; i < 4; i++) {
		hand_says = i == 0 ? 0 : -EAGAIN;
		peer_open(&p);
		peer_say(&p, i == 3 ? GET("/five") : GET("/pieces"));
		peer_expect(&p, "\r\n\r\n", "a reply begins");
		ok(offer("0123456789", 10), "a piece is offered");
		/* Gone; ended; cut; longer than announced. */
		if (i == 1)
			request_end(parked[0]);
		if (i == 2)
			request_abort(parked[0]);
		peer_read(&p);
		run_until(&p, has_ended, NULL);
		is_int(p.err, ECONNRESET, "ends with a reset");
		peer_close(&p);
	}
	is_int(gone_n, 2, "the layer above hears of it unless it has ended it");
	hand_says = -EPIPE;
	peer_open(&p);
	peer_say(&p, GET("/pieces"));
	peer_expect(&p, "\r\n\r\n", "a reply begins");
	ok(offer("0123456789", 10), "to a peer that has left");
	ok(poll_until(is_gone, 3), "is told above");
	peer_close(&p);
	ok(poll_until(is_count, 0), "no connection is left");
	server_down();
}

/* One that does not read holds up nobody, and not for ever. */
static void test_offer_held_up(void)
{
	enum { MUCH = 32 << 20 };
	static const struct server_conf quick = {.stall_ms = 150, .wait_ms = 60000};
	char *much = calloc(1, MUCH);
	size_t want = MUCH;
	struct peer p, q;

	if (!much)
		abort();
	server_up(usual);
	peer_open(&p);
	peer_say(&p, GET("/five"));
	ok(poll_until(is_room, 1), "a reply begins");
	request_abort(parked[0]);
	peer_close(&p);
	peer_open(&p);
	peer_say(&p, "GET /pieces HTTP/1.0\r\n\r\n");
	ok(poll_until(is_room, 2), "another begins");
	ok(offer(much, MUCH), "more than sockets hold");
	rest();
	ok(offered.n > 0, "is not all sent");
	peer_open(&q);
	peer_say(&q, GET("/x"));
	peer_expect(&q, "\r\n\r\nok", "others are served");
	peer_close(&q);
	peer_read(&p);
	run_until(&p, has_bytes, &want);
	ok(poll_until(is_room, 3), "once it reads it gets all");
	request_end(parked[0]);
	peer_expect_end(&p, "in order");
	peer_close(&p);
	server_down();

	server_up(quick);
	peer_open(&p);
	peer_say(&p, GET("/pieces"));
	ok(poll_until(is_room, 1), "a reply begins");
	ok(offer(much, MUCH), "much of it is offered");
	ok(poll_until(is_gone, 1), "one that never reads is given up");
	peer_close(&p);
	server_down();
	free(much);
}

static void test_hang_up(void)
{
	struct peer p;

	server_up(usual);
	peer_open(&p);
	peer_say(&p, GET("/pieces"));
	ok(poll_until(is_room, 1), "a reply begins");
	peer_abort(&p);
	ok(poll_until(is_gone, 1), "a hang-up between the pieces is told");
	peer_open(&p);
	peer_say(&p, GET("/pieces"));
	ok(poll_until(is_room, 2), "another begins");
	peer_abort(&p);
	ok(request_write(parked[0], STR("hello")), "nobody reads it");
	ok(poll_until(is_gone, 2), "which the write finds out");
	ok(poll_until(is_count, 0), "no connection is left");
	server_down();
}

int main(void)
{
	test_body_held_up(false);
	test_body_held_up(true);
	test_moved_body_ends();
	test_end_held_up();
	test_body_ends();
	test_chunks();
	test_length();
	test_cut();
	test_old_version();
	test_back_pressure();
	test_offered();
	test_offer_refused();
	test_offer_cut();
	test_offer_held_up();
	test_hang_up();
	return done_testing();
}
