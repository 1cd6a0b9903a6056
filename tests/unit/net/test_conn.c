/* One connection and what is said over it. */
#include "tests/support/http_peer.h"

static const struct server_conf usual = {0};

static void test_keep_alive(void)
{
	struct peer p;

	server_up(usual);
	peer_open(&p);
	peer_say(&p, GET("/x"));
	peer_expect(&p,
		"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n"
		"content-length: 2\r\n\r\nok",
		"the whole reply");
	for (int i = 0; i < 3; i++) {
		peer_say(&p, GET("/echo?a=b"));
		peer_expect(
			&p, "\r\n\r\nGET /echo a=b h ", "another on the same connection");
	}
	is_int(server_count_conns(server), 1, "one connection");
	peer_say(&p, "GET /x HTTP/1.1\r\nConnection: close\r\n" HOST);
	peer_expect_end(&p, "close is obeyed");
	ok(peer_has(&p, "connection: close\r\n"), "and announced");
	peer_close(&p);
	ok(poll_until(is_count, 0), "the connection is gone");
	server_down();
}

static void test_pipelining(void)
{
	enum { MANY = 200 };
	struct buf out = BUF_INIT(1 << 20);
	struct peer p;
	char last[64];
	bool good = true;
	size_t at = 0;

	server_up(usual);
	for (int i = 0; i < MANY; i++)
		buf_fmt(&out,
			"POST /echo?%d HTTP/1.1\r\nHost: h\r\n"
			"Content-Length: 3\r\n\r\nb%02d",
			i, i % 100);
	peer_open(&p);
	peer_put(&p, out.p, out.n);
	peer_read(&p);
	snprintf(last, sizeof(last), "/echo %d h b%02d", MANY - 1, (MANY - 1) % 100);
	ok(run_until(&p, has_text, last), "all are answered");
	for (int i = 0; i < MANY && good; i++) {
		char want[64];

		snprintf(want, sizeof(want), "/echo %d h b%02d", i, i % 100);
		at += str_find(str_skip(buf_view(&p.got), at), str_c(want));
		good = at < p.got.n;
	}
	ok(good, "in order");
	is_int(ready_n, MANY, "each once");
	is_int(deepest, 1, "never one inside another");
	buf_free(&out);
	peer_close(&p);
	server_down();
}

static void test_bytewise(void)
{
	static const char text[] = "POST /echo?q HTTP/1.1\r\nHost: h\r\n"
				   "Transfer-Encoding: chunked\r\n\r\n"
				   "3;x\r\nabc\r\n2\r\nde\r\n0\r\nT: v\r\n\r\n" GET("/y");
	struct peer p;

	server_up(usual);
	peer_open(&p);
	for (size_t i = 0; i < sizeof(text) - 1; i++) {
		peer_put(&p, text + i, 1);
		tick();
	}
	peer_read(&p);
	run_until(&p, has_text, "\r\n\r\nok");
	ok(peer_has(&p, "POST /echo q h abcde"), "a request byte by byte");
	ok(peer_has(&p, "\r\n\r\nok"), "and the next");
	peer_close(&p);
	server_down();
}

static void test_bodies(void)
{
	enum { BIG = 300000 };
	struct buf b = BUF_INIT(1 << 20);
	struct peer p;

	server_up(usual);
	peer_open(&p);
	peer_say(&p,
		"POST /echo HTTP/1.1\r\nContent-Length: 5\r\nHost: h\r\n\r\nhello" GET(
			"/x"));
	peer_expect(&p, "\r\n\r\nok", "a body, then a request");

	/* Larger than every buffer on the way, with what follows at its heels. */
	buf_fmt(&b, "POST /echo?q%%41 HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n",
		BIG);
	for (int i = 0; i < BIG; i++)
		buf_putc(&b, (char)('a' + i % 26));
	buf_puts(&b, GET("/x"));
	peer_read(&p);
	for (size_t at = 0; at < b.n;) {
		ssize_t n = send(p.fd, b.p + at, b.n - at, MSG_NOSIGNAL);

		if (n > 0)
			at += (size_t)n;
		tick();
	}
	run_until(&p, has_text, "\r\n\r\nok");
	ok(peer_has(&p, "POST /echo q%41 h abcdef"),
		"the strings of a long request hold");
	ok(peer_has(&p, "content-length: 300018\r\n"), "all of its body came");
	ok(peer_has(&p, "\r\n\r\nok"), "the next request was found behind it");
	buf_free(&b);
	peer_close(&p);
	server_down();
}

