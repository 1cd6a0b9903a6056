#include "proc/process/process_spool.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	PUNCH = 65536,   /* released at once: a system call for 16 pages */
	SKIP = 4096,     /* read at once if there is no memory to keep it */
	READ_AT = 65536, /* copied at once */
};

int process_spool_make(struct process_spool *s, struct process_spool_meta *meta)
{
	int fd = fd_create_memory("od-process", 0);

	if (fd < 0)
		return fd;
	*s = (struct process_spool){.fd = fd, .meta = meta};
	return 0;
}

void process_spool_free(struct process_spool *s)
{
	fd_close(&s->fd);
}

uint64_t process_spool_size(const struct process_spool *s)
{
	return s->end - s->meta->start;
}

static bool process_spool_is_nomem(int err)
{
	return err == -ENOSPC || err == -ENOMEM || err == -EFBIG || err == -EDQUOT;
}

/* Makes n bytes a gap, with everything in front of them. */
static int process_spool_skip(struct process_spool *s, size_t n)
{
	if (ftruncate(s->fd, (off_t)(s->end + n)) < 0)
		return -errno;
	s->end += n;
	process_spool_trim(s, s->end);
	return 0;
}

/* Moves what the landing area holds into the file. */
static int process_spool_store(struct process_spool *s)
{
	struct process_spool_meta *m = s->meta;
	size_t n = m->land_n;
	ssize_t put = pwrite(s->fd, m->landing, n, (off_t)m->land_at);
	int r = 0;

	if (put == (ssize_t)n)
		s->end = m->land_at + n;
	else
		r = process_spool_skip(s, n);
	__atomic_store_n(&m->land_n, 0, __ATOMIC_RELEASE);
	memset(m->landing, 0, n);
	return r;
}

