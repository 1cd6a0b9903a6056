#include "proc/hasher.h"

#include "base/fd.h"
#include "tests/tap.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static char *bytes;
static int file;

/* Appends n bytes to the file, from the place at on, in pieces of step. */
static void put(struct hasher *h, size_t at, size_t n, size_t step)
{
	while (n) {
		size_t now = n < step ? n : step;

		if (fd_write_all(file, bytes + at, now))
			abort();
		hasher_put(h, str_make(bytes + at, now));
		at += now;
		n -= now;
	}
}

static void begin(struct hasher *h)
{
	if (ftruncate(file, 0) < 0 || lseek(file, 0, SEEK_SET) < 0)
		abort();
	hasher_begin(h, file);
}

static bool is_hash_of(const uint8_t *digest, size_t n)
{
	uint8_t wanted[SHA256_LEN];

	sha256_compute(str_make(bytes, n), wanted);
	return hash_equal(digest, wanted, SHA256_LEN);
}

static void test_lengths(void)
{
	static const size_t lengths[] = {0, 1, HASHER_FROM - 1, HASHER_FROM,
		HASHER_FROM + 1, HASHER_FROM + HASHER_STEP, HASHER_FROM + HASHER_STEP + 1,
		4 * HASHER_FROM};
	uint8_t digest[SHA256_LEN];
	struct hasher h;

	for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
		for (size_t step = 65536 + 1; step < 4 * HASHER_FROM; step *= 40) {
			begin(&h);
			put(&h, 0, lengths[i], step);
			ok((h.pid != 0) == (lengths[i] >= HASHER_FROM),
				"%zu bytes: who hashes", lengths[i]);
			is_int(hasher_end(&h, digest), 0, "it ends");
			ok(is_hash_of(digest, lengths[i]), "its digest");
			is_int(h.pid, 0, "nobody is left");
		}
	}
}

static void test_killed(void)
{
	uint8_t digest[SHA256_LEN];
	struct hasher h;

	begin(&h);
	put(&h, 0, HASHER_FROM, 65536);
	ok(h.pid > 0 && kill(h.pid, SIGKILL) == 0, "the other process is killed");
	put(&h, HASHER_FROM, 2 * HASHER_FROM, 65536);
	ok(hasher_end(&h, digest) < 0, "and that is told");
	hasher_drop(&h);
	is_int(h.pid, 0, "twice is once");
}

static void test_stopped(void)
{
	uint8_t digest[SHA256_LEN];
	struct hasher h;

	begin(&h);
	put(&h, 0, HASHER_FROM, 65536);
	ok(h.pid > 0 && kill(h.pid, SIGSTOP) == 0, "the other process is stopped");
	put(&h, HASHER_FROM, HASHER_FROM, 65536);
	is_int(hasher_end(&h, digest), -ETIMEDOUT, "it is not waited for");
}

static void test_cut(void)
{
	uint8_t digest[SHA256_LEN];
	struct hasher h;

	begin(&h);
	put(&h, 0, HASHER_FROM, 65536);
	hasher_put(&h, str_make(bytes, HASHER_FROM));
	is_int(hasher_end(&h, digest), ERR_CLOSED, "a file shorter than was said");
}

int main(void)
{
	FILE *f = tmpfile();

	bytes = malloc(4 * HASHER_FROM);
	if (!f || !bytes)
		return 1;
	for (size_t i = 0; i < 4 * HASHER_FROM; i++)
		bytes[i] = (char)(i * 2654435761u >> 13);
	file = fileno(f);
	signal(SIGPIPE, SIG_IGN);
	test_lengths();
	test_killed();
	test_stopped();
	test_cut();
	fclose(f);
	free(bytes);
	return done_testing();
}
