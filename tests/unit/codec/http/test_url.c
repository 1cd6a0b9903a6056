/* Addresses, where one leads to another, and how near an IP address is. */
#include "codec/http/url.h"

#include "codec/dns.h"
#include "tests/tap.h"

static void test_parse(void)
{
	static const struct {
		const char *text, *host, *target;
		bool secure;
		unsigned port;
	} good[] = {
		{"https://a.b/c?d", "a.b", "/c?d", true, 443},
		{"http://a.b", "a.b", "/", false, 80},
		{"HTTP://A.b:8080/", "A.b", "/", false, 8080},
		{"https://[::1]:5000/v2/", "::1", "/v2/", true, 5000},
		{"https://[::1]/", "::1", "/", true, 443},
		{"https://1.2.3.4/x#frag", "1.2.3.4", "/x", true, 443},
		{"https://a.b/?x=http://c/#", "a.b", "/?x=http://c/", true, 443},
	};
	static const char *const bad[] = {"", "a.b/c", "/c", "//a.b/c", "ftp://a/b",
		"http:/a", "http://", "http:///a", "http://u@a/", "http://u:p@a/",
		"http://a:0/", "http://a:70000/", "http://a:/", "http://a:1x/",
		"http://a b/", "http://a/b c", "http://a/\r\nX: y", "http://a\\b/",
		"http://[::1/", "http://[a]/", "http://127.1/", "http://a?b",
		"http://a..b/", "http://[::1]x/", "javascript:x", "http://a/\xc3\xa9",
		"http://a/\x7f", "http://a/\x1b[2J"};
	struct url u;

	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		is_int(url_parse(&u, str_c(good[i].text)), 0, "%s", good[i].text);
		is_view(u.host, good[i].host, "host");
		is_view(u.target, good[i].target, "target");
		ok(u.secure == good[i].secure && u.port == good[i].port,
			"scheme and port");
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		is_int(url_parse(&u, str_c(bad[i])), ERR_SYNTAX, "refused: row %zu", i);
	is_int(url_parse(&u, str_make("http://a\0/", 10)), ERR_SYNTAX, "refused: a NUL");
}

static void test_parse_ws(void)
{
	struct url u;

	is_int(url_parse_ws(&u, STR("ws://a.b/c?d")), 0, "ws");
	is_view(u.host, "a.b", "host");
	is_view(u.target, "/c?d", "target");
	ok(!u.secure && u.port == 80, "plain, at the web's port");
	is_int(url_parse_ws(&u, STR("WSS://a.b")), 0, "wss");
	ok(u.secure && u.port == 443, "with TLS, at its port");
	is_int(url_parse_ws(&u, STR("http://a.b/")), ERR_SYNTAX, "refused: http");
	is_int(url_parse(&u, STR("ws://a.b/")), ERR_SYNTAX, "and ws where http is due");
}

static void put_whole(const struct url *u, struct buf *out)
{
	buf_puts(out, u->secure ? "https://" : "http://");
	url_put_host(u, out);
	buf_str(out, u->target);
}

static void test_follow(void)
{
	static const struct {
		const char *ref, *want;
	} rows[] = {
		{"https://c.d/e", "https://c.d/e"},
		{"//c.d:1/e", "https://c.d:1/e"},
		{"/e?f", "https://a.b:5000/e?f"},
		{"e", "https://a.b:5000/v2/x/e"},
		{"?q=1", "https://a.b:5000/v2/x/y?q=1"},
		{"/e:f", "https://a.b:5000/e:f"},
		{"../e", "https://a.b:5000/v2/e"},
		{"../../../e", "https://a.b:5000/e"},
		{"./e/.", "https://a.b:5000/v2/x/e/"},
		{"/e/f/..", "https://a.b:5000/e/"},
		{"/%2e%2E/.%2e/e/%2E/f?/../g", "https://a.b:5000/e/f?/../g"},
		{"https://c.d/../e//../f/...", "https://c.d/e/f/..."},
		{"/.e/..f/e..", "https://a.b:5000/.e/..f/e.."},
		{"mailto:x", NULL},
		{"", NULL},
		{"//", NULL},
	};
	struct buf text = BUF_INIT(1000), out = BUF_INIT(1000);
	struct url base, u;

	is_int(url_parse(&base, STR("https://a.b:5000/v2/x/y?z=/1/2")), 0, "a base");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int r = url_resolve(&u, &base, str_c(rows[i].ref), &text);

		is_int(r, rows[i].want ? 0 : ERR_SYNTAX, "to '%s'", rows[i].ref);
		buf_reset(&out);
		if (!r)
			put_whole(&u, &out);
		is_view(buf_view(&out), rows[i].want ? rows[i].want : "", "leads there");
	}
	buf_free(&text);
	buf_init(&text, 10);
	is_int(url_resolve(&u, &base, STR("/e"), &text), ERR_LIMIT,
		"too long an address");
	buf_free(&text);
	buf_free(&out);
}

