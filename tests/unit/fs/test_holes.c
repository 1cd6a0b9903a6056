#include "fs/holes.h"

#include "base/buf.h"
#include "base/fd.h"
#include "tests/tap.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SIZE = 64 << 10 };

/* Blocks of data, of zeros, and of data with zeros beside it; the end is a hole. */
static void fill(char *p)
{
	memset(p, 0, SIZE);
	memset(p, 'a', 100);
	p[20000] = 'b';
	memset(p + 28672, 'c', 4096);
	p[40959] = 'd';
}

static void check_file(const char *all, size_t step)
{
	char path[] = "/tmp/od-holes-XXXXXX";
	struct holes h = {0};
	char *got = malloc(SIZE + 1);
	int fd = mkstemp(path), r = 0;
	struct stat st;

	for (size_t at = 0; at < SIZE && !r; at += step)
		r = holes_write(
			&h, fd, str_make(all + at, step < SIZE - at ? step : SIZE - at));
	is_int(r ? r : holes_end(&h, fd), 0, "pieces of %zu are written", step);
	is_int(pread(fd, got, SIZE + 1, 0), SIZE, "the size of the file");
	is_int(memcmp(got, all, SIZE), 0, "its content");
	if (fstat(fd, &st) == 0)
		ok(st.st_blocks * 512 < SIZE, "it has holes: %lld blocks",
			(long long)st.st_blocks);
	close(fd);
	unlink(path);
	free(got);
}

static void test_next(void)
{
	static char text[3 * 4096];
	struct holes h = {.at = 4000};
	struct str piece = str_make(text, sizeof(text)), data;
	uint64_t at = 0;

	text[200] = 'x'; /* the second block of the file; the piece begins in its first */
	ok(holes_next(&h, &piece, &data, &at), "a run of data");
	is_int(at, 4096, "begins with its block");
	is_int(data.n, 4096, "and ends with it");
	ok(!holes_next(&h, &piece, &data, &at), "zeros are no data");
	is_int(piece.n, 0, "and are used up");
	is_int(h.at, 4000 + sizeof(text), "all of it counts");
}

int main(void)
{
	static const size_t steps[] = {1, 7, 512, 4095, 4096, 4097, 30000, SIZE};
	char *all = malloc(SIZE);

	fill(all);
	for (size_t i = 0; i < ARRAY_LEN(steps); i++)
		check_file(all, steps[i]);
	test_next();
	free(all);
	return done_testing();
}
