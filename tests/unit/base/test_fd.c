/* Reading all there is of a number of bytes, however it comes. */
#include "base/fd.h"

#include "base/clock.h"
#include "tests/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

static void test_files(void)
{
	static const char text[] = "0123456789";
	int fd = fd_create_memory("test", 0), top = fd_open("/", O_RDONLY, 0);
	char got[16];

	ok(fd_write_all(fd, text, 10) == 0 && lseek(fd, 0, SEEK_SET) == 0, "a file");
	is_int(fd_read_full(fd, got, 4), 4, "as much as was asked for");
	is_int(fd_read_full(fd, got, sizeof(got)), 6, "what is left at its end");
	is_mem(got, 6, text + 4, 6, "which goes on where the other one ended");
	is_int(fd_read_full(fd, got, sizeof(got)), 0, "nothing behind it");
	is_int(fd_read_at(fd, 8, got, sizeof(got)), 2, "the end, by offset");
	is_int(fd_read_all_at(fd, 8, got, 2), 0, "all of it");
	is_int(fd_read_all_at(fd, 8, got, 3), ERR_CLOSED, "more than there is");
	is_int(fd_read_full(top, got, 1), -EISDIR, "a folder");
	is_int(fd_read_at(top, 0, got, 1), -EISDIR, "the same by offset");
	is_int(fd_read_full(-1, got, 1), -EBADF, "none");
	fd_close(&top);
	fd_close(&fd);
}

/* A packet pipe gives no more at a time than was written at a time. */
static void test_pieces(void)
{
	char got[8];
	int pair[2];

	if (pipe2(pair, O_CLOEXEC | O_DIRECT) < 0) {
		skip("pieces", "no packets in pipes here");
		return;
	}
	ok(write(pair[1], "ab", 2) == 2 && write(pair[1], "c", 1) == 1 &&
			write(pair[1], "def", 3) == 3,
		"three pieces");
	is_int(fd_read_full(pair[0], got, 3), 3, "two of them at once");
	fd_close(&pair[1]);
	is_int(fd_read_full(pair[0], got + 3, 5), 3, "and the last one");
	is_mem(got, 6, "abcdef", 6, "are what was written");
	fd_close(&pair[0]);
}

static void test_wait(void)
{
	int pair[2];

	is_int(pipe2(pair, O_CLOEXEC), 0, "a pipe");
	is_int(fd_wait(pair[0], POLLIN, clock_ms() - 1), 0, "nothing, and no time left");
	is_int(fd_wait(pair[0], POLLIN, clock_ms() + 5), 0, "nothing comes");
	is_int(fd_wait(pair[1], POLLOUT, 0), 1, "what is true needs no time");
	is_int(fd_write_all(pair[1], "x", 1), 0, "a byte");
	is_int(fd_wait(pair[0], POLLIN, UINT64_MAX), 1, "is seen");
	fd_close(&pair[0]);
	fd_close(&pair[1]);
}

int main(void)
{
	test_files();
	test_pieces();
	test_wait();
	return done_testing();
}
