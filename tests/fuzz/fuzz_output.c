/*
 * A file of outputs that somebody else has written. The first byte chooses between the
 * bytes as they are, and blocks that are made of a few bytes each, with right sums.
 */
#include "action/ledger/output.h"
#include "base/fd.h"

#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

enum {
	BLOCKS_MAX = 16,
	SMALL = 12, /* bytes that a block is made of */
	INDEX_AT = 16,
	SOURCE_AT = 24,
	BEFORE_AT = 40,
	N_AT = 72,
	SUM_AT = 76,
	OWN_AT = 84,
	FIRST = OUTPUT_BLOCK - OUTPUT_DATA
};

static void put_number(uint8_t *p, uint64_t v, size_t n)
{
	memcpy(p, &v, n);
}

/* Keys and places of which there are few, so that they meet. */
static void make_block(uint8_t block[OUTPUT_BLOCK], const uint8_t p[SMALL])
{
	static const uint64_t far[] = {0, 250, 4000, 1 << 20, UINT64_MAX / OUTPUT_BLOCK,
		UINT64_MAX / OUTPUT_BLOCK - 1, UINT64_MAX, UINT32_MAX};
	uint64_t n = (uint64_t)(p[3] | p[4] << 8) % (OUTPUT_DATA + 2);

	memset(block, p[0], OUTPUT_BLOCK);
	memset(block, p[1] & 3, OUTPUT_KEY);
	put_number(block + INDEX_AT, far[p[1] >> 5] + p[2] % 8, 8);
	put_number(block + SOURCE_AT, p[5], 8);
	put_number(block + SOURCE_AT + 8, far[p[6] & 7] + p[7], 8);
	memset(block + BEFORE_AT, p[8], SHA256_LEN);
	put_number(block + N_AT, n, 4);
	if (n > OUTPUT_DATA)
		n = OUTPUT_DATA;
	put_number(
		block + SUM_AT, (uint32_t)crc32_z(0, block + FIRST, n) ^ (p[9] == 1), 4);
	put_number(block + OWN_AT, (uint32_t)crc32_z(0, block, OWN_AT), 4);
}

/* Each byte is there or in a gap, and parts follow each other. */
static void read_all(const struct outputs *o, const struct output *x)
{
	struct buf out = BUF_INIT(1 << 16);
	struct output_part part;
	uint64_t at = 0;

	for (int i = 0; i < 64 && at < x->end; i++, at = part.next) {
		buf_reset(&out);
		if (output_read(o, x, x->end, at, 5000, &out, &part) != 0)
			abort();
		if (part.from < at || part.next < part.from || part.next > x->end ||
			part.next - part.from != out.n || part.next == at)
			abort();
	}
	buf_free(&out);
}

static size_t held_of(const struct outputs *o)
{
	size_t n = o->free_n;

	for (const struct output *x = o->oldest; x; x = x->newer)
		n += x->held;
	return n;
}

static void use(struct outputs *o)
{
	uint8_t digest[SHA256_LEN];
	struct output *next;

	for (struct output *x = o->oldest; x; x = x->newer) {
		read_all(o, x);
		if (x->end < UINT64_MAX / 4) {
			output_add(o, x, STR("more"), x->source + 4);
			read_all(o, x);
		}
	}
	if (held_of(o) > o->blocks_n)
		abort();
	for (struct output *x = o->oldest; x; x = next) {
		next = x->newer;
		if (x->end % 2)
			output_close(x, digest);
		else
			output_del(o, x);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct outputs o;
	int fd = fd_create_memory("fuzz", 0), again;
	uint8_t block[OUTPUT_BLOCK];
	size_t made = 0;

	if (fd < 0)
		abort();
	if (n && data[0] & 1) {
		for (size_t at = 1; at + SMALL <= n && made < BLOCKS_MAX; at += SMALL) {
			make_block(block, data + at);
			if (pwrite(fd, block, OUTPUT_BLOCK,
				    (off_t)(made++ * OUTPUT_BLOCK)) < 0)
				abort();
		}
	} else if (pwrite(fd, data, n, 0) != (ssize_t)n) {
		abort();
	}
	again = fd_dup(fd, 0);
	if (again < 0 || outputs_open(&o, fd, BLOCKS_MAX, n % 2) != 0)
		abort();
	use(&o);
	outputs_close(&o);
	/* What we have written ourselves is read, too. */
	if (outputs_open(&o, again, BLOCKS_MAX, n % 2) != 0)
		abort();
	use(&o);
	outputs_close(&o);
	return 0;
}