static bool same(const char *a, const char *b)
{
	struct url x, y;

	return url_parse(&x, str_c(a)) == 0 && url_parse(&y, str_c(b)) == 0 &&
		url_is_same_origin(&x, &y);
}

static const char *hop(const char *a, const char *b, unsigned n)
{
	struct url x, y;

	if (url_parse(&x, str_c(a)) || url_parse(&y, str_c(b)))
		return "not read";
	return url_check_redirect(&x, &y, n);
}

static void test_rules(void)
{
	ok(same("https://a/x", "https://A:443/y"), "one origin");
	ok(!same("https://a/", "http://a/"), "not with another scheme");
	ok(!same("https://a/", "http://a:443/"), "nor with the other's port");
	ok(!same("https://a/", "https://a:444/"), "not with another port");
	ok(!same("https://a/", "https://b/"), "not with another host");
	ok(!same("https://a/", "https://a.a/"), "nor with a longer one");
	ok(!hop("https://a/", "https://b/", 5), "five hops");
	ok(hop("https://a/", "https://b/", 6), "not six");
	ok(hop("https://a/", "http://a/", 1), "not from https to http");
	ok(!hop("http://a/", "https://a/", 1), "but the other way");
}

static enum reach reach(const char *text)
{
	struct dns_address a;

	if (!dns_parse_address(str_c(text), &a))
		return (enum reach)99;
	return url_classify(a.bytes, a.len);
}

static void test_reach(void)
{
	static const struct {
		const char *address;
		enum reach want;
	} rows[] = {
		{"8.8.8.8", REACH_PUBLIC},
		{"172.15.0.1", REACH_PUBLIC},
		{"172.32.0.1", REACH_PUBLIC},
		{"100.63.0.1", REACH_PUBLIC},
		{"10.0.0.1", REACH_PRIVATE},
		{"172.16.0.1", REACH_PRIVATE},
		{"172.31.255.255", REACH_PRIVATE},
		{"192.168.1.1", REACH_PRIVATE},
		{"100.64.0.1", REACH_PRIVATE},
		{"127.0.0.1", REACH_LOOPBACK},
		{"127.255.255.254", REACH_LOOPBACK},
		{"0.0.0.0", REACH_FORBIDDEN},
		{"169.254.169.254", REACH_FORBIDDEN},
		{"224.0.0.1", REACH_FORBIDDEN},
		{"255.255.255.255", REACH_FORBIDDEN},
		{"2001:db8::1", REACH_PUBLIC},
		{"::1", REACH_LOOPBACK},
		{"::", REACH_FORBIDDEN},
		{"::ffff:127.0.0.1", REACH_LOOPBACK},
		{"::ffff:169.254.169.254", REACH_FORBIDDEN},
		{"::127.0.0.1", REACH_LOOPBACK},
		{"64:ff9b::a00:1", REACH_PRIVATE},
		{"2002:7f00:1::", REACH_LOOPBACK},
		{"fe80::1", REACH_FORBIDDEN},
		{"fec0::1", REACH_PRIVATE},
		{"fd12::1", REACH_PRIVATE},
		{"fd00:ec2::254", REACH_FORBIDDEN},
		{"ff02::1", REACH_FORBIDDEN},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		is_int(reach(rows[i].address), rows[i].want, "%s", rows[i].address);
	for (enum reach home = REACH_PUBLIC; home <= REACH_FORBIDDEN; home++) {
		ok(url_is_reach_allowed(REACH_PUBLIC, home), "public from %d", home);
		ok(url_is_reach_allowed(REACH_PRIVATE, home) == (home >= REACH_PRIVATE),
			"private from %d", home);
		ok(url_is_reach_allowed(REACH_LOOPBACK, home) == (home >= REACH_LOOPBACK),
			"loopback from %d", home);
		ok(!url_is_reach_allowed(REACH_FORBIDDEN, home), "never from %d", home);
	}
}

int main(void)
{
	test_parse();
	test_parse_ws();
	test_follow();
	test_rules();
	test_reach();
	return done_testing();
}
