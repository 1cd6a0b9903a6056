#include "fs/load.h"

#include "base/fd.h"
#include "base/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* Bytes per read. */
enum { LOAD_PIECE = 64 << 10 };

int load_open(int dir, const char *name, int flags, struct stat *st)
{
	int follow = flags & O_NOFOLLOW ? AT_SYMLINK_NOFOLLOW : 0;
	struct stat found;
	int r = 0;
	int fd;

	/* Opening a device has side effects: a tape rewinds, a watchdog starts. */
	if (fstatat(dir, name, &found, follow) < 0)
		return -errno;
	if (!S_ISREG(found.st_mode))
		return ERR_TYPE;
	fd = fd_openat(dir, name, flags | O_NONBLOCK, 0);
	if (fd < 0)
		return fd;
	/* The file may have been replaced since fstatat. */
	if (fstat(fd, &found) < 0)
		r = -errno;
	else if (!S_ISREG(found.st_mode))
		r = ERR_TYPE;
	if (r) {
		fd_close(&fd);
		return r;
	}
	*st = found;
	return fd;
}

const char *load_describe_kind(int dir, const char *name)
{
	struct stat st;

	if (fstatat(dir, name, &st, 0) < 0)
		return "no regular file";
	switch (st.st_mode & S_IFMT) {
	case S_IFDIR:
		return "a directory";
	case S_IFIFO:
		return "a named pipe";
	case S_IFSOCK:
		return "a socket";
	case S_IFCHR:
		return "a character device";
	case S_IFBLK:
		return "a block device";
	default:
		return "no regular file";
	}
}

int load_read_part(int fd, uint64_t at, size_t max, struct buf *out)
{
	while (max) {
		size_t n = max < LOAD_PIECE ? max : LOAD_PIECE;
		char *room = buf_reserve(out, n);
		ssize_t got;

		if (!room)
			return out->err;
		got = pread(fd, room, n, (off_t)at);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			return 0;
		buf_commit(out, (size_t)got);
		at += (size_t)got;
		max -= (size_t)got;
	}
	return 0;
}

int load_find_lines(int fd, struct line_range range, uint64_t most, uint64_t limit,
	struct text_slice *out)
{
	struct buf piece = BUF_INIT(LOAD_PIECE);
	struct text_scan scan;
	struct text_slice slice;
	bool done = false;
	int r = 0;

	text_scan_init(&scan, range);
	while (!done) {
		/* The start of a character that the end of the last piece has split. */
		size_t cut = piece.n;
		struct str whole;

		r = load_read_part(fd, scan.at + cut, LOAD_PIECE - cut, &piece);
		if (r)
			goto out;
		whole = buf_view(&piece);
		if (whole.n > cut)
			whole.n -= utf8_unfinished_length(whole);
		else
			done = true;
		r = utf8_is_valid(whole) ? 0 : ERR_UTF8;
		if (!r && text_scan_feed(&scan, whole))
			done = true;
		else if (!r && (text_scan_min_length(&scan) > most || scan.at > limit))
			r = ERR_LIMIT;
		if (r)
			goto out;
		buf_consume(&piece, whole.n);
	}
	slice = text_scan_slice(&scan);
	if (slice.to - slice.from > most)
		r = ERR_LIMIT;
	else
		*out = slice;
out:
	buf_free(&piece);
	return r;
}