/* Each speaks on a new connection and is answered with status and a close. */
struct refusal {
	const char *say, *status, *words;
};

static const struct refusal refusals[] = {
	{"GET / HTTP/1.1\r\n\r\n", "400 Bad Request", "The Host header is missing."},
	{"GET / HTTP/1.1\nHost: h\n\n", "400 Bad Request", "CRLF"},
	{"\x16\x03\x01", "400 Bad Request", "not an HTTP request"},
	{"GET /%zz HTTP/1.1\r\n" HOST, "400 Bad Request", "escape"},
	{"GET /a%00b HTTP/1.1\r\n" HOST, "400 Bad Request", "escape"},
	{"GET / HTTP/2.0\r\n", "505 HTTP Version", "HTTP/1.1"},
	{"POST /echo HTTP/1.1\r\nTransfer-Encoding: gzip\r\n" HOST, "501 Not Impl",
		"chunked"},
	{"POST /echo HTTP/1.1\r\nExpect: x\r\n" HOST, "417 Expectation", "100-continue"},
	{"POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" HOST "x", "400 Bad",
		"chunk"},
	{"POST /small HTTP/1.1\r\nContent-Length: 11\r\n" HOST, "413 Content",
		"too large"},
	{"POST /none HTTP/1.1\r\nContent-Length: 1\r\n" HOST, "413 Content", "too large"},
	{"POST /small HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" HOST "b\r\n0123456789a",
		"413 Content", "too large"},
	{"POST /small HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" HOST
	 "a\r\n0123456789\r\n1\r\na",
		"413 Content", "too large"},
	{"POST /forbidden HTTP/1.1\r\nContent-Length: 9\r\n" HOST "x", "403 Forbidden",
		"{\"detail\":\"No \\\"way\\\".\"}"},
};

static void test_refusals(void)
{
	static char line[9000];
	struct peer p;

	server_up(usual);
	for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
		const struct refusal *r = &refusals[i];

		peer_open(&p);
		peer_say(&p, r->say);
		peer_expect_end(&p, r->words);
		ok(peer_has(&p, r->status) && peer_has(&p, r->words) &&
				peer_has(&p, "connection: close\r\n") &&
				peer_has(&p, "\r\n\r\n{\"detail\":\""),
			"status, words and close of %zu", i);
		peer_close(&p);
	}
	is_int(gone_n, 5, "the layer above heard of those it had let in");
	is_int(ready_n, 0, "and got none of them");

	memset(line, 'a', sizeof(line));
	memcpy(line, "GET /", 5);
	peer_open(&p);
	peer_put(&p, line, sizeof(line));
	peer_expect_end(&p, "an endless line");
	ok(peer_has(&p, "HTTP/1.1 414 URI Too Long\r\n"), "is 414");
	peer_close(&p);
	server_down();
}

