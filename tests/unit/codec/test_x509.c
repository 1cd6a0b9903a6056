/* Hosts and what certificates say, with hand-made DER. */
#include "codec/x509.h"

#include "tests/tap.h"

#include <stdlib.h>

static struct x509_host host(const char *text)
{
	struct x509_host h = {0};

	ok(x509_host_read(&h, str_c(text)) == 0, "%s is a host", text);
	return h;
}

static void test_hosts(void)
{
	static const char *const bad[] = {"", ".", "a.", ".a", "a..b", "a b", "a/b",
		"1.2.3", "1.2.3.4.5", "256.1.1.1", "0x7f.1", "127.1", "[::1", "::g",
		"a\nb", "*.a.b"};
	char longer[300];
	struct x509_host h = host("registry.example.com");

	ok(!h.is_address && h.n == 20, "a name");
	h = host("127.0.0.1");
	ok(h.is_address && h.n == 4, "an address");
	h = host("[::1]");
	ok(h.is_address && h.n == 16 && h.bytes[15] == 1, "an address in brackets");
	h = host("::ffff:1.2.3.4");
	ok(h.n == 16, "an address that maps another");
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		ok(x509_host_read(&h, str_c(bad[i])) == ERR_SYNTAX, "refused: '%s'",
			bad[i]);
	ok(x509_host_read(&h, str_make("a\0b", 3)) == ERR_SYNTAX, "refused: a NUL");
	memset(longer, 'a', sizeof(longer));
	ok(x509_host_read(&h, str_make(longer, 64)) == ERR_SYNTAX,
		"refused: 64 in a label");
	ok(x509_host_read(&h, str_make(longer, 300)) == ERR_SYNTAX,
		"refused: 300 in all");
}

/* names holds GeneralNames of less than 128 bytes each. */
static bool fits(struct str names, const char *text)
{
	struct x509 c = {.names = names};
	struct x509_host h;

	return x509_host_read(&h, str_c(text)) == 0 && x509_has_host(&c, &h);
}

static void test_names(void)
{
	struct str plain = STR("\x82\x07"
			       "a.b.com");
	struct str wild = STR("\x82\x07"
			      "*.b.com");
	struct str both = STR("\x81\x03"
			      "x@y"
			      "\x87\x04\x7f\x00\x00\x01"
			      "\x82\x03"
			      "a.b");
	struct str v6 = STR("\x87\x10\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01");

	ok(fits(plain, "a.b.com"), "the same name");
	ok(fits(plain, "A.B.Com"), "in other letters");
	ok(!fits(plain, "b.com"), "not the parent");
	ok(!fits(plain, "c.a.b.com"), "not the child");
	ok(fits(wild, "x.b.com"), "a wildcard");
	ok(!fits(wild, "b.com"), "a wildcard is one label");
	ok(!fits(wild, "y.x.b.com"), "a wildcard is one label only");
	ok(!fits(STR("\x82\x05*.com"), "b.com"), "no wildcard below the root");
	ok(!fits(STR("\x82\x08x*.b.com"), "xy.b.com"), "no part of a label");
	ok(!fits(STR("\x82\x09*.*.b.com"), "x.y.b.com"), "not two");
	ok(!fits(STR("\x82\x01*"), "localhost"), "not alone");
	ok(!fits(STR("\x82\x09"
		     "a.b.com\0x"),
		   "a.b.com"),
		"a NUL ends no name");
	ok(fits(both, "127.0.0.1") && fits(both, "a.b"), "an address and a name");
	ok(!fits(both, "x"), "nothing else");
	ok(!fits(STR("\x82\x09"
		     "127.0.0.1"),
		   "127.0.0.1"),
		"an address as a name is none");
	ok(fits(v6, "::1") && fits(v6, "[0:0::1]") && !fits(v6, "0.0.0.1"), "IPv6");
	ok(!fits(STR("\x87\x03\x7f\x00\x00"), "127.0.0.1"), "a short address");
	ok(!fits(STR("\x82\x7f"
		     "a.b"),
		   "a.b"),
		"a name that is cut");
	ok(!fits(STR(""), "a.b"), "without names, none");
}

#define TBS "\x02\x01\x01\x30\x00\x30\x00\x30\x00\x30\x00\x30\x00"

static int read_ext(const char *ext, size_t n, struct x509 *c)
{
	unsigned char der[256] = {0x30, 0};
	size_t at = 4, k = sizeof(TBS) - 1;

	der[2] = 0x30;
	memcpy(der + at, TBS, k);
	at += k;
	der[at++] = 0xA3;
	der[at++] = (unsigned char)(n + 2);
	der[at++] = 0x30;
	der[at++] = (unsigned char)n;
	memcpy(der + at, ext, n);
	at += n;
	der[1] = (unsigned char)(at - 2);
	der[3] = (unsigned char)(at - 4);
	/* An exact copy, so that a read beyond it is seen; cut at every byte. */
	for (size_t cut = 0; cut < at; cut++) {
		char *p = malloc(cut ? cut : 1);
		struct x509 x;

		memcpy(p, der, cut);
		if (x509_read(&x, str_make(p, cut)) == 0)
			ok(false, "cut at %zu it is refused", cut);
		free(p);
	}
	return x509_read(c, str_make((char *)der, at));
}
#define READ_EXT(lit, c) read_ext(lit, sizeof(lit) - 1, c)

#define EXT_SAN \
	"\x30\x0c\x06\x03\x55\x1d\x11\x04\x05\x30\x03\x82\x01" \
	"a"
#define EXT_EKU(last) \
	"\x30\x13\x06\x03\x55\x1d\x25\x04\x0c\x30\x0a\x06\x08" \
	"\x2B\x06\x01\x05\x05\x07\x03" last
#define EXT_NC "\x30\x0c\x06\x03\x55\x1d\x1e\x01\x01\xff\x04\x02\x30\x00"

static void test_read(void)
{
	struct x509 c = {0};

	ok(READ_EXT(EXT_SAN, &c) == 0 && c.names.n == 3, "names");
	ok(c.for_servers && c.for_clients && !c.constrained,
		"no purpose is every purpose");
	ok(READ_EXT(EXT_EKU("\x01"), &c) == 0 && c.for_servers && !c.for_clients,
		"for servers");
	ok(READ_EXT(EXT_EKU("\x02"), &c) == 0 && !c.for_servers && c.for_clients,
		"for clients");
	ok(READ_EXT(EXT_EKU("\x04"), &c) == 0 && !c.for_servers && !c.for_clients,
		"for mail");
	ok(READ_EXT(EXT_NC, &c) == 0 && c.constrained, "constraints");
	ok(READ_EXT(EXT_SAN EXT_SAN, &c) == ERR_DUPLICATE, "twice is refused");
	ok(READ_EXT("\x30\x0a\x06\x03\x55\x1d\x11\x04\x05\x30\x03\x82", &c) == ERR_SYNTAX,
		"a length too long is refused");
	ok(x509_read(&c, STR("\x30\x80\x00\x00")) == ERR_SYNTAX, "no open lengths");
	ok(x509_read(&c, STR("\x30\x81\x02\x30\x00")) == ERR_SYNTAX,
		"no long short lengths");
	ok(x509_read(&c, STR("\x30\x84\xff\xff\xff\xff")) == ERR_SYNTAX,
		"no huge lengths");
}

int main(void)
{
	test_hosts();
	test_names();
	test_read();
	return done_testing();
}
