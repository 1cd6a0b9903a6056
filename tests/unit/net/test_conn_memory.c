/* Bodies for which memory is, or is not, available. */
#include "tests/support/http_peer.h"

/* Sends n bytes of a body; the server reads between them. */
static void say_many(struct peer *p, size_t n)
{
	static const char zeros[32768];

	for (; n; n -= n < sizeof(zeros) ? n : sizeof(zeros)) {
		peer_put(p, zeros, n < sizeof(zeros) ? n : sizeof(zeros));
		tick();
	}
}

/* Opens a connection and sends a head that announces a body. */
static void say_head(struct peer *p, const char *path, size_t length, const char *field)
{
	char head[256];

	snprintf(head, sizeof(head), "POST %s HTTP/1.1\r\nContent-Length: %zu\r\n%s" HOST,
		path, length, field);
	peer_open(p);
	peer_say(p, head);
}

static void expect_no_memory(struct peer *p, const char *name)
{
	peer_expect_end(p, name);
	ok(str_starts(buf_view(&p->got), STR("HTTP/1.1 503 ")), "the answer is 503");
	ok(peer_has(p, "\r\nretry-after: 1\r\n"), "the answer has Retry-After");
	ok(peer_has(p, "free memory for a request body"), "the answer names the cause");
	is_int(ready_n, 0, "the request does not reach its handler");
	is_int(gone_n, 1, "the layer above is notified");
	peer_close(p);
}

static void test_memory_of_length(void)
{
	enum { LARGE = HTTP_BODY_STEP + 1 };
	struct peer p;

	server_up((struct server_conf){0});
	memory = 2 * LARGE - 1;
	say_head(&p, "/echo", LARGE, "Expect: 100-continue\r\n");
	expect_no_memory(&p, "a large body is refused before it is sent");
	is_int((long long)memory_asked, 2 * LARGE, "memory for two copies is needed");
	server_down();

	server_up((struct server_conf){0});
	memory = 2 * LARGE;
	say_head(&p, "/later", LARGE, "");
	say_many(&p, LARGE);
	ok(poll_until(is_parked, 1), "a large body is taken if there is memory");
	peer_close(&p);
	server_down();

	server_up((struct server_conf){0});
	memory = 0;
	say_head(&p, "/later", LARGE - 1, "");
	say_many(&p, LARGE - 1);
	ok(poll_until(is_parked, 1), "a small body is taken without memory");
	is_int((long long)memory_asked, 0, "a small body asks for no memory");
	peer_close(&p);
	server_down();
}

static bool is_asked(struct peer *p, const void *arg)
{
	(void)p;
	return memory_asked <= *(const unsigned *)arg;
}

/* Other bodies, or commands, may take the memory meanwhile. */
static void test_memory_lost(void)
{
	enum { LARGE = 1 << 20 };
	struct peer p;

	server_up((struct server_conf){0});
	say_head(&p, "/echo", LARGE, "");
	say_many(&p, LARGE / 2);
	ok(poll_until(is_asked, 2 * LARGE - HTTP_BODY_STEP),
		"a body that grows asks again, less what is held");
	memory = 0;
	say_many(&p, HTTP_BODY_STEP + 1);
	expect_no_memory(&p, "a body is refused when memory runs out in its middle");
	server_down();
}

static void test_memory_of_chunks(void)
{
	static const char chunk[] = "POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked"
				    "\r\n" HOST "100000\r\n";
	struct peer p;

	server_up((struct server_conf){0});
	memory = 4 * HTTP_BODY_STEP;
	peer_open(&p);
	peer_say(&p, chunk);
	say_many(&p, HTTP_BODY_STEP);
	is_int((long long)memory_asked, 0, "chunks up to a step ask for no memory");
	say_many(&p, HTTP_BODY_STEP / 2);
	ok(memory_asked > 0 && memory_asked <= memory, "the next chunk asks for memory");
	say_many(&p, HTTP_BODY_STEP);
	expect_no_memory(&p, "a body in chunks is refused when it needs too much");
	server_down();
}

static void test_memory_of_streams(void)
{
	enum { LARGE = 2 * HTTP_BODY_STEP };
	struct peer p;

	server_up((struct server_conf){0});
	memory = 0;
	sink_room = LARGE;
	say_head(&p, "/sink", LARGE, "");
	say_many(&p, LARGE);
	peer_expect(&p, "\r\n\r\n524288 bytes", "a body that streams is taken");
	is_int((long long)memory_asked, 0, "a body that streams asks for no memory");
	peer_close(&p);
	server_down();
}

int main(void)
{
	test_memory_of_length();
	test_memory_lost();
	test_memory_of_chunks();
	test_memory_of_streams();
	return done_testing();
}
