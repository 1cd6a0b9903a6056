/* GET /download_files, in its job. */
#include "server/files/file_jobs.h"

#include "base/fd.h"
#include "codec/archive/zip.h"
#include "fs/load.h"
#include "limits.h"

#include <errno.h>
#include <fcntl.h>

/* Bytes of the text about files that are not sent. */
enum { TRANSFER_LEFT_OUT_MAX = 65535 };

/* Smaller files are not compressed. */
enum { PACK_FROM = 128 };

struct download {
	struct transfer_io *io;
	const struct transfer_request *ask;
	struct zip zip;
	char *piece;
	struct buf left_out; /* files that could not be sent, with the reasons */
};

static void send_zip_add_omitted(struct download *d, struct str path, const char *why)
{
	if (d->left_out.n == 0)
		buf_puts(&d->left_out, "Left out:\n");
	file_jobs_add_omitted(&d->left_out, path, why);
}

static size_t send_zip_limit_size(uint64_t n, size_t most)
{
	return n < most ? (size_t)n : most;
}

/*
 * Sends the next bytes of a file, up to left, compressed. Returns their number, 0 at the
 * end, or an error.
 */
static ssize_t send_zip_put_deflated(struct download *d, int fd, uint64_t left)
{
	ssize_t got =
		fd_read_full(fd, d->piece, send_zip_limit_size(left, TRANSFER_PIECE));
	int r;

	if (got <= 0)
		return got;
	r = zip_add_data(&d->zip, str_make(d->piece, (size_t)got));
	if (!r)
		r = transfer_flush_large(d->io);
	return r ? r : got;
}

/*
 * As send_zip_put_deflated, uncompressed: the bytes are read behind the headers of their
 * blocks and sent from there.
 */
static ssize_t send_zip_put_stored(struct download *d, int fd, uint64_t left)
{
	const size_t block = TRANSFER_PIECE / 4;
	size_t sum = 0, at = 0;
	int r = transfer_flush(d->io);

	while (!r && sum < left && at < TRANSFER_PIECE) {
		char *head = d->piece + at, *p = head + ZIP_BLOCK_HEAD;
		ssize_t got = fd_read_full(
			fd, p, send_zip_limit_size(left - sum, block - ZIP_BLOCK_HEAD));

		if (got < 0)
			return got;
		if (got == 0)
			break;
		r = zip_add_block(&d->zip, str_make(p, (size_t)got), head);
		sum += (size_t)got;
		at += ZIP_BLOCK_HEAD + (size_t)got;
	}
	if (!r)
		r = fd_write_all(d->io->out, d->piece, at);
	return r ? r : (ssize_t)sum;
}

/* Sends a file of which n bytes were read already, up to the size in its header. */
static int send_zip_put_large(
	struct download *d, const struct zip_entry *e, int fd, uint64_t size, size_t n)
{
	uint64_t left = size > n ? size - n : 0;
	int r = zip_open(&d->zip, e, left + n, d->ask->packed ? 1 : 0);

	if (!r)
		r = zip_add_data(&d->zip, str_make(d->piece, n));
	while (!r && left) {
		ssize_t got = (d->ask->packed ? send_zip_put_deflated
					      : send_zip_put_stored)(d, fd, left);

		if (got < 0)
			return (int)got;
		if (got == 0)
			break;
		left -= (uint64_t)got;
	}
	return r ? r : zip_close(&d->zip);
}

static int send_zip_put_fd(
	struct download *d, int fd, const struct stat *st, struct str path)
{
	struct zip_entry e = {.name = path, .mode = st->st_mode, .mtime = st->st_mtime};
	ssize_t n = fd_read_full(fd, d->piece, TRANSFER_PIECE);
	int r = 0;

	if (n < 0)
		send_zip_add_omitted(d, path, err_text((int)n));
	else if (n < (d->ask->packed ? PACK_FROM : TRANSFER_PIECE))
		r = zip_put(&d->zip, &e, str_make(d->piece, (size_t)n));
	else
		r = send_zip_put_large(d, &e, fd, (uint64_t)st->st_size, (size_t)n);
	return r ? r : transfer_flush_large(d->io);
}

static int send_zip_put_file(
	struct download *d, int dir, const char *name, struct str path, int flags)
{
	struct stat st;
	int r;
	int fd = load_open(dir, name, O_RDONLY | flags, &st);

	if (fd < 0) {
		send_zip_add_omitted(
			d, path, fd == ERR_TYPE ? "no regular file" : err_text(fd));
		return 0;
	}
	r = send_zip_put_fd(d, fd, &st, path);
	fd_close(&fd);
	return r;
}

