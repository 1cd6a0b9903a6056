#include "base/buf.h"
#include "codec/http/http.h"
#include "tests/tap.h"

#include <stdlib.h>

struct row {
	unsigned status; /* 0: accepted */
	const char *p;
	size_t n;
};

#define ROW(status, text) \
	{ \
		(status), (text), sizeof(text) - 1 \
	}
/* A head with nothing wrong but what is given. */
#define WITH(status, lines) ROW(status, "GET / HTTP/1.1\r\nHost: a\r\n" lines "\r\n")
#define TARGET(status, t) ROW(status, "GET " t " HTTP/1.1\r\nHost: a\r\n\r\n")
#define HOST(status, h) ROW(status, "GET / HTTP/1.1\r\nHost:" h "\r\n\r\n")
#define VERSION(status, v) ROW(status, "GET / " v "\r\nHost: a\r\n\r\n")

static const struct row rows[] = {
	/* Plain good ones. */
	WITH(0, ""),
	WITH(0, "User-Agent: curl/7.88.1\r\nAccept: */*\r\n"),
	ROW(0,
		"POST /execute_action HTTP/1.1\r\nHost: localhost:3000\r\n"
		"Content-Type: application/json\r\nContent-Length: 2\r\n\r\n"),
	ROW(0, "GET / HTTP/1.0\r\n\r\n"),
	ROW(0, "GET / HTTP/1.0\r\nHost: a\r\n\r\n"),
	ROW(0, "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"),
	ROW(0, "M!#$%&'*+-.^_`|~ / HTTP/1.1\r\nHost: a\r\n\r\n"),
	WITH(0, "X-Empty:\r\n"),
	WITH(0, "X-Blank: \t \r\n"),
	WITH(0, "X-Obs: \xc3\xa9\xff\r\n"),
	WITH(0, "X:\ta\tb\t\r\n"),
	WITH(0, "X: a:b:c\r\n"),
	WITH(0, "!#$%&'*+-.^_`|~09: x\r\n"),
	WITH(0, "X: 1\r\nX: 2\r\n"),

	/* Lines and their ends. */
	ROW(400, "\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"),
	ROW(400, "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"),
	ROW(400, "\rGET / HTTP/1.1\r\nHost: a\r\n\r\n"),
	ROW(400, "\r\rGET / HTTP/1.1\r\nHost: a\r\n\r\n"),
	ROW(400, " GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
	ROW(400, "GET / HTTP/1.1\nHost: a\n\n"),
	ROW(400, "GET / HTTP/1.1\nHost: a\r\n\r\n"),
	ROW(400, "GET / HTTP/1.1\r\nHost: a\n\r\n"),
	ROW(400, "GET / HTTP/1.1\r\nHost: a\r\n\n"),
	ROW(400, "GET / HTTP/1.1\r\r\nHost: a\r\n\r\n"),
	ROW(400, "GET / HTTP/1.1\rHost: a\r\n\r\n"),
	ROW(400, "GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n"),
	ROW(400, "GET / HTTP/1.1\r\nHost: a\r\r\n\r\n"),
	ROW(400, "GET / HTTP/1.1\r\nHost: a\r\n\r\r\n"),
	WITH(400, "X: a\0b\r\n"),
	WITH(400, "X: a\x01\r\n"),
	WITH(400, "X: a\x0b\r\n"),
	WITH(400, "X: a\x0c\r\n"),
	WITH(400, "X: a\x1b\r\n"),
	WITH(400, "X: a\x7f\r\n"),
	WITH(400, "X: a\r\n b\r\n"),
	WITH(400, "X: a\r\n\tb\r\n"),
	WITH(400, "X: a\r\n \r\n"),
	ROW(400, "GET / HTTP/1.1\r\n Host: a\r\n\r\n"),
	ROW(400, "GET / HTTP/1.1\r\n\tX: y\r\nHost: a\r\n\r\n"),
	ROW(400, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),
	ROW(400, "\x80\x2e\x01\x03\x01"),
	ROW(400, "{\"a\": 1}\r\n\r\n"),

	/* The request line. */
	ROW(400, "GET\r\nHost: a\r\n\r\n"),
	ROW(400, "GET \r\nHost: a\r\n\r\n"),
	ROW(400, "GET /\r\nHost: a\r\n\r\n"),
	ROW(400, "GET / \r\nHost: a\r\n\r\n"),
	ROW(400, "GET  / HTTP/1.1\r\nHost: a\r\n\r\n"),
	ROW(400, "GET /  HTTP/1.1\r\nHost: a\r\n\r\n"),
	ROW(400, "GET / HTTP/1.1 \r\nHost: a\r\n\r\n"),
	ROW(400, "GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n"),
	ROW(400, "GET /\tHTTP/1.1\r\nHost: a\r\n\r\n"),
	ROW(400, "GET /\x0bHTTP/1.1\r\nHost: a\r\n\r\n"),
	ROW(400, "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n"),
	ROW(400, "GET / HTTP/1.1 X\r\nHost: a\r\n\r\n"),
	ROW(400, "GE(T / HTTP/1.1\r\nHost: a\r\n\r\n"),
	ROW(400, "GET: / HTTP/1.1\r\nHost: a\r\n\r\n"),
	ROW(400, "G\xc3\x89T / HTTP/1.1\r\nHost: a\r\n\r\n"),
	ROW(400, "G\0T / HTTP/1.1\r\nHost: a\r\n\r\n"),
	ROW(0, "get / HTTP/1.1\r\nHost: a\r\n\r\n"),
	ROW(0, "ABCDEFGHIJKLMNOPQRSTUVWX / HTTP/1.1\r\nHost: a\r\n\r\n"),
	ROW(501, "ABCDEFGHIJKLMNOPQRSTUVWXY / HTTP/1.1\r\nHost: a\r\n\r\n"),

	/* Versions. */
	VERSION(400, "HTTP/1.10"),
	VERSION(400, "HTTP/1."),
	VERSION(400, "HTTP/1"),
	VERSION(400, "HTTP/.1"),
	VERSION(400, "HTTP/11"),
	VERSION(400, "HTTP/01.1"),
	VERSION(400, "HTTP/1,1"),
	VERSION(400, "HTTP/1.x"),
	VERSION(400, "HTTP/+1.1"),
	VERSION(400, "HTTP/ 1.1"),
	VERSION(400, "http/1.1"),
	VERSION(400, "HTTP 1.1"),
	VERSION(400, "HTTPS/1.1"),
	VERSION(400, "ICE/1.1"),
	VERSION(400, "HTTP/1.1\t"),
	VERSION(400, "HTTP/1.\xd9\xa1"),
	VERSION(505, "HTTP/0.9"),
	VERSION(505, "HTTP/1.2"),
	VERSION(505, "HTTP/1.9"),
	VERSION(505, "HTTP/2.0"),
	VERSION(505, "HTTP/3.1"),
	ROW(505, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),

	/* Targets. */
	TARGET(0, "/a/b?c=d&e=%20f"),
	TARGET(0, "/?"),
	TARGET(0, "/??"),
	TARGET(0, "//alive"),
	TARGET(0, "/%2e%2e/x"),
	TARGET(0, "/a|b{c}^`\"<>\\"),
	TARGET(400, "a"),
	TARGET(400, "?a"),
	TARGET(400, "a:443"),
	TARGET(400, "*"),
	TARGET(400, "/a#b"),
	TARGET(400, "/a\x01"),
	TARGET(400, "/a\x7f"),
	TARGET(400, "/\0"),
	TARGET(400, "/\xc3\xa9"),
	TARGET(0, "http://a/x"),
	TARGET(0, "HTTP://A/x"),
	TARGET(0, "http://a"),
	TARGET(0, "http://a?q"),
	TARGET(400, "http://b/x"),
	TARGET(400, "http://a:80/x"),
	TARGET(400, "http://u@a/x"),
	TARGET(400, "http:///x"),
	TARGET(400, "http://"),
	TARGET(400, "http://?a"),
	TARGET(400, "http:/a/x"),
	TARGET(400, "https://a/x"),
	TARGET(400, "ftp://a/x"),
	ROW(0, "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n"),
	ROW(400, "OPTIONS *x HTTP/1.1\r\nHost: a\r\n\r\n"),
	ROW(400, "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n"),
	ROW(0, "GET http://a/ HTTP/1.0\r\n\r\n"),

	/* Host. */
	ROW(400, "GET / HTTP/1.1\r\n\r\n"),
	ROW(400, "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n"),
	ROW(400, "GET / HTTP/1.1\r\nHost: a\r\nhOST: b\r\n\r\n"),
	ROW(400, "GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n"),
	HOST(0, "localhost"),
	HOST(0, " \t a.b-c_d~:3000\t "),
	HOST(0, " 127.0.0.1:65535"),
	HOST(0, " a:"),
	HOST(0, " [::1]"),
	HOST(0, " [::ffff:127.0.0.1]:80"),
	HOST(400, ""),
	HOST(400, " "),
	HOST(400, " :80"),
	HOST(400, " a b"),
	HOST(400, " a,b"),
	HOST(400, " a/b"),
	HOST(400, " a?b"),
	HOST(400, " u@a"),
	HOST(400, " a:x"),
	HOST(400, " a:123456"),
	HOST(400, " a:1:2"),
	HOST(400, " [::1"),
	HOST(400, " []"),
	HOST(400, " ["),
	HOST(400, " [::1]x"),
	HOST(400, " [fe80::1%25eth0]"),
	HOST(400, " ::1"),
	HOST(400, " \xc3\xa9"),
	HOST(400, " a\0"),

	/* Field names. */
	WITH(400, "X : a\r\n"),
	WITH(400, "X\t: a\r\n"),
	WITH(400, ": a\r\n"),
	WITH(400, ":\r\n"),
	WITH(400, "X\r\n"),
	WITH(400, "X a: b\r\n"),
	WITH(400, "X\0: a\r\n"),
	WITH(400, "X(: a\r\n"),
	WITH(400, "X\": a\r\n"),
	WITH(400, "X/: a\r\n"),
	WITH(400, "X@: a\r\n"),
	WITH(400, "X[: a\r\n"),
	WITH(400, "X{: a\r\n"),
	WITH(400, "\xc3\xa9: a\r\n"),
	WITH(400, "Content-Length : 5\r\n"),
	WITH(400, "Transfer-Encoding : chunked\r\n"),

	/* Content-Length. */
	WITH(0, "Content-Length: 0\r\n"),
	WITH(0, "content-LENGTH:5\r\n"),
	WITH(0, "Content-Length: 005\r\n"),
	WITH(0, "Content-Length: 9007199254740992\r\n"),
	WITH(400, "Content-Length: 9007199254740993\r\n"),
	WITH(400, "Content-Length: 18446744073709551616\r\n"),
	WITH(400, "Content-Length: 18446744073709551621\r\n"),
	WITH(400, "Content-Length: 99999999999999999999999999\r\n"),
	WITH(400, "Content-Length:\r\n"),
	WITH(400, "Content-Length: +5\r\n"),
	WITH(400, "Content-Length: -1\r\n"),
	WITH(400, "Content-Length: 0x5\r\n"),
	WITH(400, "Content-Length: 5 5\r\n"),
	WITH(400, "Content-Length: 5,5\r\n"),
	WITH(400, "Content-Length: 5, 5\r\n"),
	WITH(400, "Content-Length: 5;\r\n"),
	WITH(400, "Content-Length: 5.0\r\n"),
	WITH(400, "Content-Length: 5e0\r\n"),
	WITH(400, "Content-Length: 1_000\r\n"),
	WITH(400, "Content-Length: \"5\"\r\n"),
	WITH(400, "Content-Length: \xd9\xa5\r\n"),
	WITH(400, "Content-Length: 5\r\nContent-Length: 5\r\n"),
	WITH(400, "Content-Length: 5\r\ncontent-length: 6\r\n"),

	/* Transfer-Encoding. */
	WITH(0, "Transfer-Encoding: chunked\r\n"),
	WITH(0, "transfer-encoding:\tCHUNKED \r\n"),
	WITH(501, "Transfer-Encoding: gzip\r\n"),
	WITH(501, "Transfer-Encoding: gzip, chunked\r\n"),
	WITH(501, "Transfer-Encoding: chunked, gzip\r\n"),
	WITH(501, "Transfer-Encoding: chunked, chunked\r\n"),
	WITH(501, "Transfer-Encoding: chunked,\r\n"),
	WITH(501, "Transfer-Encoding: ,chunked\r\n"),
	WITH(501, "Transfer-Encoding: xchunked\r\n"),
	WITH(501, "Transfer-Encoding: chunkedx\r\n"),
	WITH(501, "Transfer-Encoding: chunked;q=1\r\n"),
	WITH(501, "Transfer-Encoding: \"chunked\"\r\n"),
	WITH(501, "Transfer-Encoding: identity\r\n"),
	WITH(501, "Transfer-Encoding:\r\n"),
	WITH(501, "Transfer-Encoding: chun\xc2\xadked\r\n"),
	WITH(400,
		"Transfer-Encoding: \x0b"
		"chunked\r\n"),
	WITH(400, "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"),
	WITH(501, "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n"),
	WITH(400, "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"),
	WITH(400, "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n"),
	WITH(400, "Transfer-Encoding:\r\n chunked\r\n"),
	WITH(0, "Transfer_Encoding: gzip\r\n"),
	ROW(400, "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"),

	/* Expect and Connection. */
	WITH(0, "Expect: 100-continue\r\n"),
	WITH(0, "expect: 100-CONTINUE\r\n"),
	WITH(417, "Expect: 200-ok\r\n"),
	WITH(417, "Expect:\r\n"),
	WITH(417, "Expect: 100-continue, x\r\n"),
	ROW(0, "GET / HTTP/1.0\r\nExpect: 100-continue\r\n\r\n"),
	WITH(0, "Connection: close\r\n"),
	WITH(0, "Connection:\r\n"),
	WITH(0, "Connection: , ,close,,\r\n"),
	WITH(0, "Connection: Upgrade, HTTP2-Settings\r\n"),
	WITH(400, "Connection: a b\r\n"),
	WITH(400, "Connection: clo=se\r\n"),
};

/* A copy flush against the end of its memory, so that over-reads are caught. */
static struct str exact(const char *p, size_t n)
{
	char *copy = malloc(n ? n : 1);

	if (n)
		memcpy(copy, p, n);
	return str_make(copy, n);
}

static void drop(struct str s)
{
	free((void *)(uintptr_t)s.p);
}

/* The status of the verdict, 0 for accepted, 1 for "needs more". */
static unsigned step(struct http_request *r, const char *p, size_t n)
{
	struct str in = exact(p, n);
	int e = http_request_parse(r, in);

	drop(in);
	return e < 0 ? r->fault->status : (unsigned)e;
}

static unsigned whole(const char *p, size_t n)
{
	struct http_request r;

	http_request_init(&r);
	return step(&r, p, n);
}

static unsigned bytewise(const char *p, size_t n)
{
	struct http_request r;
	unsigned got = 1;

	http_request_init(&r);
	for (size_t i = 0; i <= n && got == 1; i++)
		got = step(&r, p, i);
	return got;
}

static bool every_split(const char *p, size_t n, unsigned want)
{
	for (size_t cut = 0; cut < n; cut++) {
		struct http_request r;
		unsigned got;

		http_request_init(&r);
		got = step(&r, p, cut);
		if (got == 1)
			got = step(&r, p, n);
		if (got != want) {
			printf("# split at %zu gave %u\n", cut, got);
			return false;
		}
	}
	return true;
}

static void test_rows(void)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct row *r = &rows[i];

		is_int(whole(r->p, r->n), r->status, "row %zu whole", i);
		is_int(bytewise(r->p, r->n), r->status, "row %zu byte by byte", i);
		if (!ok(every_split(r->p, r->n, r->status), "row %zu at each split", i))
			tap_bytes("input", r->p, r->n);
	}
}