static void test_head_answers(void)
{
	struct peer p;

	server_up(usual);
	peer_open(&p);
	peer_say(&p, GET("/forbidden"));
	peer_expect(
		&p, "{\"detail\":\"No \\\"way\\\".\"}", "answered by the head callback");
	peer_say(&p, "HEAD /x HTTP/1.1\r\n" HOST);
	peer_expect(&p, "content-length: 2\r\n\r\n", "HEAD has no body");
	peer_say(&p, GET("/empty"));
	peer_expect(&p, "HTTP/1.1 204 No Content\r\n\r\n", "204 has neither");
	peer_say(&p, GET("/moved"));
	peer_expect(&p, "content-length: 0\r\nlocation: /echo\r\n\r\n", "another header");
	peer_say(&p, GET("/split"));
	peer_expect(
		&p, "{\"detail\":\"The reply is malformed.\"}", "no header injection");
	peer_say(&p, GET("/overflow"));
	peer_expect(&p, "{\"detail\":\"The reply is too large.\"}", "reply over its cap");
	peer_say(&p, "OPTIONS * HTTP/1.1\r\n" HOST);
	peer_expect(&p, "\r\n\r\nok", "and the connection lives");
	is_int(gone_n, 0, "nobody has gone");
	peer_close(&p);
	server_down();
}

static void test_expect(void)
{
	struct peer p;

	server_up(usual);
	peer_open(&p);
	peer_say(&p,
		"POST /echo HTTP/1.1\r\nExpect: 100-continue\r\n"
		"Content-Length: 2\r\n" HOST);
	peer_expect(&p, "HTTP/1.1 100 Continue\r\n\r\n", "invited");
	peer_say(&p, "a");
	tick();
	peer_say(&p, "b");
	run_until(&p, has_text, "h ab");
	ok(!peer_has(&p, "100 Continue") && peer_has(&p, "200 OK"), "once");
	buf_reset(&p.got);
	peer_say(&p,
		"POST /echo HTTP/1.1\r\nExpect: 100-continue\r\n"
		"Content-Length: 2\r\n" HOST "a");
	tick();
	peer_say(&p, "b");
	run_until(&p, has_text, "h ab");
	ok(!peer_has(&p, "100 Continue"), "not when the body is on its way");
	buf_reset(&p.got);
	peer_say(&p,
		"POST /small HTTP/1.1\r\nExpect: 100-continue\r\n"
		"Content-Length: 11\r\n" HOST);
	peer_expect_end(&p, "too large");
	ok(!peer_has(&p, "100 Continue") && peer_has(&p, "413"), "is not invited");
	peer_close(&p);
	server_down();
}

