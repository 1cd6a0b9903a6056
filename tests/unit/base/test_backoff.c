#include "base/backoff.h"

#include "tests/tap.h"

int main(void)
{
	uint64_t pause = 0;

	is_int((long long)(pause = backoff(pause, 100, 500)), 100, "the first");
	is_int((long long)(pause = backoff(pause, 100, 500)), 200, "twice as much");
	is_int((long long)(pause = backoff(pause, 100, 500)), 400, "and again");
	is_int((long long)(pause = backoff(pause, 100, 500)), 500, "up to the most");
	is_int((long long)(pause = backoff(pause, 100, 500)), 500, "where it stays");
	is_int((long long)backoff(0, 100, 50), 50, "a first one that is too much");
	return done_testing();
}
