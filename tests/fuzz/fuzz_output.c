/* A file of outputs that somebody else has written. */
#include "base/fd.h"
#include "event/output.h"

#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

enum { N_AT = 72, SUM_AT = 76, OWN_AT = 84, FIRST = OUTPUT_BLOCK - OUTPUT_DATA };

/* Sums that are right, for what is behind them to be looked at. */
static void make_whole(uint8_t *p)
{
	uint32_t n, sum;

	memcpy(&n, p + N_AT, sizeof(n));
	n %= OUTPUT_DATA + 1;
	memcpy(p + N_AT, &n, sizeof(n));
	sum = (uint32_t)crc32_z(0, p + FIRST, n);
	memcpy(p + SUM_AT, &sum, sizeof(sum));
	sum = (uint32_t)crc32_z(0, p, OWN_AT);
	memcpy(p + OWN_AT, &sum, sizeof(sum));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct outputs o;
	struct buf out = BUF_INIT(1 << 16);
	struct output_part part;
	int fd = fd_memory("fuzz", 0);
	uint8_t *copy = malloc(n + 1);

	if (!copy)
		abort();
	memcpy(copy, data, n);
	for (size_t at = 0; at + OUTPUT_BLOCK <= n && data[0] & 1; at += OUTPUT_BLOCK)
		make_whole(copy + at);
	if (fd < 0 || pwrite(fd, copy, n, 0) != (ssize_t)n ||
		outputs_open(&o, fd, 8) != 0)
		abort();
	for (struct output *x = o.oldest; x; x = x->newer) {
		uint64_t at = 0;

		for (int i = 0; i < 64 && at < x->end; i++, at = part.next) {
			buf_reset(&out);
			if (output_read(&o, x, x->end, at, 5000, &out, &part) != 0)
				abort();
		}
		if (x->end < UINT64_MAX / 4)
			output_add(&o, x, STR("more"), 1);
	}
	free(copy);
	buf_free(&out);
	outputs_close(&o);
	return 0;
}
