#include "base/fd.h"
#include "limits.h"
#include "term/spool.h"
#include "tests/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* The byte at an offset of what is written here; never NUL. */
static char byte_at(uint64_t offset)
{
	return (char)(1 + (offset * 31 + offset / 251) % 255);
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
		char *p = spool_room(s, &room);
		uint64_t at = spool_end(s);

		part = part < room ? part : room;
		part = part < n ? part : n;
		fill(p, part, at);
		if (spool_commit(s, part).p != p)
			ok(false, "commit returns what was filled");
		n -= part;
	}
}

/* Bytes from the first on that are not what they should be, missing ones included. */
static uint64_t wrong_bytes(const struct spool *s, uint64_t end)
{
	uint64_t wrong = end > spool_end(s) ? end - spool_end(s) : spool_end(s) - end;
	uint64_t at = spool_first(s);

	while (at < spool_end(s)) {
		struct str part = spool_at(s, at);

		if (!part.n)
			return wrong + spool_end(s) - at;
		for (size_t i = 0; i < part.n; i++)
			wrong += part.p[i] != byte_at(at + i);
		at += part.n;
	}
	return wrong;
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
	const char *state = spool_state(&s);
	size_t room, set = 0;
	char *p = spool_room(&s, &room);

	for (size_t i = 0; i < SPOOL_STATE; i++)
		set += state[i] != 0;
	is_int(set, 0, "a new spool's state is zero");
	is_int(spool_first(&s), 0, "it begins at offset 0");
	is_int(spool_end(&s), 0, "and ends there");
	is_int(spool_at(&s, 0).n, 0, "nothing stands there");
	ok(p && room == SPOOL_READ, "there is room for one read");
	spool_free(&s);
	is_int(s.fd, -1, "free closes it");
	spool_free(&s);
}

static void check_wrap(size_t step)
{
	struct spool s = make();
	uint64_t total = 0, wrong = 0;

	for (int i = 0; i < 50; i++) {
		size_t n = SPOOL_RING / 13 + (size_t)i;

		put(&s, n, step);
		total += n;
		wrong += wrong_bytes(&s, total);
	}
	is_int(wrong, 0, "the ring keeps the newest bytes, %zu at a time", step);
	is_int(spool_end(&s) - spool_first(&s), SPOOL_RING - SPOOL_READ,
		"as many as promised");
	spool_free(&s);
}

/* Places of the end: the beginning, the middle, close to the ring's end, wrapped. */
static const uint64_t places[] = {0, 1, SPOOL_READ, 70000, SPOOL_RING - 2 * SPOOL_READ,
	SPOOL_RING - SPOOL_READ - 1, SPOOL_RING - SPOOL_READ, SPOOL_RING - 1, SPOOL_RING,
	SPOOL_RING + 17, 2 * SPOOL_RING - SPOOL_READ / 2, 3 * SPOOL_RING + 12345};

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
	uint64_t end = spool_end(s);
	size_t room;
	char *p = spool_room(s, &room);

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
	put(&s, SPOOL_RING / 2, SPOOL_READ);
	wrong += wrong_bytes(&s, end + SPOOL_RING / 2);
	is_int(wrong, 0, "read %zu bytes at %llu, killed, four times: nothing is lost", n,
		(unsigned long long)place);
	spool_free(&s);
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
	char *ring, *p;

	put(&s, place, SPOOL_READ);
	p = spool_room(&s, &room);
	ring = p - place % SPOOL_RING;
	n = n < room ? n : room;
	fill(p, n, place);
	for (size_t i = 0; i < cleared && i < n; i++)
		ring[(place + SPOOL_READ + i) % SPOOL_RING] = '\0';
	s = killed(&s);
	ok(wrong_bytes(&s, place + n) == 0,
		"killed at %llu with %zu of %zu bytes cleared", (unsigned long long)place,
		cleared, n);
	end = killed_after_read(&s, 10);
	ok(wrong_bytes(&s, end) == 0, "and a second time behind that");
	spool_free(&s);
}

static void check_reset(void)
{
	struct spool s = make();
	char *state = spool_state(&s);
	uint64_t end;

	put(&s, 2 * SPOOL_RING + 99, SPOOL_READ);
	memset(state, 'x', SPOOL_STATE);
	spool_reset(&s);
	is_int(spool_end(&s), 0, "after a reset nothing is there");
	is_int(spool_first(&s), 0, "and offsets begin again");
	s = killed(&s);
	is_int(spool_end(&s), 0, "what was there before does not come back with a kill");
	state = spool_state(&s);
	ok(state[0] == 'x' && state[SPOOL_STATE - 1] == 'x', "the state stays");
	end = killed_after_read(&s, 33);
	is_int(wrong_bytes(&s, end), 0, "nor does it mix with what comes");
	put(&s, 3 * SPOOL_READ, 1000);
	is_int(wrong_bytes(&s, end + 3 * SPOOL_READ), 0, "nor with more");
	spool_free(&s);
}

static void check_nul(void)
{
	struct spool s = make();
	size_t room;
	char *p = spool_room(&s, &room);

	memcpy(p, "a\0b\0\0", 5);
	s = killed(&s);
	is_mem(spool_at(&s, 0).p, spool_at(&s, 0).n, "a\0b", 3,
		"NUL bytes count, but for those at the very end of a lost read");
	spool_free(&s);
	s = make();
	p = spool_room(&s, &room);
	memcpy(p, "a\0b\0\0", 5);
	spool_commit(&s, 5);
	s = killed(&s);
	is_mem(spool_at(&s, 0).p, spool_at(&s, 0).n, "a\0b\0\0", 5,
		"committed ones stay");
	spool_free(&s);
}

static void check_strangers(void)
{
	struct spool s = {.fd = -1};
	int fd = fd_memory("test", 4096);

	is_int(spool_adopt(&s, fd), -EBADMSG, "a file of another size is no spool");
	ok(fcntl(fd, F_GETFD) >= 0, "it stays the caller's");
	ok(s.fd == -1 && !s.map, "and nothing is taken over");
	fd_close(&fd);
	is_int(spool_adopt(&s, -1), -EBADF, "nor is what is no file at all");
}

int main(void)
{
	static const size_t reads[] = {1, 17, SPOOL_READ - 1, SPOOL_READ};

	check_new();
	check_wrap(SPOOL_READ);
	check_wrap(1777);
	check_wrap(1);
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		check_kill_between(places[i]);
		for (size_t k = 0; k < ARRAY_LEN(reads); k++) {
			check_kill_after_read(places[i], reads[k]);
			check_kill_in_commit(places[i], reads[k], 0);
			check_kill_in_commit(places[i], reads[k], reads[k] / 2);
			check_kill_in_commit(places[i], reads[k], reads[k]);
		}
	}
	check_reset();
	check_nul();
	check_strangers();
	return done_testing();
}
