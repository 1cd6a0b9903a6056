#include "base/fd.h"
#include "limits.h"
#include "shell/spool.h"
#include "tests/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* The byte at an offset of what is written here; never NUL. */
static char byte_at(uint64_t offset)
{
	return (char)(offset * 0x9e3779b97f4a7c15 >> 56 | 1);
}

static void fill(char *p, size_t n, uint64_t offset)
{
	for (size_t i = 0; i < n; i++)
		p[i] = byte_at(offset + i);
}

/* Writes n bytes as a reader of a terminal does, up to step bytes at a time. */
static void put(struct spool *s, size_t n, size_t step)
{
	while (n) {
		size_t room, part = step;
		char *p = spool_get_space(s, &room);
		uint64_t at = spool_get_end(s);

		part = part < room ? part : room;
		part = part < n ? part : n;
		fill(p, part, at);
		if (spool_commit(s, part).p != p)
			ok(false, "commit returns what was filled");
		n -= part;
	}
}

/* What is kept of `end` bytes, head and tail. */
static uint64_t kept_of(uint64_t end)
{
	return end > SPOOL_HEAD + SPOOL_TAIL ? SPOOL_HEAD + SPOOL_TAIL : end;
}

/*
 * Bytes that are not what they should be, missing ones included. The first one's
 * value is that of offset `shift`.
 */
static uint64_t wrong_since(struct spool *s, uint64_t end, uint64_t shift)
{
	uint64_t wrong =
		end > spool_get_end(s) ? end - spool_get_end(s) : spool_get_end(s) - end;
	struct spool_gap gap = spool_gap(s);
	uint64_t at = 0, seen = 0;

	while (at < spool_get_end(s)) {
		struct str part = spool_get_bytes(s, at);

		if (at >= gap.from && at < gap.to) {
			wrong += part.n;
			at = gap.to;
			continue;
		}
		if (!part.n)
			return wrong + 1;
		for (size_t i = 0; i < part.n; i++)
			wrong += part.p[i] != byte_at(shift + at + i);
		at += part.n;
		seen += part.n;
	}
	return wrong + (seen != kept_of(end)) + spool_get_bytes(s, at).n;
}

static uint64_t wrong_bytes(struct spool *s, uint64_t end)
{
	return wrong_since(s, end, 0);
}

/* What a process that is killed now leaves behind. */
static struct spool killed(struct spool *s)
{
	struct spool next = {.fd = -1};
	int fd = fd_dup(s->fd, 3);

	spool_free(s);
	if (spool_adopt(&next, fd) < 0)
		ok(false, "a spool can be adopted");
	return next;
}

static struct spool make(void)
{
	struct spool s = {.fd = -1};

	if (spool_make(&s) < 0)
		ok(false, "a spool can be made");
	return s;
}

static void check_new(void)
{
	struct spool s = make();
	const char *state = spool_get_state(&s);
	size_t room, set = 0;
	char *p = spool_get_space(&s, &room);

	for (size_t i = 0; i < SPOOL_STATE; i++)
		set += state[i] != 0;
	is_int(set, 0, "a new spool's state is zero");
	is_int(spool_get_end(&s), 0, "it ends where it begins");
	is_int(spool_gap(&s).from, spool_gap(&s).to, "nothing is lost");
	is_int(spool_get_bytes(&s, 0).n, 0, "nothing stands there");
	ok(p && room == SPOOL_READ, "there is room for one read");
	spool_free(&s);
	is_int(s.fd, -1, "free closes it");
	spool_free(&s);
}

enum { RING = SPOOL_TAIL + 2 * SPOOL_READ, BANK = SPOOL_HEAD + RING };

static void check_wrap(size_t step, size_t part, int parts)
{
	struct spool s = make();
	struct spool_gap gap;
	uint64_t total = 0, wrong = 0;

	for (int i = 0; i < parts; i++) {
		size_t n = part + (size_t)i;

		put(&s, n, step);
		total += n;
		wrong += wrong_bytes(&s, total);
	}
	is_int(wrong, 0, "head and tail are kept, %zu at a time", step);
	gap = spool_gap(&s);
	is_int(gap.from, SPOOL_HEAD, "a megabyte of head");
	is_int(gap.to, total - SPOOL_TAIL, "as much tail as promised");
	is_int(spool_get_bytes(&s, gap.from).n + spool_get_bytes(&s, gap.to - 1).n, 0,
		"nothing stands in between");
	spool_free(&s);
}

/* Places of the end: the beginning, the seam, close to the ring's end, wrapped. */
static const uint64_t places[] = {0, 1, 70000, SPOOL_HEAD - 1, SPOOL_HEAD, SPOOL_HEAD + 1,
	SPOOL_HEAD + SPOOL_TAIL, BANK - 2 * SPOOL_READ, BANK - SPOOL_READ - 1,
	BANK - SPOOL_READ, BANK, BANK + 17, BANK + RING - SPOOL_READ / 2};

