#include "codec/zmtp.h"
#include "limits.h"
#include "tests/tap.h"

#include <stdlib.h>

#define GREETING \
	"\xff\0\0\0\0\0\0\0\1\x7f\3\1NULL\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0" \
	"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
#define READY_ROUTER "\4\x29\5READY\x0bSocket-Type\0\0\0\6ROUTER\x08Identity\0\0\0\0"
#define READY_PUB "\4\x19\5READY\x0bsocket-type\0\0\0\3PUB"
#define READY_REP "\4\x19\5ready\x0bSocket-Type\0\0\0\3REP"
#define HELLO_ROUTER GREETING READY_ROUTER

/* What is handed out, as text: "R", "[a|b]", "L:n", "BAD:why:said". */
static void feed(struct zmtp *z, const char *p, size_t n, struct buf *seen)
{
	/* Flush against the end of an allocation. */
	char *exact = malloc(n + !n);
	struct str in = str_make(exact, n);
	struct zmtp_message m;
	enum zmtp_step step;

	if (n)
		memcpy(exact, p, n);
	while ((step = zmtp_next(z, &in, &m)) != ZMTP_MORE && step != ZMTP_FAILED) {
		if (step == ZMTP_READY)
			buf_puts(seen, "R");
		if (step == ZMTP_DROPPED)
			buf_fmt(seen, "L:%llu", (unsigned long long)m.bytes);
		if (step != ZMTP_MESSAGE)
			continue;
		buf_puts(seen, "[");
		for (size_t i = 0; i < m.parts_n; i++) {
			buf_puts(seen, i ? "|" : "");
			buf_str(seen, m.parts[i]);
		}
		buf_puts(seen, "]");
	}
	if (step == ZMTP_FAILED)
		buf_fmt(seen, "BAD:%s:%.*s", z->reason, STR_ARG(z->peer_reason));
	free(exact);
}

/* The same whole, byte by byte and cut in two at each place; what was sent in out. */
static void check(enum zmtp_type type, struct str in, const char *want, struct buf *out,
	const char *name)
{
	struct buf seen = BUF_INIT(1 << 20);
	struct zmtp z;
	size_t wrong = 0;

	zmtp_init(&z, type, STR("me"));
	feed(&z, in.p, in.n, &seen);
	is_view(buf_view(&seen), want, "%s", name);
	if (out)
		buf_str(out, buf_view(&z.out));
	zmtp_free(&z);
	for (size_t at = 0; at <= in.n; at++) {
		buf_reset(&seen);
		zmtp_init(&z, type, STR("me"));
		feed(&z, in.p, at, &seen);
		if (z.state != ZMTP_S_FAILED)
			feed(&z, in.p + at, in.n - at, &seen);
		wrong += !str_eq(buf_view(&seen), str_c(want));
		zmtp_free(&z);
	}
	buf_reset(&seen);
	zmtp_init(&z, type, STR("me"));
	for (size_t at = 0; at < in.n && z.state != ZMTP_S_FAILED; at++)
		feed(&z, in.p + at, 1, &seen);
	wrong += !str_eq(buf_view(&seen), str_c(want));
	zmtp_free(&z);
	is_int(wrong, 0, "%s, however it is cut", name);
	buf_free(&seen);
}

#define CHECK(type, in, want, name) check(type, STR(in), want, NULL, name)

static void test_handshake(void)
{
	struct buf out = BUF_INIT(4096);
	static const char hello[] =
		"\xff\0\0\0\0\0\0\0\0\x7f\3\0NULL\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
		"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
	static const char ready[] =
		"\4\x2b\5READY\x0bSocket-Type\0\0\0\6DEALER\x08Identity\0\0\0\2me";
	static const char sub[] = "\4\x19\5READY\x0bSocket-Type\0\0\0\3SUB\0\1\1";
	struct zmtp z;

	is_int(sizeof(hello) - 1, 64, "a greeting has 64 bytes");
	zmtp_init(&z, ZMTP_DEALER, STR("me"));
	is_mem(z.out.p, z.out.n, hello, 64, "ours is sent at once");
	zmtp_free(&z);
	check(ZMTP_DEALER, STR(HELLO_ROUTER), "R", &out, "a router's hello");
	is_mem(out.p + 64, out.n - 64, ready, sizeof(ready) - 1, "READY of a dealer");
	buf_reset(&out);
	check(ZMTP_SUB, STR(GREETING READY_PUB), "R", &out, "a publisher's hello");
	is_mem(out.p + 64, out.n - 64, sub, sizeof(sub) - 1,
		"READY of a subscriber, and its subscription");
	CHECK(ZMTP_REQ, GREETING READY_REP, "R", "a replier's hello");
	CHECK(ZMTP_SUB, GREETING "\4\x1a\5READY\x0bSocket-Type\0\0\0\4XPUB", "R",
		"an XPUB's");
	CHECK(ZMTP_SUB, GREETING "\6\0\0\0\0\0\0\0\x19\5READY\x0bSocket-Type\0\0\0\3PUB",
		"R", "a READY with a long size");
	buf_free(&out);
}

