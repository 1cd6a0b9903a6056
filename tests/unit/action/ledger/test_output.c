#include "action/ledger/output.h"
#include "base/fd.h"
#include "limits.h"
#include "tests/tap.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static struct outputs o;
static int file;   /* what a crash leaves: the same file */
static bool known; /* to have been left by a process of this boot */

/* Byte n of every output here. */
static char byte_at(uint64_t n)
{
	uint64_t x = (n + 1) * 0x9e3779b97f4a7c15;

	return (char)(x >> 56 ^ x >> 23);
}

static void fresh(uint32_t blocks)
{
	outputs_close(&o);
	fd_close(&file);
	file = fd_create_memory("output", 0);
	if (outputs_open(&o, fd_dup(file, 0), blocks, known) != 0)
		exit(1);
}

static void crash(void)
{
	uint32_t blocks = o.blocks_max;

	outputs_close(&o);
	is_int(outputs_open(&o, fd_dup(file, 0), blocks, known), 0, "it is opened again");
}

static struct output *new_one(char name)
{
	uint8_t key[OUTPUT_KEY] = {(uint8_t)name};

	return output_new(&o, key);
}

static struct output *find_one(char name)
{
	for (struct output *x = o.oldest; x; x = x->newer)
		if (x->key[0] == (uint8_t)name)
			return x;
	return NULL;
}

/* n bytes more; the source is twice as long as what it gives. */
static void print(struct output *x, size_t n)
{
	char *p = malloc(n ? n : 1);
	uint64_t at = x->end - x->skip;

	for (size_t i = 0; i < n; i++)
		p[i] = byte_at(at + i);
	output_add(&o, x, str_make(p, n), 2 * (at + n));
	free(p);
}

/* Reads all of it; returns the bytes that are there, or -1 for a wrong one. */
static long check(const struct output *x, uint64_t end, size_t max, unsigned *gaps)
{
	struct buf out = BUF_INIT(1 << 20);
	struct output_part part = {0};
	long there = 0;

	*gaps = 0;
	for (uint64_t at = 0; at < end && there >= 0; at = part.next) {
		buf_reset(&out);
		if (output_read(&o, x, end, at, max, &out, &part) != 0 ||
			part.next - part.from != out.n ||
			(part.next == at && part.from == at)) {
			there = -1;
			break;
		}
		*gaps += part.from > at;
		for (size_t i = 0; i < out.n && there >= 0; i++)
			there = out.p[i] == byte_at(part.from + i) ? there + 1 : -1;
	}
	buf_free(&out);
	return there;
}

static void test_sizes(void)
{
	static const size_t steps[] = {1, 7, 4000, OUTPUT_DATA, OUTPUT_DATA + 1, 12000};
	uint8_t digest[SHA256_LEN], want[SHA256_LEN];
	unsigned gaps;

	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		struct output *x;
		struct sha256 h;
		uint64_t n = 0;

		fresh(64);
		x = new_one('a');
		sha256_init(&h);
		while (n < 30000) {
			print(x, steps[i]);
			for (size_t k = 0; k < steps[i]; k++, n++)
				sha256_update(&h, (char[]){byte_at(n)}, 1);
		}
		is_int(check(x, n, 999, &gaps), (long)n, "steps of %zu", steps[i]);
		crash();
		x = find_one('a');
		is_int((long)x->end, (long)n, "the same end");
		is_int((long)x->source, (long)(2 * n), "the same place in the source");
		is_int((long)x->skip, 0, "nothing to skip");
		is_int(check(x, n, 5000, &gaps), (long)n, "the same bytes");
		print(x, 100);
		for (size_t k = 0; k < 100; k++, n++)
			sha256_update(&h, (char[]){byte_at(n)}, 1);
		output_close(x, digest);
		sha256_final(&h, want);
		is_int(memcmp(digest, want, sizeof(want)), 0, "the digest of all");
	}
}

/* Killed in the middle of what spans blocks: the source gives its part once more. */
static void test_torn(void)
{
	struct output *x;
	unsigned gaps;

	for (uint32_t lost = 1; lost <= 3; lost++) {
		fresh(64);
		x = new_one('a');
		print(x, 1000);
		print(x, 3 * OUTPUT_DATA);
		is_int(x->end, 1000 + 3 * OUTPUT_DATA, "four blocks");
		is_int(ftruncate(file, (4 - (off_t)lost) * OUTPUT_BLOCK), 0, "cut");
		crash();
		x = find_one('a');
		is_int((long)x->end, (4 - lost) * OUTPUT_DATA, "what was complete");
		is_int((long)x->source, 2000, "from where the source goes on");
		is_int((long)x->skip, (long)x->end - 1000, "without what is known");
		print(x, 3 * OUTPUT_DATA);
		is_int((long)x->end, 1000 + 3 * OUTPUT_DATA, "it comes again");
		is_int(check(x, x->end, 4096, &gaps), (long)x->end, "byte for byte");
	}
	fresh(64);
	x = new_one('a');
	print(x, 2 * OUTPUT_DATA);
	is_int(pwrite(file, "?", 1, OUTPUT_BLOCK + 500), 1, "a byte that is another");
	crash();
	x = find_one('a');
	is_int((long)x->end, OUTPUT_DATA, "the block is not believed");
	is_int(pwrite(file, "?", 1, 3), 1, "nor a head");
	crash();
	ok(!find_one('a'), "nothing is left");
	is_int((long)o.free_n, 2, "but room");
}