/* Every prefix of a good head asks for more, and no more than the head is used. */
static void test_prefixes(void)
{
	static const char head[] =
		"POST /a?b HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\n";
	char with_body[sizeof(head) + 3];
	struct http_request r;
	bool good = true;

	for (size_t n = 0; n < sizeof(head) - 1; n++)
		good = good && whole(head, n) == 1;
	ok(good, "every prefix needs more");
	memcpy(with_body, head, sizeof(head) - 1);
	memcpy(with_body + sizeof(head) - 1, "\nxy", 3);
	http_request_init(&r);
	is_int(step(&r, with_body, sizeof(head) + 2), 0,
		"bytes behind the head are left");
	is_int(r.head.n, sizeof(head) - 1, "length of the head");
}

/* Each of the 256 bytes at one place of a head: accepted exactly for the class. */
static void sweep(const char *what, const char *before, const char *after,
	bool (*in_class)(unsigned char c))
{
	char head[128];
	unsigned wrong = 0;

	for (unsigned c = 0; c < 256; c++) {
		size_t n = strlen(before);
		unsigned got;

		memcpy(head, before, n);
		head[n++] = (char)c;
		memcpy(head + n, after, strlen(after));
		n += strlen(after);
		got = whole(head, n);
		if ((got == 0) != in_class((unsigned char)c) ||
			bytewise(head, n) != got) {
			printf("# byte 0x%02x gave %u\n", c, got);
			wrong++;
		}
	}
	is_int(wrong, 0, "each byte in %s", what);
}

