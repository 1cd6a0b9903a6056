/* Our checksum beside zlib's, byte for byte of every length. */
#include "base/crc.h"

#include "tests/tap.h"

#include <stdlib.h>
#include <zlib.h>

enum { MOST = 1100, BIG = 1 << 20 };

static uint32_t by_zlib(uint32_t crc, const char *p, size_t n)
{
	return (uint32_t)crc32(crc, (const unsigned char *)p, (unsigned)n);
}

/* Bytes from a generator of pseudo-random numbers, alike each time. */
static void fill(char *p, size_t n)
{
	uint32_t v = 1;

	for (size_t i = 0; i < n; i++) {
		v = v * 1664525 + 1013904223;
		p[i] = (char)(v >> 24);
	}
}

static void test_known(void)
{
	is_int(crc_update(0, STR("123456789")), 0xcbf43926, "the value that all tell");
	is_int(crc_update(0, STR("")), 0, "of nothing");
	is_int(crc_update(7, STR("")), 7, "of nothing more");
	is_int(crc_update(7, str_make(NULL, 0)), 7, "which may be nowhere");
}

/* In memory of just that length, so that no byte beside it is looked at. */
static void test_lengths(const char *all)
{
	bool good = true;

	for (size_t n = 0; n <= MOST && good; n++) {
		for (size_t from = 0; from < 17 && good; from += 4) {
			char *p = malloc(n ? n : 1);

			if (!p)
				abort();
			memcpy(p, all + from, n);
			good = crc_update((uint32_t)n * 77, str_make(p, n)) ==
				by_zlib((uint32_t)n * 77, p, n);
			free(p);
			if (!good)
				printf("# %zu bytes from %zu\n", n, from);
		}
	}
	ok(good, "every length is as zlib has it");
}

static void test_splits(const char *all)
{
	uint32_t want = by_zlib(0, all, MOST);
	bool good = true;

	for (size_t at = 0; at <= MOST && good; at++) {
		uint32_t crc = crc_update(0, str_make(all, at));

		good = crc_update(crc, str_make(all + at, MOST - at)) == want;
	}
	ok(good, "in two pieces, wherever they meet");
}

static void test_big(char *all)
{
	is_int(crc_update(0, str_make(all + 1, BIG - 1)), by_zlib(0, all + 1, BIG - 1),
		"a long one");
	memset(all, 0, BIG);
	is_int(crc_update(0, str_make(all, BIG)), by_zlib(0, all, BIG), "zeros");
	memset(all, 0xff, BIG);
	is_int(crc_update(0, str_make(all, BIG)), by_zlib(0, all, BIG), "ones");
}

int main(void)
{
	char *all = malloc(BIG);

	if (!all)
		abort();
	fill(all, BIG);
	test_known();
	test_lengths(all);
	test_splits(all);
	test_big(all);
	free(all);
	return done_testing();
}