static void test_messages(void)
{
	CHECK(ZMTP_DEALER, HELLO_ROUTER "\0\3abc", "R[abc]", "one part");
	CHECK(ZMTP_DEALER, HELLO_ROUTER "\1\1a\1\0\0\2bc\0\0", "R[a||bc][]",
		"several, some empty");
	CHECK(ZMTP_DEALER, HELLO_ROUTER "\2\0\0\0\0\0\0\0\2ab", "R[ab]",
		"a long size for little");
	CHECK(ZMTP_DEALER, HELLO_ROUTER "\1\1a\4\7\4PING\0\1\0\1b", "R[a|b]",
		"a PING between two parts");
	CHECK(ZMTP_DEALER, HELLO_ROUTER "\4\6\5OTHER\0\1b", "R[b]",
		"an unknown command is passed over");
	CHECK(ZMTP_REQ, GREETING READY_REP "\1\0\0\4ping", "R[ping]", "a reply to a REQ");
	CHECK(ZMTP_REQ, GREETING READY_REP "\0\4ping",
		"RBAD:a reply does not begin with an empty part:",
		"one without its mark");
	CHECK(ZMTP_REQ, GREETING READY_REP "\0\0",
		"RBAD:a reply does not begin with an empty part:",
		"nothing but its mark");
}

static void test_ping(void)
{
	struct buf out = BUF_INIT(4096);
	static const char pong[] = "\4\x09\4PONGabcd";

	check(ZMTP_DEALER, STR(HELLO_ROUTER "\4\x0b\4PING\0\1abcd"), "R", &out, "a PING");
	is_mem(out.p + out.n - sizeof(pong) + 1, sizeof(pong) - 1, pong, sizeof(pong) - 1,
		"its context comes back");
	buf_free(&out);
}