/* Links to files are followed. Links to folders are skipped. */
static int send_zip_put_link(struct download *d, const struct tree_item *i)
{
	struct stat st;

	if (fstatat(i->dir, i->name, &st, 0) < 0) {
		send_zip_add_omitted(d, i->path, "a symbolic link that leads nowhere");
		return 0;
	}
	return S_ISDIR(st.st_mode) ? 0
				   : send_zip_put_file(d, i->dir, i->name, i->path, 0);
}

/* Implements tree_fn. */
static int send_zip_put_item(void *arg, const struct tree_item *i)
{
	struct download *d = arg;

	if (i->err) {
		send_zip_add_omitted(d, i->path, file_jobs_get_error(i));
		return 0;
	}
	switch (i->st.st_mode & S_IFMT) {
	case S_IFREG:
		return send_zip_put_file(d, i->dir, i->name, i->path, O_NOFOLLOW);
	case S_IFLNK:
		return send_zip_put_link(d, i);
	case S_IFDIR:
		return 0;
	default:
		send_zip_add_omitted(d, i->path, load_describe_kind(i->dir, i->name));
		return 0;
	}
}

static int send_zip_put_end(struct download *d)
{
	int r;

	do {
		r = zip_finish(&d->zip, buf_view(&d->left_out));
		if (r >= 0 && transfer_flush(d->io) < 0)
			return -EPIPE;
	} while (r == 1);
	return r;
}

/* Uses the encoding of RFC 8187 if a quoted string does not suffice. */
static void send_zip_add_name(
	struct transfer_head *head, struct str base, const char *end)
{
	struct buf coded = BUF_INIT(FILE_WORDS_MAX), value = BUF_INIT(FILE_WORDS_MAX);

	buf_percent(&coded, base, "");
	if (coded.n == base.n)
		buf_fmt(&value, "attachment; filename=\"%.*s%s\"", STR_ARG(base), end);
	else
		buf_fmt(&value, "attachment; filename*=utf-8''%.*s%s",
			STR_ARG(buf_view(&coded)), end);
	transfer_add_field(head, "content-disposition", buf_view(&value));
	buf_free(&coded);
	buf_free(&value);
}

static struct str send_zip_find_base(struct str path)
{
	while (path.n > 1 && path.p[path.n - 1] == '/')
		path.n--;
	while (str_find_byte(path, '/') < path.n)
		path = str_skip(path, str_find_byte(path, '/') + 1);
	return path;
}

static int send_zip_put_tree(struct download *d, int fd, const struct stat *st)
{
	struct transfer_head head = {
		.status = 200,
		.length = REQUEST_LENGTH_UNKNOWN,
		.type = "application/zip",
	};
	struct str base = send_zip_find_base(d->ask->path);
	int r;

	send_zip_add_name(&head, base, ".zip");
	r = transfer_begin(d->io, &head);
	if (!r)
		r = S_ISDIR(st->st_mode) ? tree_for_each(fd, send_zip_put_item, d)
					 : send_zip_put_fd(d, fd, st, base);
	return r ? r : send_zip_put_end(d);
}

/* Answers with messages of the contract where it has them. */
static int send_zip_refuse(struct transfer_io *io, int err, struct str path)
{
	switch (err) {
	case -ENOENT:
	case -ENOTDIR:
	case -ENAMETOOLONG:
		return transfer_fail(io, 500, STR("404: File not found"));
	case ERR_TYPE:
		return transfer_fail(io, 500,
			STR("400: Path is neither a directory nor a regular file"));
	default:
		return transfer_fail_errno(io, err, path);
	}
}

int send_zip(struct transfer_io *io, const struct transfer_request *ask)
{
	struct download d = {.io = io, .ask = ask, .piece = io->piece};
	char path[FILE_PATH_MAX];
	struct stat st;
	int fd, r;

	if (!str_starts(ask->path, STR("/")))
		return transfer_fail(io, 500, STR("400: Path must be an absolute path"));
	if (ask->path.n >= sizeof(path))
		return send_zip_refuse(io, -ENAMETOOLONG, ask->path);
	memcpy(path, ask->path.p, ask->path.n);
	path[ask->path.n] = '\0';
	fd = file_jobs_open_top(path, &st);
	if (fd < 0)
		return send_zip_refuse(io, fd, ask->path);
	buf_init(&d.left_out, TRANSFER_LEFT_OUT_MAX);
	zip_init(&d.zip, &io->buf);
	r = send_zip_put_tree(&d, fd, &st);
	zip_free(&d.zip);
	buf_free(&d.left_out);
	fd_close(&fd);
	return r;
}