static void check_kill_between(uint64_t place)
{
	struct spool s = make();

	put(&s, place, SPOOL_READ);
	s = killed(&s);
	is_int(wrong_bytes(&s, place), 0, "killed at %llu: all is there",
		(unsigned long long)place);
	put(&s, 100, 7);
	is_int(wrong_bytes(&s, place + 100), 0, "and it goes on");
	spool_free(&s);
}

/* Killed after the read of n bytes, before commit. */
static uint64_t killed_after_read(struct spool *s, size_t n)
{
	uint64_t end = spool_get_end(s);
	size_t room;
	char *p = spool_get_space(s, &room);

	n = n < room ? n : room;
	fill(p, n, end);
	*s = killed(s);
	return end + n;
}

static void check_kill_after_read(uint64_t place, size_t n)
{
	struct spool s = make();
	uint64_t end, wrong = 0;

	put(&s, place, SPOOL_READ);
	end = killed_after_read(&s, n);
	wrong += wrong_bytes(&s, end);
	/* And once more, for what the first death may have left uncleared. */
	for (int i = 0; i < 3; i++) {
		s = killed(&s);
		wrong += wrong_bytes(&s, end);
		end = killed_after_read(&s, n / 2 + 1);
		wrong += wrong_bytes(&s, end);
	}
	put(&s, 3 * SPOOL_READ, SPOOL_READ);
	wrong += wrong_bytes(&s, end + 3 * SPOOL_READ);
	is_int(wrong, 0, "read %zu bytes at %llu, killed, four times: nothing is lost", n,
		(unsigned long long)place);
	spool_free(&s);
}

static size_t ring_place(uint64_t offset)
{
	return offset < SPOOL_HEAD ? offset : SPOOL_HEAD + (offset - SPOOL_HEAD) % RING;
}

/* Where the bank begins in which the byte of that offset stands at p. */
static char *bank_of(char *p, uint64_t offset)
{
	return p - ring_place(offset);
}

/*
 * Killed inside commit, while the bytes ahead are being cleared: done by hand, as
 * far as `cleared` bytes of them.
 */
static void check_kill_in_commit(uint64_t place, size_t n, size_t cleared)
{
	struct spool s = make();
	uint64_t end;
	size_t room;
	char *p;

	put(&s, place, SPOOL_READ);
	p = spool_get_space(&s, &room);
	n = n < room ? n : room;
	fill(p, n, place);
	for (size_t i = 0; i < cleared && i < n; i++)
		if (place + SPOOL_READ + i >= BANK)
			bank_of(p, place)[ring_place(place + SPOOL_READ + i)] = '\0';
	s = killed(&s);
	ok(wrong_bytes(&s, place + n) == 0,
		"killed at %llu with %zu of %zu bytes cleared", (unsigned long long)place,
		cleared, n);
	end = killed_after_read(&s, 10);
	ok(wrong_bytes(&s, end) == 0, "and a second time behind that");
	spool_free(&s);
}

/* KiB of the machine's memory that the spool holds. */
static long held_kb(const struct spool *s)
{
	struct stat st;

	return fstat(s->fd, &st) < 0 ? -1 : (long)st.st_blocks / 2;
}

static void check_reset(uint64_t used)
{
	struct spool s = make();
	char *state = spool_get_state(&s);
	uint64_t end;

	put(&s, used, SPOOL_READ);
	memset(state, 'x', SPOOL_STATE);
	spool_drop_before(&s, spool_get_end(&s));
	is_int(spool_get_end(&s), 0, "after a reset nothing is there");
	ok(held_kb(&s) <= 20, "and the memory is given back: %ld KiB are left",
		held_kb(&s));
	s = killed(&s);
	is_int(spool_get_end(&s), 0,
		"what was there before does not come back with a kill");
	state = spool_get_state(&s);
	ok(state[0] == 'x' && state[SPOOL_STATE - 1] == 'x', "the state stays");
	end = killed_after_read(&s, 33);
	is_int(wrong_bytes(&s, end), 0, "nor does it mix with what comes");
	put(&s, 3 * SPOOL_READ, 1000);
	is_int(wrong_bytes(&s, end + 3 * SPOOL_READ), 0, "nor with more");
	spool_free(&s);
}

/* What is kept of `end` bytes when those before `from` are forgotten. */
static void check_keep(uint64_t end, uint64_t from)
{
	struct spool s = make();
	uint64_t shift, left, wrong = 0;

	put(&s, end, SPOOL_READ);
	shift = end > SPOOL_HEAD + SPOOL_TAIL ? end - SPOOL_TAIL : 0;
	shift = from > shift ? from : shift;
	left = end - shift;
	spool_drop_before(&s, from);
	wrong += wrong_since(&s, left, shift);
	s = killed(&s);
	wrong += wrong_since(&s, left, shift);
	/* The bytes that follow go on counting from what was kept. */
	for (int i = 0; i < 5000; i++) {
		size_t room;
		char *p = spool_get_space(&s, &room);

		fill(p, room, shift + spool_get_end(&s));
		left += spool_commit(&s, room).n;
	}
	wrong += wrong_since(&s, left, shift);
	is_int(wrong, 0, "of %llu bytes those from %llu on are kept",
		(unsigned long long)end, (unsigned long long)from);
	spool_free(&s);
}

