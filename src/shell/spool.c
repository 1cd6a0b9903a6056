#include "shell/spool.h"

#include "base/fd.h"
#include "limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum {
	PAGE_MAX = 65536, /* the largest page of any machine we run on */
	SMALL = 4096,     /* the smallest page */
	WINDOW = 256 << 10,
	/*
	 * The space to read into, and what a crash inside a commit may have cleared
	 * already.
	 */
	RING = SPOOL_TAIL + 2 * SPOOL_READ,
	BANK = SPOOL_HEAD + RING,
	BANK_PAGES = (BANK + PAGE_MAX - 1) / PAGE_MAX * PAGE_MAX,
};

_Static_assert(WINDOW % PAGE_MAX == 0, "windows are whole pages");
_Static_assert(SPOOL_HEAD % WINDOW == 0, "the ring begins with a window");

/*
 * A kill between any two instructions does no harm:
 *
 * The SPOOL_READ bytes after the end are zero at every moment. A commit first clears the
 * next bytes, if they have been used, and then moves the end. If spool_adopt finds other
 * bytes after the end, they were read and the rest of the commit is missing: it repeats
 * the commit.
 *
 * A single word holds the end and the number of the bank in use. The other bank is
 * empty, or its content has no meaning. spool_drop_before fills the other bank with the
 * bytes that are kept, switches over with a single store and empties the old bank;
 * spool_adopt empties the other bank again, in case that step is missing.
 */
struct spool_map {
	uint64_t word; /* end, times two, plus the number of the bank in use */
	char pad[56];
	char state[SPOOL_STATE]; /* near the word: they share a page */
	char unused[PAGE_MAX - 64 - SPOOL_STATE];
	char banks[2][BANK_PAGES];
};

_Static_assert(offsetof(struct spool_map, banks) == PAGE_MAX, "banks are whole pages");

static unsigned spool_get_bank_index(const struct spool *s)
{
	return s->map->word & 1;
}

static char *spool_get_bank(const struct spool *s)
{
	return s->map->banks[spool_get_bank_index(s)];
}

uint64_t spool_get_end(const struct spool *s)
{
	return s->map->word >> 1;
}

/* Only this function changes the word; the compiler may not move a store over it. */
static void spool_set_word(struct spool *s, unsigned no, uint64_t end)
{
	__atomic_store_n(&s->map->word, end << 1 | no, __ATOMIC_RELEASE);
}

/* The index of the byte at offset in its bank. */
static size_t spool_get_index(uint64_t offset)
{
	if (offset < SPOOL_HEAD)
		return (size_t)offset;
	return SPOOL_HEAD + (size_t)((offset - SPOOL_HEAD) % RING);
}

/* The number of bytes from offset on that lie in the same window. */
static size_t spool_get_run_length(uint64_t offset)
{
	size_t at = spool_get_index(offset), left = WINDOW - at % WINDOW;

	return left < BANK - at ? left : BANK - at;
}

/* The space to read into is never more than a terminal gives at a time. */
static size_t spool_get_read_space(uint64_t end)
{
	size_t left = spool_get_run_length(end);

	return left < SPOOL_READ ? left : SPOOL_READ;
}

/* Takes the window around p out of the resident set; its bytes stay in the file. */
static void spool_release_window(struct spool *s, char *p)
{
	size_t at = (size_t)(p - s->map->banks[0]) % BANK_PAGES;
	size_t begin = at - at % WINDOW;
	size_t n = BANK_PAGES - begin < WINDOW ? BANK_PAGES - begin : WINDOW;

	/* A failure costs memory only. */
	madvise(p - at % WINDOW, n, MADV_DONTNEED);
}

/* Returns the first n bytes of a bank to the system: they are zero again. */
static void spool_empty_bank(struct spool *s, unsigned no, size_t n)
{
	char *b = s->map->banks[no];
	off_t at = b - (char *)s->map;
	int how = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;

	/* Keeps the first page, because the next command needs it again. */
	if (n <= SMALL || fallocate(s->fd, how, at, (off_t)n) < 0)
		/* Also for a file on a file system without holes. */
		memset(b, 0, n);
}

