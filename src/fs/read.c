#include "fs/read.h"

#include "base/b64.h"
#include "base/fd.h"
#include "base/utf8.h"
#include "fs/load.h"
#include "fs/mime.h"

#include <errno.h>
#include <fcntl.h>

/* Bytes encoded per step: a multiple of 3, so that the pieces join without padding. */
enum { URL_PIECE = 3 << 14 };

static int read_url(int fd, const char *mime, struct buf *content)
{
	struct buf piece = BUF_INIT(URL_PIECE);
	uint64_t at = 0;
	int r;

	buf_fmt(content, "data:%s;base64,", mime);
	do {
		buf_reset(&piece);
		r = load_read_part(fd, at, URL_PIECE, &piece);
		at += piece.n;
		if (!r && at > FILE_READ_MAX)
			r = ERR_LIMIT;
		if (!r)
			b64_encode(content, buf_view(&piece));
	} while (!r && piece.n == URL_PIECE);
	buf_free(&piece);
	return r ? r : content->err;
}

/* Cuts the content down to the range. */
static int file_read_cut_range(struct line_range range, struct buf *content)
{
	struct text_scan scan;
	struct text_slice slice;

	if (!utf8_is_valid(buf_view(content)))
		return ERR_UTF8;
	text_scan_init(&scan, range);
	text_scan_feed(&scan, buf_view(content));
	slice = text_scan_slice(&scan);
	content->n = (size_t)slice.to;
	buf_consume(content, (size_t)slice.from);
	return 0;
}

/* Reads only the range; size is the reported size of the file. */
static int read_range(int fd, uint64_t size, struct line_range range, struct buf *content)
{
	struct text_slice slice;
	/* A log may grow during the read; the limit bounds files without an end. */
	int r = load_find_lines(fd, range, FILE_READ_MAX, size + FILE_READ_MAX, &slice);

	if (!r)
		r = load_read_part(
			fd, slice.from, (size_t)(slice.to - slice.from), content);
	if (!r && !utf8_is_valid(buf_view(content)))
		r = ERR_UTF8;
	return r;
}

static int read_text(int fd, uint64_t size, struct line_range range, struct buf *content)
{
	int r = load_read_part(fd, 0, TEXT_PROBE, content);

	if (r)
		return r;
	if (text_is_binary(buf_view(content)))
		return ERR_TYPE;
	/* The size is not trusted: files of /proc have size 0 and content. */
	if (size <= FILE_READ_MAX)
		r = load_read_part(
			fd, content->n, FILE_READ_MAX + 1 - content->n, content);
	if (r)
		return r;
	if (size <= FILE_READ_MAX && content->n <= FILE_READ_MAX) {
		r = file_read_cut_range(range, content);
	} else {
		buf_reset(content);
		r = read_range(fd, size, range, content);
	}
	if (!r)
		content->n = text_convert_newlines(content->p, content->n);
	return r;
}

static void file_read_format_size(
	const struct file_path *p, uint64_t size, bool has_lines, struct buf *why)
{
	buf_fmt(why, "File is too large: %s has ", p->abs);
	if (size > FILE_READ_MAX)
		buf_fmt(why, "%llu bytes", (unsigned long long)size);
	else
		buf_puts(why, "more");
	buf_fmt(why, ", and at most %d bytes can be read at once.", FILE_READ_MAX);
	if (has_lines)
		buf_puts(why, " Use `start` and `end` to read fewer lines of it");
}

static void file_read_format_error(
	const struct file_path *p, struct str cwd, int err, struct buf *why)
{
	switch (err) {
	case -ENOENT:
		buf_fmt(why,
			"File not found: %s. Your current working directory is %.*s.",
			p->abs, STR_ARG(cwd));
		break;
	case ERR_UTF8:
		buf_fmt(why, "File could not be decoded as utf-8: %s.", p->abs);
		break;
	case ERR_TYPE:
		buf_puts(why, "ERROR_BINARY_FILE");
		break;
	default:
		buf_fmt(why, "File could not be read: %s: %s", p->abs, err_text(err));
	}
}

int file_read(const struct file_path *p, struct str cwd, struct line_range range,
	struct buf *content, struct buf *why)
{
	const char *mime = mime_find_type(file_path_ext(p));
	struct stat st;
	int fd = load_open(AT_FDCWD, p->abs, O_RDONLY, &st);
	int r;

	if (fd == ERR_TYPE) {
		buf_fmt(why, "Path is %s: %s. You can only read files",
			load_describe_kind(AT_FDCWD, p->abs), p->abs);
		return fd;
	}
	if (fd < 0)
		r = fd;
	else if (mime)
		r = read_url(fd, mime, content);
	else if (file_path_is_binary(p))
		r = ERR_TYPE;
	else
		r = read_text(fd, (uint64_t)st.st_size, range, content);
	fd_close(&fd);
	if (r == ERR_LIMIT)
		file_read_format_size(p, (uint64_t)st.st_size, !mime, why);
	else if (r)
		file_read_format_error(p, cwd, r, why);
	return r;
}
