/* Name servers' answers, whole, cut at every byte and wrong. */
#include "codec/dns.h"

#include "tests/tap.h"

#include <errno.h>
#include <stdlib.h>

#define QUESTION "\1a\2bc\0\0\1\0\1"
#define HEAD(flags, answers) "\x12\x34" flags "\0\1\0" answers "\0\0\0\0"
#define ALIAS "\xc0\x0c\0\5\0\1\0\0\0\1\0\4\1x\xc0\x0e"
#define ADDRESS "\xc0\x0c\0\1\0\1\0\0\0\1\0\4\x0a\1\2\3"
#define TAKE(lit, found) dns_read_answer(STR(lit), 0x1234, STR("A.bc"), DNS_A, (found))

static void test_ask(void)
{
	struct buf out = BUF_INIT(300);
	char longer[256];

	is_int(dns_write_query(0x1234, STR("a.bc."), DNS_AAAA, &out), 0, "a question");
	is_mem(out.p, out.n, "\x12\x34\1\0\0\1\0\0\0\0\0\0\1a\2bc\0\0\x1c\0\1", 22,
		"its bytes");
	buf_reset(&out);
	memset(longer, 'a', sizeof(longer));
	is_int(dns_write_query(1, str_make(longer, 64), DNS_A, &out), ERR_SYNTAX,
		"64 in a label");
	is_int(dns_write_query(1, str_make(longer, 256), DNS_A, &out), ERR_SYNTAX,
		"256 in all");
	is_int(dns_write_query(1, STR(""), DNS_A, &out), ERR_SYNTAX, "nothing");
	is_int(dns_write_query(1, STR("."), DNS_A, &out), ERR_SYNTAX, "the root");
	is_int(dns_write_query(1, STR("a..b"), DNS_A, &out), ERR_SYNTAX,
		"an empty label");
	buf_free(&out);
}

static void test_take(void)
{
	static const char whole[] = HEAD("\x81\x80", "\2") QUESTION ALIAS ADDRESS;
	struct dns_addresses f = {0};
	char text[46];

	is_int(TAKE(HEAD("\x81\x80", "\2") QUESTION ALIAS ADDRESS, &f), 0, "an answer");
	ok(f.n == 1 && f.at[0].len == 4, "one address");
	dns_format_address(&f.at[0], text);
	is_str(text, "10.1.2.3", "it");
	for (size_t n = 0; n < sizeof(whole) - 1; n++) {
		char *p = malloc(n ? n : 1);
		struct dns_addresses none = {0};

		memcpy(p, whole, n);
		ok(dns_read_answer(str_make(p, n), 0x1234, STR("a.bc"), DNS_A, &none) !=
					0 &&
				!none.n,
			"cut at %zu", n);
		free(p);
	}
	is_int(TAKE(HEAD("\x81\x80", "\0") QUESTION, &f), 0, "no address is an answer");
	is_int(TAKE(HEAD("\x81\x83", "\0") QUESTION, &f), -ENOENT, "no such name");
	is_int(TAKE(HEAD("\x81\x82", "\0") QUESTION, &f), -EAGAIN, "the server fails");
	is_int(TAKE(HEAD("\x83\x80", "\0") QUESTION, &f), -EMSGSIZE, "by TCP");
	is_int(TAKE(HEAD("\x01\x80", "\0") QUESTION, &f), 1, "a question back");
	is_int(TAKE(HEAD("\x81\x80", "\0") "\1b\2bc\0\0\1\0\1", &f), 1, "another name");
	is_int(TAKE(HEAD("\x81\x80", "\0") "\1a\2bc\0\0\x1c\0\1", &f), 1, "another type");
	is_int(dns_read_answer(STR(HEAD("\x81\x80", "\0") QUESTION), 0x1235, STR("a.bc"),
		       DNS_A, &f),
		1, "another id");
	is_int(TAKE(HEAD("\x81\x80", "\1") QUESTION "\xc0\x0c\0\1\0\1\0\0\0\1\0\3\1\2\3",
		       &f),
		ERR_SYNTAX, "an address of three bytes");
	is_int(f.n, 1, "and nothing was added");
}

static void test_many(void)
{
	struct buf b = BUF_INIT(4096);
	struct dns_addresses f = {0};

	buf_put(&b, HEAD("\x81\x80", "\x28") QUESTION, 12 + 10);
	for (int i = 0; i < 40; i++)
		buf_put(&b, ADDRESS, 16);
	is_int(dns_read_answer(buf_view(&b), 0x1234, STR("a.bc"), DNS_A, &f), 0,
		"forty addresses");
	is_int(f.n, DNS_ADDRESSES_MAX, "as many as there is room for");
	buf_free(&b);
}

static void test_hosts(void)
{
	struct dns_addresses f = {0};

	dns_read_hosts_line(STR("127.0.0.1\tlocalhost  Me # other"), STR("me"), &f);
	dns_read_hosts_line(STR("::1 me\r"), STR("me"), &f);
	dns_read_hosts_line(STR("# 127.0.0.1 me"), STR("me"), &f);
	dns_read_hosts_line(STR("127.0.0.1 x # me"), STR("me"), &f);
	dns_read_hosts_line(STR("127.0.0 me"), STR("me"), &f);
	dns_read_hosts_line(STR(""), STR("me"), &f);
	is_int(f.n, 2, "two of them");
	ok(f.at[0].len == 4 && f.at[1].len == 16, "of both kinds");
}

int main(void)
{
	test_ask();
	test_take();
	test_many();
	test_hosts();
	return done_testing();
}
