#include "term/spool.h"

#include "base/fd.h"
#include "limits.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>

struct spool_map {
	uint64_t end;
	char pad[56];
	char state[SPOOL_STATE];
	char ring[SPOOL_RING];
};

static int map(struct spool *s, int fd)
{
	void *p = mmap(NULL, sizeof(*s->map), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return -errno;
	*s = (struct spool){.fd = fd, .map = p};
	return 0;
}

int spool_make(struct spool *s)
{
	int fd = fd_memory("od-spool", sizeof(*s->map));
	int r = fd < 0 ? fd : map(s, fd);

	if (r < 0)
		fd_close(&fd);
	return r;
}

/* The room is never more than a terminal gives at a time. */
static size_t room_at(uint64_t end)
{
	size_t left = SPOOL_RING - end % SPOOL_RING;

	return left < SPOOL_READ ? left : SPOOL_READ;
}

/* Moves the end; the compiler may not move a store over it. */
static void set_end(struct spool *s, uint64_t end)
{
	__atomic_store_n(&s->map->end, end, __ATOMIC_RELEASE);
}

char *spool_room(struct spool *s, size_t *n)
{
	*n = room_at(s->map->end);
	return s->map->ring + s->map->end % SPOOL_RING;
}

/*
 * At every moment the SPOOL_READ bytes behind the end are zero: the next ones
 * are cleared before the end moves.
 */
struct str spool_commit(struct spool *s, size_t n)
{
	struct str got = str_make(s->map->ring + s->map->end % SPOOL_RING, n);
	size_t ahead = (s->map->end + SPOOL_READ) % SPOOL_RING;
	size_t first = n < SPOOL_RING - ahead ? n : SPOOL_RING - ahead;

	memset(s->map->ring + ahead, 0, first);
	memset(s->map->ring, 0, n - first);
	set_end(s, s->map->end + n);
	return got;
}

int spool_adopt(struct spool *s, int fd)
{
	struct stat st;
	int r;
	size_t at, room;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_size != (off_t)sizeof(*s->map))
		return -EBADMSG;
	r = map(s, fd);
	if (r < 0)
		return r;
	at = s->map->end % SPOOL_RING;
	room = room_at(s->map->end);
	while (room && s->map->ring[at + room - 1] == '\0')
		room--;
	/* As a commit, for what lies ahead of these bytes has not been cleared. */
	spool_commit(s, room);
	return 0;
}

void spool_free(struct spool *s)
{
	if (s->map)
		munmap(s->map, sizeof(*s->map));
	s->map = NULL;
	fd_close(&s->fd);
}

void *spool_state(struct spool *s)
{
	return s->map->state;
}

uint64_t spool_first(const struct spool *s)
{
	/* The room being read into is no longer what it was. */
	uint64_t kept = SPOOL_RING - SPOOL_READ;

	return s->map->end > kept ? s->map->end - kept : 0;
}

uint64_t spool_end(const struct spool *s)
{
	return s->map->end;
}

struct str spool_at(const struct spool *s, uint64_t offset)
{
	size_t at = offset % SPOOL_RING;
	uint64_t n = s->map->end - offset;

	if (n > SPOOL_RING - at)
		n = SPOOL_RING - at;
	return str_make(s->map->ring + at, (size_t)n);
}

void spool_reset(struct spool *s)
{
	memset(s->map->ring, 0, SPOOL_READ);
	set_end(s, 0);
}