static int spool_map_fd(struct spool *s, int fd)
{
	void *p = mmap(NULL, sizeof(*s->map), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return -errno;
	*s = (struct spool){.fd = fd, .map = p};
	return 0;
}

int spool_make(struct spool *s)
{
	int fd = fd_create_memory("od-spool", sizeof(*s->map));
	int r = fd < 0 ? fd : spool_map_fd(s, fd);

	if (r < 0)
		fd_close(&fd);
	return r;
}

char *spool_get_space(struct spool *s, size_t *n)
{
	*n = spool_get_read_space(spool_get_end(s));
	return spool_get_bank(s) + spool_get_index(spool_get_end(s));
}

/* Clears the n bytes from offset on if the ring holds older bytes there. */
static void spool_clear_range(struct spool *s, uint64_t offset, size_t n)
{
	size_t at = spool_get_index(offset);
	size_t first = n < BANK - at ? n : BANK - at;

	if (offset + n <= BANK)
		return;
	memset(spool_get_bank(s) + at, 0, first);
	memset(spool_get_bank(s) + SPOOL_HEAD, 0, n - first);
}

struct str spool_commit(struct spool *s, size_t n)
{
	uint64_t end = spool_get_end(s);
	char *got = spool_get_bank(s) + spool_get_index(end);

	spool_clear_range(s, end + SPOOL_READ, n);
	spool_set_word(s, spool_get_bank_index(s), end + n);
	/* These bytes begin a window: the window before it is not read again for now. */
	if (end && spool_get_index(end) % WINDOW == 0)
		spool_release_window(s, spool_get_bank(s) + spool_get_index(end - 1));
	return str_make(got, n);
}

int spool_adopt(struct spool *s, int fd)
{
	struct stat st;
	const char *p;
	size_t n;
	int r;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_size != (off_t)sizeof(*s->map))
		return -EBADMSG;
	r = spool_map_fd(s, fd);
	if (r < 0)
		return r;
	spool_empty_bank(s, !spool_get_bank_index(s), BANK);
	p = spool_get_space(s, &n);
	while (n && p[n - 1] == '\0')
		n--;
	/* This is a full commit, because the bytes after these have not been cleared. */
	spool_commit(s, n);
	return 0;
}

void spool_free(struct spool *s)
{
	if (s->map)
		munmap(s->map, sizeof(*s->map));
	s->map = NULL;
	s->seen = NULL;
	fd_close(&s->fd);
}

void *spool_get_state(struct spool *s)
{
	return s->map->state;
}

struct spool_gap spool_gap(const struct spool *s)
{
	struct spool_gap gap = {SPOOL_HEAD, SPOOL_HEAD};

	if (spool_get_end(s) > SPOOL_HEAD + SPOOL_TAIL)
		gap.to = spool_get_end(s) - SPOOL_TAIL;
	return gap;
}

struct str spool_get_bytes(struct spool *s, uint64_t offset)
{
	struct spool_gap gap = spool_gap(s);
	uint64_t end = spool_get_end(s);
	size_t at = spool_get_index(offset), n = spool_get_run_length(offset);
	char *p = spool_get_bank(s) + at, *window = p - at % WINDOW;

	if (offset >= end || (offset >= gap.from && offset < gap.to))
		return str_make("", 0);
	if (s->seen && s->seen != window)
		spool_release_window(s, s->seen);
	s->seen = window;
	return str_make(p, n < end - offset ? n : (size_t)(end - offset));
}

void spool_drop_before(struct spool *s, uint64_t from)
{
	struct spool_gap gap = spool_gap(s);
	uint64_t end = spool_get_end(s);
	unsigned old = spool_get_bank_index(s);
	char *to = s->map->banks[!old];
	struct str part;
	size_t kept = 0;

	if (end == 0)
		return;
	if (gap.from < gap.to && from < gap.to)
		from = gap.to;
	while ((part = spool_get_bytes(s, from + kept)).n) {
		memcpy(to + kept, part.p, part.n);
		kept += part.n;
		/* The copy may have touched two windows. */
		spool_release_window(s, to + kept - part.n);
		spool_release_window(s, to + kept - 1);
	}
	spool_set_word(s, !old, kept);
	s->seen = NULL;
	/* Bytes after the end are zero, unless the ring has wrapped. */
	spool_empty_bank(s, old, end < BANK - SPOOL_READ ? (size_t)end : BANK);
}