static bool in_token(unsigned char c)
{
	return c &&
		(strchr("!#$%&'*+-.^_`|~", c) || (c >= '0' && c <= '9') ||
			(c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'));
}

static bool in_name(unsigned char c)
{
	/* A colon ends the name early, which is well-formed. */
	return c == ':' || in_token(c);
}

static bool in_value(unsigned char c)
{
	return c == '\t' || (c >= ' ' && c != 0x7f);
}

static bool in_target(unsigned char c)
{
	return c > ' ' && c < 0x7f && c != '#';
}

static bool in_version(unsigned char c)
{
	return c == '0' || c == '1';
}

static void test_sweeps(void)
{
	sweep("the method", "G", "T / HTTP/1.1\r\nHost: a\r\n\r\n", in_token);
	sweep("the target", "GET /", "x HTTP/1.1\r\nHost: a\r\n\r\n", in_target);
	sweep("the query", "GET /?", "x HTTP/1.1\r\nHost: a\r\n\r\n", in_target);
	sweep("the version", "GET / HTTP/1.", "\r\nHost: a\r\n\r\n", in_version);
	sweep("a name", "GET / HTTP/1.1\r\nHost: a\r\nX", "x: a\r\n\r\n", in_name);
	sweep("a value", "GET / HTTP/1.1\r\nHost: a\r\nX: x", "x\r\n\r\n", in_value);
}

/* A request with a target of t bytes and fields of about f bytes each, k of them. */
static struct str sized(struct buf *b, size_t t, size_t k, size_t f)
{
	buf_puts(b, "GET /");
	for (size_t i = 1; i < t; i++)
		buf_putc(b, 'a');
	buf_puts(b, " HTTP/1.1\r\nHost: a\r\n");
	for (size_t i = 0; i < k; i++) {
		buf_puts(b, "X: ");
		for (size_t n = 0; n < f; n++)
			buf_putc(b, 'v');
		buf_puts(b, "\r\n");
	}
	buf_puts(b, "\r\n");
	return buf_view(b);
}

static void limit(const char *what, size_t t, size_t k, size_t f, unsigned want)
{
	struct buf b = BUF_INIT(1 << 20);
	struct str s = sized(&b, t, k, f);

	is_int(whole(s.p, s.n), want, "%s", what);
	is_int(bytewise(s.p, s.n), want, "%s, byte by byte", what);
	buf_free(&b);
}

static void test_limits(void)
{
	limit("longest target", HTTP_TARGET_MAX, 0, 0, 0);
	limit("target too long by one", HTTP_TARGET_MAX + 1, 0, 0, 414);
	limit("target without end", 20000, 0, 0, 414);
	limit("most fields", 1, HTTP_FIELDS_MAX - 1, 1, 0);
	limit("one field too many", 1, HTTP_FIELDS_MAX, 1, 431);
	/* "GET / HTTP/1.1" and "Host: a" take 25, a field 5 more than its value. */
	limit("largest head", 1, 1, HTTP_HEAD_MAX - 25 - 5 - 2, 0);
	limit("head too large by one", 1, 1, HTTP_HEAD_MAX - 25 - 5 - 1, 431);
	limit("head without end", 1, 1, 40000, 431);
}

static void test_meaning(void)
{
	static const char a[] =
		"POST /p%20q?x=1?y HTTP/1.1\r\nHost:  h:1 \r\nX-Key:\tk \r\n"
		"Dup: 1\r\ndup: 2\r\nTransfer-Encoding: chunked\r\n"
		"Expect: 100-continue\r\n\r\n";
	static const char b[] = "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n"
				"Content-Length: 7\r\nExpect: 100-continue\r\n\r\n";
	static const char c[] = "GET http://h?q HTTP/1.1\r\nHost: h\r\n"
				"Connection: keep-alive\r\nConnection: x, Close\r\n"
				"Content-Length: 0\r\n\r\n";
	struct http_request r;
	struct str v;

	http_request_init(&r);
	is_int(step(&r, a, sizeof(a) - 1), 0, "a request");
	is_view(http_text(a, r.method), "POST", "method");
	is_view(http_text(a, r.path), "/p%20q", "path");
	is_view(http_text(a, r.query), "x=1?y", "query");
	is_int(r.head.framing, HTTP_CHUNKED, "chunked");
	is_int(r.head.minor, 1, "version");
	ok(r.head.keep_alive && r.head.expect_continue, "1.1 keeps alive, expects");
	is_int(http_field_find(&r.head, a, STR("x-kEy"), &v), 0, "field found");
	is_view(v, "k", "value without blanks");
	is_int(http_field_find(&r.head, a, STR("X-Ke"), &v), 1, "field absent");
	is_int(http_field_find(&r.head, a, STR("DUP"), &v), ERR_DUPLICATE, "field twice");
	is_view(v, "k", "out-parameter untouched");

	http_request_init(&r);
	is_int(step(&r, b, sizeof(b) - 1), 0, "a 1.0 request");
	is_int(r.head.framing, HTTP_LENGTH, "length");
	is_int((long long)r.head.length, 7, "its value");
	ok(r.head.keep_alive && !r.head.expect_continue, "1.0 may keep, not expect");

	http_request_init(&r);
	is_int(step(&r, c, sizeof(c) - 1), 0, "an absolute target");
	is_view(http_text(c, r.path), "/", "empty path is /");
	is_view(http_text(c, r.query), "q", "its query");
	is_int(r.head.framing, HTTP_NO_BODY, "length 0 is no body");
	ok(!r.head.keep_alive, "close wins");
}

int main(void)
{
	test_rows();
	test_prefixes();
	test_sweeps();
	test_limits();
	test_meaning();
	return done_testing();
}