static void test_old_version(void)
{
	struct peer p;

	server_up(usual);
	peer_open(&p);
	peer_say(&p, "GET /echo HTTP/1.0\r\n\r\n");
	peer_expect_end(&p, "1.0 closes");
	ok(peer_has(&p, "GET /echo  - ") && peer_has(&p, "connection: close\r\n"),
		"with an answer, without Host");
	peer_close(&p);
	peer_open(&p);
	for (int i = 0; i < 2; i++) {
		peer_say(&p, "GET /x HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
		peer_expect(
			&p, "connection: keep-alive\r\n\r\nok", "unless asked not to");
	}
	peer_close(&p);
	server_down();
}

static void test_half_close(void)
{
	struct peer p;

	server_up(usual);
	peer_open(&p);
	peer_say(&p, GET("/later"));
	shutdown(p.fd, SHUT_WR);
	ok(poll_until(is_parked, 1), "the request is running");
	for (int i = 0; i < 5; i++)
		tick();
	is_int(gone_n, 0, "half a close is no hang-up");
	buf_puts(request_out(parked[0]), "at last");
	request_reply(parked[0], 200, NULL);
	peer_expect_end(&p, "answered, then closed");
	ok(peer_has(&p, "\r\n\r\nat last"), "the late reply");
	peer_close(&p);

	peer_open(&p);
	peer_say(&p, "GET / HT");
	shutdown(p.fd, SHUT_WR);
	peer_expect_end(&p, "half a request");
	ok(peer_has(&p, "400 Bad Request") && peer_has(&p, "incomplete"), "is told so");
	peer_close(&p);

	peer_open(&p);
	peer_say(&p, "POST /echo HTTP/1.1\r\nContent-Length: 5\r\n" HOST "abc");
	shutdown(p.fd, SHUT_WR);
	peer_expect_end(&p, "half a body");
	ok(peer_has(&p, "400 Bad Request") && peer_has(&p, "incomplete"), "is told so");
	is_int(gone_n, 1, "and so is the layer above");
	peer_close(&p);

	peer_open(&p);
	shutdown(p.fd, SHUT_WR);
	peer_expect_end(&p, "no request");
	is_int((long long)p.got.n, 0, "gets no answer");
	peer_close(&p);
	server_down();
}

static void test_hang_up(void)
{
	struct peer p, q;

	server_up(usual);
	peer_open(&p);
	peer_say(&p, GET("/later"));
	ok(poll_until(is_parked, 1), "the request is running");
	peer_abort(&p);
	ok(poll_until(is_gone, 1), "a reset is reported");
	ok(poll_until(is_count, 0), "and ends the connection");

	/* A reset that is noticed only by the write. */
	peer_open(&p);
	peer_say(&p, GET("/later"));
	ok(poll_until(is_parked, 2), "another is running");
	peer_abort(&p);
	buf_puts(request_out(parked[1]), "nobody listens");
	request_reply(parked[1], 200, NULL);
	ok(poll_until(is_count, 0), "no SIGPIPE");
	is_int(gone_n, 1, "after the answer nothing is reported");

	peer_open(&p);
	peer_say(&p, "POST /later HTTP/1.1\r\nContent-Length: 100\r\n" HOST "abc");
	for (int i = 0; i < 5; i++)
		tick();
	peer_abort(&p);
	ok(poll_until(is_gone, 2), "a reset within the body is reported");

	peer_open(&q);
	peer_say(&q, GET("/x"));
	peer_expect(&q, "\r\n\r\nok", "others are served");
	peer_close(&q);
	server_down();
}

static void test_late_and_pipelined(void)
{
	struct peer p;

	server_up(usual);
	peer_open(&p);
	peer_say(&p, GET("/later") GET("/x"));
	ok(poll_until(is_parked, 1), "the first is running");
	for (int i = 0; i < 5; i++)
		tick();
	is_int(ready_n, 1, "the second waits");
	/* The same, with bytes in the socket instead of the buffer. */
	peer_say(&p, GET("/y"));
	tick();
	buf_puts(request_out(parked[0]), "1st");
	request_reply(parked[0], 200, NULL);
	is_int(ready_n, 1, "not started inside the answer of the first");
	peer_read(&p);
	run_until(&p, has_text, "\r\n\r\n1st");
	while (ready_n < 3)
		tick();
	run_until(&p, has_text, "\r\n\r\nok");
	is_int(ready_n, 3, "all three served");
	ok(peer_has(&p, "\r\n\r\n1stHTTP/1.1 200"), "in order");
	peer_close(&p);
	server_down();
}

/* The peer reads nothing until the socket is full, then everything. */
static void test_big_reply(void)
{
	enum { SIZE = 20000000 };
	size_t want = SIZE;
	struct peer p;
	bool good = true;
	size_t at;

	server_up(usual);
	peer_open(&p);
	peer_say(&p, GET("/big?n=20000000") GET("/x"));
	while (ready_n == 0)
		tick();
	for (int i = 0; i < 200; i++)
		tick();
	is_int(ready_n, 1, "the next request waits for the reply");
	peer_read(&p);
	run_until(&p, has_bytes, &want);
	run_until(&p, has_text, "\r\n\r\nok");
	at = str_find(buf_view(&p.got), STR("\r\n\r\n")) + 4;
	for (size_t i = 0; i < SIZE && good; i++)
		good = p.got.p[at + i] == (char)('a' + i % 26);
	ok(good, "every byte is there");
	ok(peer_has(&p, "\r\n\r\nok"), "and the next reply behind it");
	peer_close(&p);
	server_down();
}

int main(void)
{
	test_keep_alive();
	test_pipelining();
	test_bytewise();
	test_bodies();
	test_refusals();
	test_head_answers();
	test_expect();
	test_old_version();
	test_half_close();
	test_hang_up();
	test_late_and_pipelined();
	test_big_reply();
	return done_testing();
}
