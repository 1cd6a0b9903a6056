/* The delay of answers to peers that fail again and again. */
#include "net/penalty.h"

#include "base/err.h"
#include "tests/tap.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/un.h>

static struct penalty p;

static unsigned fail_at(const char *text, uint64_t now)
{
	union {
		struct sockaddr any;
		struct sockaddr_in four;
		struct sockaddr_in6 six;
	} a = {0};

	if (inet_pton(AF_INET, text, &a.four.sin_addr) == 1)
		a.any.sa_family = AF_INET;
	else if (inet_pton(AF_INET6, text, &a.six.sin6_addr) == 1)
		a.any.sa_family = AF_INET6;
	else
		abort();
	return penalty_fail(&p, &a.any, now);
}

static void fail_times(const char *text, unsigned n, uint64_t now)
{
	while (n--)
		fail_at(text, now);
}

static void test_steps(void)
{
	static const unsigned want[] = {100, 200, 400, 800, 1000, 1000, 1000};
	unsigned most = 0;

	p = (struct penalty){0};
	for (unsigned i = 0; i < PENALTY_FREE; i++)
		if (fail_at("10.0.0.1", i) > most)
			most = 1;
	is_int(most, 0, "ten failures have no delay");
	for (unsigned i = 0; i < ARRAY_LEN(want); i++)
		is_int(fail_at("10.0.0.1", 100), want[i], "failure %u", 11 + i);
	fail_times("10.0.0.1", 100000, 100);
	is_int(fail_at("10.0.0.1", 100), 1000, "100,000 failures later it is a second");
	is_int(fail_at("10.0.0.2", 100), 0, "another address has no delay");
	is_int(fail_at("10.0.0.1", 100 + PENALTY_FORGET_MS - 1), 1000, "59.999 s later");
	is_int(fail_at("10.0.0.1", 100 + 2 * PENALTY_FORGET_MS - 1), 0,
		"an address without a failure for a minute starts anew");
}

static void test_networks(void)
{
	p = (struct penalty){0};
	fail_times("2001:db8::1", 10, 0);
	is_int(fail_at("2001:db8::ffff:1", 0), 100, "a /64 network is one peer");
	is_int(fail_at("2001:db8:0:1::1", 0), 0, "another /64 network is another");
	fail_times("10.0.0.1", 10, 0);
	is_int(fail_at("::ffff:10.0.0.1", 0), 100, "a mapped address is the IPv4 one");
	is_int(fail_at("::ffff:10.0.0.2", 0), 0, "two mapped addresses are two peers");
}

static void test_unix(void)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	unsigned most = 0;

	p = (struct penalty){0};
	for (unsigned i = 0; i < 100; i++)
		most |= penalty_fail(&p, (struct sockaddr *)&a, 0);
	is_int(most, 0, "a peer without an address is never delayed");
}

static void test_full(void)
{
	char text[32];

	p = (struct penalty){0};
	fail_times("10.0.0.1", 10, 0);
	fail_times("10.0.0.2", 10, 1);
	for (unsigned i = 0; i < PENALTY_ADDRESSES - 1; i++) {
		snprintf(text, sizeof(text), "10.1.0.%u", i);
		fail_at(text, 2);
	}
	is_int(fail_at("10.0.0.2", 3), 100, "a younger address stays in a full table");
	is_int(fail_at("10.0.0.1", 3), 0, "the oldest one has made room");
}

int main(void)
{
	test_steps();
	test_networks();
	test_unix();
	test_full();
	return done_testing();
}
