#include "base/fd.h"
#include "proc/process/process_spool.h"
#include "tests/tap.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static struct process_spool_meta meta;
static struct process_spool spool;
static int pair[2];

/* The byte at an offset of what is written here; NUL among them. */
static char byte_at(uint64_t offset)
{
	return (char)(offset * 0x9e3779b97f4a7c15 >> 56);
}

static void make(bool no_splice)
{
	memset(&meta, 0, sizeof(meta));
	if (process_spool_make(&spool, &meta) < 0 || fd_pipe(pair) < 0)
		ok(false, "a spool and a pipe");
	spool.no_splice = no_splice;
}

static void unmake(void)
{
	process_spool_free(&spool);
	fd_close(&pair[0]);
	fd_close(&pair[1]);
}

/* Writes n bytes into the pipe and appends them all. */
static void put(size_t n)
{
	uint64_t end = spool.end + n;
	char bytes[4096];

	while (spool.end < end) {
		size_t part =
			end - spool.end < sizeof(bytes) ? end - spool.end : sizeof(bytes);

		for (size_t i = 0; i < part; i++)
			bytes[i] = byte_at(spool.end + i);
		if (write(pair[1], bytes, part) != (ssize_t)part)
			ok(false, "the pipe takes %zu bytes", part);
		while (part) {
			ssize_t got = process_spool_append(&spool, pair[0], 65536);

			if (got <= 0) {
				ok(false, "append gives %zd", got);
				return;
			}
			part -= (size_t)got;
		}
	}
}

/* Bytes that are not what they should be, from at on, read max at a time. */
static uint64_t wrong_from(uint64_t at, size_t max)
{
	struct buf out = BUF_INIT(1 << 20);
	struct process_part part = {0};
	uint64_t wrong = 0;

	while (at < spool.end) {
		buf_reset(&out);
		if (process_spool_read(&spool, at, max, &out, &part) < 0 ||
			part.next - part.from != out.n || !out.n)
			return wrong + 1;
		for (size_t i = 0; i < out.n; i++)
			wrong += out.p[i] != byte_at(part.from + i);
		at = part.next;
	}
	buf_free(&out);
	return wrong;
}

static uint64_t held(void)
{
	struct stat st;

	return fstat(spool.fd, &st) < 0 ? 0 : (uint64_t)st.st_blocks * 512;
}

static void check_sizes(bool no_splice)
{
	static const size_t sizes[] = {
		1, 2, 4095, 4096, 4097, 65535, 65536, 65537, 100000};

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		make(no_splice);
		put(sizes[i]);
		is_int((long long)spool.end, (long long)sizes[i], "%zu bytes are counted",
			sizes[i]);
		is_int((long long)(wrong_from(0, 65536) + wrong_from(0, 4097) +
			       wrong_from(sizes[i] - 1, 1)),
			0, "%zu bytes are read as they were written", sizes[i]);
		put(sizes[i]);
		is_int((long long)wrong_from(0, 65536), 0, "and %zu behind them",
			sizes[i]);
		unmake();
	}
}

static void check_ends(bool no_splice)
{
	struct buf out = BUF_INIT(64);
	struct process_part part;

	make(no_splice);
	is_int(process_spool_append(&spool, pair[0], 10), -EAGAIN, "an empty pipe");
	is_int(process_spool_read(&spool, 0, 10, &out, &part), 0, "an empty spool");
	is_int((long long)(part.next + out.n), 0, "has nothing");
	is_int(process_spool_read(&spool, 1, 10, &out, &part), ERR_RANGE,
		"beyond the end is an error");
	put(3);
	fd_close(&pair[1]);
	is_int(process_spool_append(&spool, pair[0], 10), 0, "the end of the pipe");
	is_int((long long)spool.end, 3, "adds nothing");
	buf_free(&out);
	unmake();
}

static void check_trim(void)
{
	struct buf out = BUF_INIT(1 << 20);
	struct process_part part;

	make(false);
	put(1 << 20);
	process_spool_trim(&spool, 65535);
	is_int((long long)wrong_from(65535, 4096), 0, "what is kept is whole");
	process_spool_trim(&spool, 100);
	is_int((long long)meta.start, 65535, "what is gone stays gone");
	process_spool_trim(&spool, (1 << 20) - 10);
	is_int((long long)process_spool_size(&spool), 10, "ten bytes are kept");
	ok(held() <= 65536 * 2, "the others are given back: %llu are held",
		(unsigned long long)held());
	is_int(process_spool_read(&spool, 5, 4, &out, &part), 0, "read over a gap");
	is_int((long long)part.from, (1 << 20) - 10, "begins behind it");
	is_int((long long)part.next, (1 << 20) - 6, "with as many as asked for");
	process_spool_trim(&spool, 5 << 20);
	is_int((long long)meta.start, 1 << 20, "beyond the end is the end");
	put(70000);
	is_int((long long)wrong_from(1 << 20, 65536), 0, "it goes on behind");
	buf_free(&out);
	unmake();
}

/* Without holes in files what is kept moves to another one. */
static void check_move(void)
{
	make(false);
	put(300000);
	spool.no_holes = true;
	meta.start = 290000;
	ok(process_spool_is_wasteful(&spool), "much is held for nothing");
	is_int(process_spool_compact(&spool), 0, "it moves");
	ok(!process_spool_is_wasteful(&spool), "then not");
	ok(held() < 65536, "the old file is gone: %llu are held",
		(unsigned long long)held());
	is_int((long long)spool.end, 300000, "the end is the same");
	is_int((long long)wrong_from(290000, 65536), 0, "and the bytes are");
	put(5000);
	is_int((long long)wrong_from(290000, 65536), 0, "and those behind them");
	unmake();
}