/* Killed while the bytes to be kept are copied: done by hand, into the other bank. */
static void check_kill_in_keep(void)
{
	struct spool s = make(), t = {.fd = -1};
	uint64_t end = 3 * SPOOL_READ, after;

	put(&s, end, SPOOL_READ);
	/* A second view of the same memory makes the copy, and is never heard of. */
	if (spool_adopt(&t, fd_dup(s.fd, 3)) < 0)
		ok(false, "a spool can be adopted");
	spool_drop_before(&t, SPOOL_READ);
	spool_drop_before(&t, 0);
	spool_drop_before(&t, SPOOL_READ);
	is_int(wrong_since(&s, SPOOL_READ, 2 * SPOOL_READ), 0,
		"what is kept is in one bank");
	after = killed_after_read(&s, 50);
	ok(after == SPOOL_READ + 50 && spool_get_end(&s) == after, "and read into there");
	spool_free(&t);
	spool_free(&s);
}

static long resident_kb(void)
{
	long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (f && fscanf(f, "%*d %ld", &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void check_resident(void)
{
	struct spool s = make();
	long base = resident_kb(), peak = 0;
	uint64_t total = 0;

	for (int i = 0; i < 64; i++) {
		put(&s, 1 << 20, SPOOL_READ);
		total += 1 << 20;
		peak = resident_kb() > peak ? resident_kb() : peak;
	}
	ok(peak - base < 2048, "64 MiB go through %ld KiB", peak - base);
	base = resident_kb();
	is_int(wrong_bytes(&s, total), 0, "and are there");
	ok(resident_kb() - base < 2048, "read again they take %ld KiB",
		resident_kb() - base);
	base = resident_kb();
	spool_drop_before(&s, total - SPOOL_TAIL);
	ok(resident_kb() - base < 2048, "moved they take %ld KiB", resident_kb() - base);
	is_int(wrong_since(&s, SPOOL_TAIL, total - SPOOL_TAIL), 0, "and are there still");
	spool_drop_before(&s, spool_get_end(&s));
	ok(held_kb(&s) == 4, "an empty one holds one page: %ld KiB", held_kb(&s));
	spool_free(&s);
}

static void check_nul(void)
{
	struct spool s = make();
	size_t room;
	char *p = spool_get_space(&s, &room);

	memcpy(p, "a\0b\0\0", 5);
	s = killed(&s);
	is_mem(spool_get_bytes(&s, 0).p, spool_get_bytes(&s, 0).n, "a\0b", 3,
		"NUL bytes count, but for those at the very end of a lost read");
	spool_free(&s);
	s = make();
	p = spool_get_space(&s, &room);
	memcpy(p, "a\0b\0\0", 5);
	spool_commit(&s, 5);
	s = killed(&s);
	is_mem(spool_get_bytes(&s, 0).p, spool_get_bytes(&s, 0).n, "a\0b\0\0", 5,
		"committed ones stay");
	spool_free(&s);
}

static void check_strangers(void)
{
	struct spool s = {.fd = -1};
	int fd = fd_create_memory("test", 4096);

	is_int(spool_adopt(&s, fd), -EBADMSG, "a file of another size is no spool");
	ok(fcntl(fd, F_GETFD) >= 0, "it stays the caller's");
	ok(s.fd == -1 && !s.map, "and nothing is taken over");
	fd_close(&fd);
	is_int(spool_adopt(&s, -1), -EBADF, "nor is what is no file at all");
}

int main(void)
{
	static const size_t reads[] = {1, SPOOL_READ - 1, SPOOL_READ};
	static const uint64_t froms[] = {0, 1, SPOOL_HEAD - 1, SPOOL_HEAD,
		SPOOL_HEAD + 70000, SPOOL_HEAD + SPOOL_TAIL};

	check_new();
	check_wrap(SPOOL_READ, BANK / 4, 9);
	check_wrap(1777, BANK / 3, 5);
	check_wrap(97, BANK / 2, 3);
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		check_kill_between(places[i]);
		for (size_t k = 0; k < ARRAY_LEN(reads); k++) {
			check_kill_after_read(places[i], reads[k]);
			check_kill_in_commit(places[i], reads[k], reads[k] / 2);
			check_kill_in_commit(places[i], reads[k], reads[k]);
		}
	}
	check_reset(1);
	check_reset(SPOOL_HEAD + 99);
	check_reset(2 * RING + 99);
	for (size_t i = 0; i < ARRAY_LEN(froms); i++) {
		check_keep(SPOOL_HEAD + SPOOL_TAIL, froms[i]);
		check_keep(SPOOL_HEAD + SPOOL_TAIL + 12345, froms[i]);
		check_keep(BANK + RING + 777, froms[i]);
	}
	check_kill_in_keep();
	check_resident();
	check_nul();
	check_strangers();
	return done_testing();
}