/* Reads through the landing area: a kill at any moment leaves a trace of each byte. */
static ssize_t process_spool_land(struct process_spool *s, int source, size_t n)
{
	struct process_spool_meta *m = s->meta;
	ssize_t got;
	int r;

	__atomic_store_n(&m->land_arm, 1, __ATOMIC_RELEASE);
	got = read(source, m->landing, n < sizeof(m->landing) ? n : sizeof(m->landing));
	if (got < 0)
		got = -errno;
	if (got > 0) {
		m->land_at = s->end;
		__atomic_store_n(&m->land_n, (uint32_t)got, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&m->land_arm, 0, __ATOMIC_RELEASE);
	if (got <= 0)
		return got;
	r = process_spool_store(s);
	return r < 0 ? r : got;
}

/* Takes bytes out of a pipe for which there is no memory. */
static ssize_t process_spool_drop(struct process_spool *s, int source, size_t n)
{
	char bytes[SKIP];
	ssize_t got = read(source, bytes, n < sizeof(bytes) ? n : sizeof(bytes));
	int r;

	if (got <= 0)
		return got < 0 ? -errno : 0;
	r = process_spool_skip(s, (size_t)got);
	return r < 0 ? r : got;
}

ssize_t process_spool_append(struct process_spool *s, int source, size_t n)
{
	loff_t at = (loff_t)s->end;
	ssize_t got;
	int err;

	if (s->no_splice)
		return process_spool_land(s, source, n);
	do
		got = splice(
			source, NULL, s->fd, &at, n, SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
	while (got < 0 && errno == EINTR);
	if (got >= 0) {
		s->end += (uint64_t)got;
		return got;
	}
	err = -errno;
	if (process_spool_is_nomem(err))
		return process_spool_drop(s, source, n);
	/* An old seccomp filter answers EPERM where it means ENOSYS. */
	if (err != -EINVAL && err != -ENOSYS && err != -EPERM)
		return err;
	s->no_splice = true;
	return process_spool_land(s, source, n);
}

int process_spool_restore(
	struct process_spool *s, struct process_spool_meta *meta, int fd)
{
	struct stat st;
	size_t n = sizeof(meta->landing);

	*s = (struct process_spool){.fd = fd, .meta = meta};
	if (fstat(fd, &st) < 0 || st.st_size < 0) {
		process_spool_free(s);
		return -EBADMSG;
	}
	s->end = (uint64_t)st.st_size;
	if (meta->start > s->end)
		meta->start = s->end;
	/* The area was zero before the read. */
	if (!meta->land_n && meta->land_arm) {
		while (n && meta->landing[n - 1] == '\0')
			n--;
		meta->land_at = s->end;
		meta->land_n = (uint32_t)n;
	}
	meta->land_arm = 0;
	if (meta->land_n > sizeof(meta->landing) || meta->land_at > s->end)
		meta->land_n = 0;
	if (meta->land_n && process_spool_store(s) < 0)
		meta->land_n = 0;
	memset(meta->landing, 0, sizeof(meta->landing));
	return 0;
}

void process_spool_trim(struct process_spool *s, uint64_t offset)
{
	uint64_t whole;

	if (offset > s->end)
		offset = s->end;
	if (offset > s->meta->start)
		s->meta->start = offset;
	whole = s->meta->start / PUNCH * PUNCH;
	if (whole <= s->punched)
		return;
	/*
	 * After a kill in between, the next call releases the memory again: from offset 0
	 * on.
	 */
	if (fallocate(s->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		    (off_t)s->punched, (off_t)(whole - s->punched)) < 0)
		s->no_holes = true;
	else
		s->punched = whole;
}

bool process_spool_is_wasteful(const struct process_spool *s)
{
	uint64_t kept = process_spool_size(s);

	return s->no_holes && s->meta->start - s->punched > kept + PUNCH;
}

/* Copies what is kept to the same offsets of another file. */
static int process_spool_copy(const struct process_spool *s, int to)
{
	uint64_t at = s->meta->start;
	loff_t out = (loff_t)at;

	if (lseek(to, out, SEEK_SET) < 0)
		return -errno;
	while (at < s->end) {
		off_t in = (off_t)at;
		ssize_t n = sendfile(to, s->fd, &in, (size_t)(s->end - at));

		if (n <= 0)
			return n < 0 ? -errno : ERR_CLOSED;
		at += (uint64_t)n;
	}
	return ftruncate(to, (off_t)s->end) < 0 ? -errno : 0;
}

int process_spool_compact(struct process_spool *s)
{
	int fd = fd_create_memory("od-process", 0);
	int r = fd < 0 ? fd : process_spool_copy(s, fd);

	if (r < 0) {
		fd_close(&fd);
		return r;
	}
	fd_close(&s->fd);
	s->fd = fd;
	s->punched = s->meta->start;
	return 0;
}

int process_spool_read(const struct process_spool *s, uint64_t at, size_t max,
	struct buf *out, struct process_part *part)
{
	uint64_t from = at < s->meta->start ? s->meta->start : at;
	uint64_t left;
	char *space;
	int r;

	if (at > s->end)
		return ERR_RANGE;
	left = s->end - from;
	if (left > max)
		left = max;
	*part = (struct process_part){from, from + left};
	while (left) {
		size_t n = left < READ_AT ? (size_t)left : READ_AT;

		space = buf_reserve(out, n);
		if (!space)
			return out->err;
		r = fd_read_all_at(s->fd, part->next - left, space, n);
		if (r < 0)
			return r;
		buf_commit(out, n);
		left -= n;
	}
	return 0;
}

ssize_t process_spool_send(const struct process_spool *s, uint64_t at, size_t n, int sock)
{
	off_t from = (off_t)at;
	ssize_t sent;

	if (at < s->meta->start || at >= s->end)
		return ERR_RANGE;
	if (n > s->end - at)
		n = (size_t)(s->end - at);
	do
		sent = sendfile(sock, s->fd, &from, n);
	while (sent < 0 && errno == EINTR);
	if (sent >= 0)
		return sent;
	return errno == ENOSYS || errno == EPERM ? -EINVAL : -errno;
}