static void check_send(void)
{
	char got[1000];
	int sockets[2];
	size_t n = 0;

	make(false);
	put(1000);
	process_spool_trim(&spool, 10);
	if (fd_socketpair(SOCK_STREAM, sockets) < 0)
		ok(false, "sockets");
	is_int(process_spool_send(&spool, 9, 5, sockets[0]), ERR_RANGE, "in the gap");
	is_int(process_spool_send(&spool, 1000, 5, sockets[0]), ERR_RANGE, "at the end");
	is_int(process_spool_send(&spool, 10, 5, sockets[0]), 5, "five bytes");
	is_int(process_spool_send(&spool, 15, 5000, sockets[0]), 985,
		"all that are left");
	is_int(read(sockets[1], got, sizeof(got)), 990, "they arrive");
	for (size_t i = 0; i < 990; i++)
		n += got[i] != byte_at(10 + i);
	is_int((long long)n, 0, "as they were written");
	for (int i = 0; i < 100000 && process_spool_send(&spool, 10, 990, sockets[0]) > 0;
		i++)
		;
	is_int(process_spool_send(&spool, 10, 990, sockets[0]), -EAGAIN, "a full socket");
	fd_close(&sockets[1]);
	ok(process_spool_send(&spool, 10, 990, sockets[0]) < 0, "and one without a peer");
	fd_close(&sockets[0]);
	unmake();
}

/* A later process of the server finds the same file and the same record. */
static void restore(const char *when, uint64_t end)
{
	int fd = dup(spool.fd);

	process_spool_free(&spool);
	is_int(process_spool_restore(&spool, &meta, fd), 0, "restored: %s", when);
	is_int((long long)spool.end, (long long)end, "%s: each byte is there", when);
	is_int((long long)wrong_from(meta.start, 65536), 0, "%s: and right", when);
	spool.no_splice = true;
	put(5000);
	is_int((long long)wrong_from(meta.start, 65536), 0, "%s: more follows", when);
}

/* The landing area when a kill comes between two steps. */
static void check_kills(void)
{
	char bytes[100];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = byte_at(1000 + i);
	make(true);
	put(1000);
	restore("nothing under way", 1000);
	unmake();

	make(true);
	put(1000);
	meta.land_arm = 1;
	restore("before the read", 1000);
	unmake();

	make(true);
	put(1000);
	meta.land_arm = 1;
	memcpy(meta.landing, bytes, sizeof(bytes));
	restore("behind the read", 1000 + sizeof(bytes));
	unmake();

	make(true);
	put(1000);
	meta.land_arm = 1;
	meta.land_at = 1000;
	meta.land_n = sizeof(bytes);
	memcpy(meta.landing, bytes, sizeof(bytes));
	restore("before the write", 1000 + sizeof(bytes));
	unmake();

	make(true);
	put(1000 + sizeof(bytes));
	meta.land_at = 1000;
	meta.land_n = sizeof(bytes);
	memcpy(meta.landing, bytes, sizeof(bytes));
	restore("behind the write", 1000 + sizeof(bytes));
	unmake();

	make(true);
	put(1000 + sizeof(bytes));
	memcpy(meta.landing + 50, bytes + 50, sizeof(bytes) - 50);
	restore("amid the clearing", 1000 + sizeof(bytes));
	unmake();

	make(false);
	put(100000);
	meta.start = 70000;
	restore("before a hole", 100000);
	process_spool_trim(&spool, 100000);
	ok(held() < 100000 - 65536 + 65536, "the hole is made up for");
	unmake();
}

/* A record that makes no sense does no harm. */
static void check_garbage(void)
{
	make(false);
	put(1000);
	meta.start = 5000;
	meta.land_n = 1 << 20;
	meta.land_at = 1 << 30;
	is_int(process_spool_restore(&spool, &meta, spool.fd), 0,
		"garbage is taken over");
	is_int((long long)meta.start, 1000, "it begins at its end at most");
	is_int(meta.land_n, 0, "a landing that cannot be is none");
	unmake();
	memset(&meta, 0, sizeof(meta));
	is_int(process_spool_restore(&spool, &meta, -1), -EBADMSG, "no file");
}

/* Where the file cannot grow the bytes are dropped, and the source goes on. */
static void check_no_space(void)
{
	struct rlimit before, few = {.rlim_cur = 4096, .rlim_max = RLIM_INFINITY};

	getrlimit(RLIMIT_FSIZE, &before);
	few.rlim_max = before.rlim_max;
	signal(SIGXFSZ, SIG_IGN);
	make(false);
	put(4000);
	setrlimit(RLIMIT_FSIZE, &few);
	if (write(pair[1], "xxxx", 4) != 4)
		ok(false, "a write");
	is_int(process_spool_append(&spool, pair[0], 4), 4, "what fits is kept");
	while (spool.end < 4096 && write(pair[1], "x", 1) == 1 &&
		process_spool_append(&spool, pair[0], 1) == 1)
		;
	is_int(write(pair[1], "y", 1), 1, "one more");
	ok(process_spool_append(&spool, pair[0], 1) < 0, "is an error, not a wait");
	setrlimit(RLIMIT_FSIZE, &before);
	unmake();
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	for (int no_splice = 0; no_splice < 2; no_splice++) {
		check_sizes(no_splice);
		check_ends(no_splice);
	}
	check_trim();
	check_move();
	check_send();
	check_kills();
	check_garbage();
	check_no_space();
	return done_testing();
}
