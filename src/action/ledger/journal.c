#include "action/ledger/journal.h"

#include "base/crc.h"
#include "base/fd.h"
#include "limits.h"

#include <assert.h>
#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

enum { VERSION = 1, HEAD = 10, SUMMED = 8, MAGIC = sizeof(JOURNAL_MAGIC) - 1 };

_Static_assert((int)JOURNAL_FIRST == (int)MAGIC + (int)HEAD, "as promised");

static void journal_put_u32(uint8_t *p, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> (8 * i));
}

static uint32_t journal_get_u32(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Starts the CRC of a record with the checked bytes of its head. */
static uint32_t journal_crc_head(const uint8_t head[HEAD])
{
	return crc_update(0, str_make((const char *)head + SUMMED, HEAD - SUMMED));
}

static int journal_write_at(int fd, uint64_t at, struct iovec *v, int n)
{
	while (n) {
		ssize_t put = pwritev(fd, v, n, (off_t)at);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -errno;
		if (put == 0)
			return -EIO;
		at += (uint64_t)put;
		for (; n && (size_t)put >= v->iov_len; v++, n--)
			put -= (ssize_t)v->iov_len;
		if (n) {
			v->iov_base = (char *)v->iov_base + put;
			v->iov_len -= (size_t)put;
		}
	}
	return 0;
}

/* --- Reading ------------------------------------------------------------------ */

/*
 * Reads the record at j->size: 0 with *e, whose peek is in the buffer; 1: there is no
 * whole record; -errno.
 */
static int journal_read_record(
	const struct journal *j, uint8_t peek[JOURNAL_PEEK], struct journal_entry *e)
{
	static uint8_t piece[JOURNAL_PEEK];
	uint8_t head[HEAD];
	ssize_t got = fd_read_at(j->fd, j->size, head, HEAD);
	uint64_t n, done = 0;
	uint32_t crc;

	if (got < HEAD)
		return got < 0 ? (int)got : 1;
	n = journal_get_u32(head);
	if (n > JOURNAL_RECORD_MAX || head[9] != VERSION)
		return 1;
	*e = (struct journal_entry){.type = head[8], .at = j->size + HEAD, .n = n};
	crc = journal_crc_head(head);
	while (done < n) {
		size_t want = n - done < JOURNAL_PEEK ? (size_t)(n - done) : JOURNAL_PEEK;
		uint8_t *to = done ? piece : peek;

		got = fd_read_at(j->fd, e->at + done, to, want);
		if (got < (ssize_t)want)
			return got < 0 ? (int)got : 1;
		if (!done)
			e->peek = str_make((char *)peek, want);
		crc = crc_update(crc, str_make((char *)to, want));
		done += want;
	}
	return crc != journal_get_u32(head + 4);
}

static int journal_write_magic(struct journal *j)
{
	struct iovec v = {(char *)JOURNAL_MAGIC, MAGIC};
	int r = journal_write_at(j->fd, 0, &v, 1);

	if (r && ftruncate(j->fd, 0) < 0)
		return -errno;
	return r;
}

int journal_begin(struct journal *j, int fd, journal_fn *fn, void *ctx, uint64_t *torn)
{
	struct journal made = {.fd = fd, .size = MAGIC};
	uint8_t peek[JOURNAL_PEEK];
	char magic[MAGIC];
	ssize_t got = fd_read_at(fd, 0, magic, MAGIC);
	struct journal_entry e;
	off_t end;
	int r;

	if (got < 0)
		return (int)got;
	/* The writer was killed during its first write. */
	if (got < MAGIC && memcmp(magic, JOURNAL_MAGIC, (size_t)got) == 0) {
		r = journal_write_magic(&made);
		if (r)
			return r;
	} else if (got < MAGIC || memcmp(magic, JOURNAL_MAGIC, MAGIC) != 0) {
		return ERR_VERSION;
	}
	while ((r = journal_read_record(&made, peek, &e)) == 0) {
		r = fn(ctx, &e);
		if (r)
			return r;
		made.size = e.at + e.n;
	}
	if (r < 0)
		return r;
	end = lseek(fd, 0, SEEK_END);
	if (end < 0)
		return -errno;
	*torn = (uint64_t)end - made.size;
	made.torn = *torn > 0;
	*j = made;
	return 0;
}

int journal_read(const struct journal *j, uint64_t at, void *p, size_t n)
{
	return fd_read_all_at(j->fd, at, p, n);
}

/* --- Writing ------------------------------------------------------------------ */

void journal_collect(struct journal *j, struct buf *b)
{
	j->late = b;
}

int journal_flush(struct journal *j)
{
	struct iovec v;
	int r;

	if (!j->late || !j->late->n)
		return 0;
	v = (struct iovec){j->late->p, j->late->n};
	r = journal_write_at(j->fd, j->size - j->late->n, &v, 1);
	if (!r)
		buf_reset(j->late);
	return r;
}

/* 0: the record will be written with others; 1: it is too long for that; -errno. */
static int journal_add_buffered(
	struct journal *j, const struct iovec *v, int n, uint64_t size)
{
	size_t before;
	int r = 0;

	if (!j->late)
		return 1;
	if (j->late->n + size > JOURNAL_LATE_MAX)
		r = journal_flush(j);
	if (r || size > JOURNAL_LATE_MAX)
		return r ? r : 1;
	before = j->late->n;
	for (int i = 0; i < n; i++)
		buf_put(j->late, v[i].iov_base, v[i].iov_len);
	r = j->late->err;
	if (r) {
		j->late->n = before;
		j->late->err = 0;
	}
	return r;
}

void journal_undo(struct journal *j, uint64_t size)
{
	j->size = size;
	/* If ftruncate fails, the next journal_add truncates first. */
	j->torn = ftruncate(j->fd, (off_t)size) < 0;
}

int journal_add(struct journal *j, uint8_t type, const struct str *parts, size_t parts_n,
	bool sync, uint64_t *at)
{
	uint8_t head[HEAD] = {[8] = type, [9] = VERSION};
	struct iovec v[JOURNAL_PARTS + 1] = {{head, HEAD}};
	uint32_t crc = journal_crc_head(head);
	uint64_t n = 0;
	int r;

	assert(parts_n <= JOURNAL_PARTS);
	for (size_t i = 0; i < parts_n; i++) {
		v[i + 1] = (struct iovec){(char *)parts[i].p, parts[i].n};
		crc = crc_update(crc, parts[i]);
		n += parts[i].n;
	}
	if (n > JOURNAL_RECORD_MAX)
		return ERR_LIMIT;
	journal_put_u32(head, (uint32_t)n);
	journal_put_u32(head + 4, crc);
	/* Torn bytes would follow the new record and could be read as records. */
	if (j->torn && ftruncate(j->fd, (off_t)j->size) < 0)
		return -errno;
	j->torn = true;
	r = journal_add_buffered(j, v, (int)parts_n + 1, HEAD + n);
	if (r == 1)
		r = journal_write_at(j->fd, j->size, v, (int)parts_n + 1);
	if (!r && sync && fdatasync(j->fd) < 0)
		r = -errno;
	if (r) {
		journal_undo(j, j->size);
		return r;
	}
	j->torn = false;
	*at = j->size + HEAD;
	j->size += HEAD + n;
	return 0;
}