static void test_refused(void)
{
	static const struct {
		struct str in;
		const char *want, *name;
	} cases[] = {
		{STR("HTTP/1.1 200 OK"), "BAD:it does not greet as ZeroMQ does:", "HTTP"},
		{STR("\xff\0\0\0\0\0\0\0\1\x7e"), "BAD:it does not greet as ZeroMQ does:",
			"the end of the signature"},
		{STR("\xff\0\0\0\0\0\0\0\1\x7f\1"),
			"BAD:it speaks a version of ZMTP before 3.0:", "ZMTP 2"},
		{STR("\xff\0\0\0\0\0\0\0\1\x7f\3\0PLAIN"),
			"BAD:it wants another security mechanism than NULL:", "PLAIN"},
		{STR("\xff\0\0\0\0\0\0\0\1\x7f\3\0NULLS"),
			"BAD:it wants another security mechanism than NULL:", "NULLS"},
		{STR("\xff\0\0\0\0\0\0\0\1\x7f\3\0NULL\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
		     "\2"),
			"BAD:its greeting is neither that of a client nor of a server:",
			"as-server"},
		{STR(GREETING "\x08"),
			"BAD:a frame has flags that do not exist:", "flags"},
		{STR(GREETING "\5"), "BAD:a command is said to go on:", "MORE"},
		{STR(GREETING "\0"),
			"BAD:a message comes before READY:", "early message"},
		{STR(GREETING "\4\6\4PONGx"),
			"BAD:another command comes before READY:", "early command"},
		{STR(GREETING "\6\0\0\0\0\0\0\x10\1"),
			"BAD:a command is too large:", "4097 bytes of command"},
		{STR(HELLO_ROUTER "\2\x80\0\0\0\0\0\0\0"),
			"RBAD:a frame is larger than frames can be:", "2^63 bytes"},
		{STR(GREETING "\4\0"), "BAD:a command has no name:", "empty command"},
		{STR(GREETING "\4\1\0"), "BAD:a command has no name:", "empty name"},
		{STR(GREETING "\4\3\5RE"),
			"BAD:a command has no name:", "name cut short"},
		{STR(GREETING "\4\6\5READY"),
			"BAD:its socket type does not go with ours:", "no type"},
		{STR(GREETING "\4\x19\5READY\x0bSocket-Type\0\0\0\3PUB"),
			"BAD:its socket type does not go with ours:PUB", "PUB to DEALER"},
		{STR(GREETING "\4\x0a\5READY\x0bSoc"),
			"BAD:the properties of READY are cut short:", "name of property"},
		{STR(GREETING "\4\7\5READY\0"),
			"BAD:the properties of READY are cut short:", "empty property"},
		{STR(GREETING "\4\x0d\5READY\1a\0\0\0\2b"),
			"BAD:the properties of READY are cut short:",
			"value of property"},
		{STR(GREETING "\4\x0b\5READY\1a\xff\xff\xff"),
			"BAD:the properties of READY are cut short:", "size of property"},
		{STR(GREETING "\4\x2f\5READY\x0bSocket-Type\0\0\0\3REP"
			      "\x0bSOCKET-TYPE\0\0\0\6ROUTER"),
			"BAD:READY names two socket types:", "two types"},
		{STR(HELLO_ROUTER READY_ROUTER), "RBAD:a second READY:", "READY twice"},
		{STR(GREETING "\4\x0a\5ERROR\3no!"), "BAD:it gives up:no!", "ERROR"},
		{STR(HELLO_ROUTER "\4\x0a\5ERROR\2no!"),
			"RBAD:an ERROR of the wrong length:", "ERROR of other length"},
		{STR(HELLO_ROUTER "\4\6\4PING\0"),
			"RBAD:a PING of the wrong length:", "PING too short"},
		{STR(HELLO_ROUTER "\4\x18\4PING\0\1abcdefghijklmnopq"),
			"RBAD:a PING of the wrong length:", "PING too long"},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		check(ZMTP_DEALER, cases[i].in, cases[i].want, NULL, cases[i].name);
}

/* A peer's bytes that are made as they are needed. */
static void feed_part(struct zmtp *z, struct buf *seen, unsigned flags, uint64_t n)
{
	static const char zeros[65536];
	char head[9] = {(char)(flags | 2)};

	for (int i = 0; i < 8; i++)
		head[1 + i] = (char)(n >> (56 - 8 * i));
	feed(z, head, 9, seen);
	for (uint64_t k; n > 0; n -= k) {
		k = n < sizeof(zeros) ? n : sizeof(zeros);
		feed(z, zeros, (size_t)k, seen);
	}
}

static void test_caps(void)
{
	struct buf seen = BUF_INIT(80 << 20);
	struct zmtp z;

	zmtp_init(&z, ZMTP_DEALER, STR(""));
	feed(&z, HELLO_ROUTER, sizeof(HELLO_ROUTER) - 1, &seen);
	buf_reset(&seen);
	feed_part(&z, &seen, 0, ZMTP_MESSAGE_MAX);
	is_int(seen.n, ZMTP_MESSAGE_MAX + 2, "a message of the largest size");
	buf_reset(&seen);
	feed_part(&z, &seen, 1, ZMTP_MESSAGE_MAX);
	feed_part(&z, &seen, 1, 1);
	ok(z.in.cap <= 2 * ZMTP_MESSAGE_MAX, "of a larger one nothing is kept");
	feed(&z, "\4\7\4PING\0\1", 9, &seen);
	feed_part(&z, &seen, 0, 7);
	is_view(buf_view(&seen), "L:33554440", "and its end is told");
	buf_reset(&seen);
	feed(&z, "\0\1x", 3, &seen);
	is_view(buf_view(&seen), "[x]", "the next one comes as ever");
	ok(z.in.cap <= ZMTP_KEEP_MAX, "in a small buffer");
	buf_reset(&seen);
	for (int i = 0; i < ZMTP_PARTS_MAX; i++)
		feed(&z, "\1\1y", 3, &seen);
	feed(&z, "\0\1y", 3, &seen);
	is_view(buf_view(&seen), "L:65", "too many parts");
	zmtp_free(&z);
	buf_free(&seen);
}

static void test_send(void)
{
	static const char want[] = "\1\1a\1\0\2\0\0\0\0\0\0\1\0";
	static const char want_req[] = "\1\0\0\4ping";
	static char large[256];
	struct str parts[] = {STR("a"), STR(""), {large, sizeof(large)}};
	struct str ping = STR("ping");
	struct buf seen = BUF_INIT(1 << 20);
	struct zmtp z;

	zmtp_init(&z, ZMTP_DEALER, STR(""));
	feed(&z, HELLO_ROUTER, sizeof(HELLO_ROUTER) - 1, &seen);
	buf_reset(&z.out);
	zmtp_send(&z, parts, 3);
	is_int(z.out.n, sizeof(want) - 1 + 256, "size of a message of three parts");
	is_mem(z.out.p, sizeof(want) - 1, want, sizeof(want) - 1, "short and long sizes");
	buf_consume(&z.out, z.out.n);
	for (int i = 0; i < 100000; i++)
		feed(&z, "\4\7\4PING\0\1", 9, &seen);
	ok(z.out.n <= 2 * ZMTP_COMMAND_MAX, "pings alone do not fill the memory");
	zmtp_free(&z);
	zmtp_init(&z, ZMTP_REQ, STR(""));
	feed(&z, GREETING READY_REP, sizeof(GREETING READY_REP) - 1, &seen);
	buf_reset(&z.out);
	zmtp_send(&z, &ping, 1);
	is_mem(z.out.p, z.out.n, want_req, sizeof(want_req) - 1,
		"a request's empty part");
	zmtp_free(&z);
	buf_free(&seen);
}

int main(void)
{
	test_handshake();
	test_messages();
	test_ping();
	test_refused();
	test_caps();
	test_send();
	return done_testing();
}
