/* Which refused requests are sent again, and after which pause. */
#include "inject/http/retry.h"

#include "tests/tap.h"

/* Sun, 06 Nov 1994 08:49:37 GMT */
static const int64_t now = 784111777;

static bool pause_of(struct retry *r, enum retry_kind kind, unsigned status,
	const char *after, uint32_t jitter, uint64_t *ms)
{
	*ms = 0;
	return retry_pause(r, kind, status, str_c(after), now, jitter, ms);
}

static bool is_sent_again(enum retry_kind kind, unsigned status)
{
	struct retry r = {0};
	uint64_t ms;

	return pause_of(&r, kind, status, "", 7, &ms);
}

static void test_kinds(void)
{
	static const struct {
		unsigned status;
		bool read, repeat, bytes;
	} cases[] = {
		{200, false, false, false},
		{401, false, false, false},
		{404, false, false, false},
		{429, true, true, true},
		{500, false, false, false},
		{502, true, false, false},
		{503, true, true, false},
		{504, true, false, false},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		unsigned status = cases[i].status;

		ok(is_sent_again(RETRY_READ, status) == cases[i].read,
			"%u: a read is sent again or not", status);
		ok(is_sent_again(RETRY_REPEAT, status) == cases[i].repeat,
			"%u: what may be repeated is sent again or not", status);
		ok(is_sent_again(RETRY_BYTES, status) == cases[i].bytes,
			"%u: an upload's bytes are sent again or not", status);
	}
}

static void test_backoff(void)
{
	static const uint64_t most[] = {500, 1000, 2000, 4000};
	struct retry r = {0};
	uint64_t ms;

	for (size_t i = 0; i < ARRAY_LEN(most); i++) {
		ok(pause_of(&r, RETRY_READ, 503, "", (uint32_t)most[i], &ms),
			"a refused request is sent again");
		is_int(ms, most[i], "the pause may be as long as its bound");
	}
	ok(!pause_of(&r, RETRY_READ, 503, "", 0, &ms), "the fifth refusal is the last");
	r.tries = 0;
	r.pause = 0;
	ok(pause_of(&r, RETRY_READ, 503, "", 501, &ms), "another request");
	is_int(ms, 0, "full jitter: a pause may be nothing at all");
}

static void test_retry_after(void)
{
	struct retry r = {0};
	uint64_t ms;

	ok(pause_of(&r, RETRY_READ, 429, "3", 1500, &ms), "Retry-After in seconds");
	is_int(ms, 3500, "is waited for, and a bit more");
	ok(pause_of(&r, RETRY_READ, 429, "Sun, 06 Nov 1994 08:49:42 GMT", 0, &ms),
		"Retry-After as a date");
	is_int(ms, 5000, "is waited for");
	ok(pause_of(&r, RETRY_READ, 429, "Sun, 06 Nov 1994 08:49:30 GMT", 0, &ms),
		"a date in the past");
	is_int(ms, 0, "names no pause");
	r.tries = 0;
	ok(pause_of(&r, RETRY_READ, 429, "soon", 100, &ms), "what is neither");
	is_int(ms, 100, "names no pause either");
	ok(!pause_of(&r, RETRY_READ, 429, "31", 0, &ms), "31 s are too long to wait");
	ok(!pause_of(&r, RETRY_READ, 429, "4294967295", 0, &ms), "and so is any more");
}

static void test_total(void)
{
	struct retry r = {0};
	uint64_t ms, sum = 0;
	unsigned n = 0;

	for (; pause_of(&r, RETRY_READ, 429, "29", 0, &ms); n++) {
		sum += ms;
		r.tries = 0;
	}
	is_int(n, 2, "all pauses of a registry have a bound");
	is_int(sum, 58000, "a minute");
}

int main(void)
{
	test_kinds();
	test_backoff();
	test_retry_after();
	test_total();
	return done_testing();
}