static void test_limits(void)
{
	enum { BIG = OUTPUT_HEAD + OUTPUT_TAIL + (5 << 20) };
	struct output *x, *y;
	unsigned gaps;
	long there;

	fresh(OUTPUT_BLOCKS_MEMORY);
	x = new_one('a');
	for (size_t i = 0; i < BIG / 50000; i++)
		print(x, 50000);
	there = check(x, x->end, 65536, &gaps);
	ok(there >= OUTPUT_HEAD + OUTPUT_TAIL && there < BIG - (4 << 20), "its middle");
	is_int(gaps, 1, "is a gap");
	crash();
	x = find_one('a');
	ok(check(x, x->end, 65536, &gaps) >= there - OUTPUT_DATA && gaps == 1, "still");
	print(x, 1000000);
	ok(check(x, x->end, 65536, &gaps) > 0 && gaps == 1, "and further on");
	fresh(16);
	x = new_one('a');
	print(x, 10 * OUTPUT_DATA - 5);
	y = new_one('b');
	print(y, 10 * OUTPUT_DATA);
	ok(check(y, y->end, 4096, &gaps) >= 9 * OUTPUT_DATA, "what comes has room");
	there = check(x, x->end, 4096, &gaps);
	ok(there >= 6 * OUTPUT_DATA - 5 && there < 7 * OUTPUT_DATA, "of the largest");
	output_close(x, (uint8_t[SHA256_LEN]){0});
	print(y, 5 * OUTPUT_DATA);
	is_int(check(x, x->end, 4096, &gaps), 0, "of what has ended all goes");
	is_int(gaps, 1, "which is told");
	ok(check(y, y->end, 4096, &gaps) >= 14 * OUTPUT_DATA, "before others lose more");
	print(y, 20 * OUTPUT_DATA);
	there = check(y, y->end, 4096, &gaps);
	is_int(there, 16 * OUTPUT_DATA, "alone, it has all there is");
	output_del(&o, y);
	is_int(check(NULL, 10, 4096, &gaps), 0, "without an output");
	is_int(gaps, 1, "all is a gap");
}

static void test_full(void)
{
	struct rlimit was, small = {2 * OUTPUT_BLOCK + 700, RLIM_INFINITY};
	struct output *x;
	unsigned gaps;

	signal(SIGXFSZ, SIG_IGN);
	if (getrlimit(RLIMIT_FSIZE, &was) < 0)
		exit(1);
	fresh(64);
	x = new_one('a');
	small.rlim_max = was.rlim_max;
	is_int(setrlimit(RLIMIT_FSIZE, &small), 0, "a full disk");
	print(x, 2 * OUTPUT_DATA + 100);
	print(x, 2000);
	print(x, OUTPUT_DATA);
	is_int(check(x, x->end, 4096, &gaps), 2 * OUTPUT_DATA, "what had room");
	is_int(gaps, 1, "the rest is a gap");
	is_int(setrlimit(RLIMIT_FSIZE, &was), 0, "room again");
	print(x, 3 * OUTPUT_DATA);
	ok(check(x, x->end, 4096, &gaps) >= 4 * OUTPUT_DATA, "what comes then is kept");
	is_int(gaps, 1, "behind one gap");
}

static void test_ranges(void)
{
	struct buf out = BUF_INIT(100);
	struct output_part part;
	struct output *x;

	fresh(64);
	x = new_one('a');
	is_int(output_read(&o, x, 0, 0, 10, &out, &part), 0, "nothing yet");
	is_int((long)part.next, 0, "of nothing");
	is_int(output_read(&o, x, 0, 1, 10, &out, &part), ERR_RANGE, "beyond it");
	print(x, 50);
	is_int(output_read(&o, x, 50, 50, 10, &out, &part), 0, "the end");
	is_int((long)out.n, 0, "has no bytes");
	is_int(output_read(&o, x, 50, 40, 4, &out, &part), 0, "a part");
	is_int((long)part.next, 44, "of four");
	buf_free(&out);
}

int main(void)
{
	o.fd = file = -1;
	test_ranges();
	test_sizes();
	test_torn();
	known = true;
	test_sizes();
	test_limits();
	test_full();
	outputs_close(&o);
	fd_close(&file);
	return done_testing();
}
