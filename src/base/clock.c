#include "base/clock.h"

#include <time.h>

uint64_t clock_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

uint64_t clock_ms(void)
{
	return clock_us() / 1000u;
}

uint64_t clock_min_deadline(uint64_t ms, uint64_t deadline)
{
	uint64_t then = clock_ms() + ms;

	return then < deadline ? then : deadline;
}

double clock_unix_time(void)
{
	struct timespec t;
	int64_t ms;

	clock_gettime(CLOCK_REALTIME, &t);
	ms = (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
	return (double)ms / 1000;
}

int64_t clock_unix_s(void)
{
	return (int64_t)time(NULL);
}
