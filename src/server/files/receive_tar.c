/* PUT /v1/files/tar, in its job: a whole tree from tar or tar.gz. */
#include "server/files/file_jobs.h"

#include "base/fd.h"
#include "codec/archive/untar.h"
#include "fs/holes.h"
#include "fs/unpack.h"
#include "limits.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

enum { GZIP = 16, FILE_BITS = 0777 };

enum coding { CODING_UNKNOWN, CODING_NONE, CODING_GZIP };

struct receiver {
	struct transfer_io *io;
	const struct transfer_request *ask;
	struct untar tar;
	struct unpack to;
	int fd; /* the file whose content is received */
	struct holes holes;
	struct str raw; /* received bytes that are not decompressed yet */
	enum coding coding;
	z_stream z;
	bool between; /* gzip: between two members */
	struct buf text;
	uint64_t in, out; /* bytes of the archive, compressed and not */
	uint64_t entries;
	struct timespec mtime;
	const char *why; /* what is wrong with the archive */
	struct buf where;
};

static int receive_tar_set_error(struct receiver *c, const char *why)
{
	c->why = why;
	return ERR_SYNTAX;
}

/* Gets bytes of the body. 1; 0: its end; or an error. */
static int receive_tar_read_raw(struct receiver *c)
{
	return c->raw.n ? 1 : transfer_read(c->io, &c->raw);
}

static int receive_tar_begin_coding(struct receiver *c)
{
	/* A tar archive begins with a file name, gzip with 0x1f. */
	bool gzip = (unsigned char)c->raw.p[0] == 0x1f;

	c->coding = gzip ? CODING_GZIP : CODING_NONE;
	if (!gzip)
		return 0;
	if (!buf_reserve(&c->text, TRANSFER_PIECE) ||
		inflateInit2(&c->z, MAX_WBITS + GZIP) != Z_OK) {
		c->coding = CODING_UNKNOWN;
		return -ENOMEM;
	}
	return 0;
}

/* Decompresses the next bytes of the archive. 1; 0: the end; or an error. */
static int receive_tar_inflate(struct receiver *c, struct str *text)
{
	for (;;) {
		int status;
		int r = receive_tar_read_raw(c);

		if (r < 0)
			return r;
		if (r == 0)
			return c->between ? 0 : receive_tar_set_error(c, "is cut off");
		if (c->between && inflateReset(&c->z) != Z_OK)
			return -ENOMEM;
		c->between = false;
		c->z.next_in = (unsigned char *)(uintptr_t)c->raw.p;
		c->z.avail_in = (unsigned)c->raw.n;
		c->z.next_out = (unsigned char *)c->text.p;
		c->z.avail_out = TRANSFER_PIECE;
		status = inflate(&c->z, Z_NO_FLUSH);
		if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
			return receive_tar_set_error(c, "is damaged");
		c->in += c->raw.n - c->z.avail_in;
		c->raw = str_skip(c->raw, c->raw.n - c->z.avail_in);
		c->between = status == Z_STREAM_END;
		*text = str_make(c->text.p, TRANSFER_PIECE - c->z.avail_out);
		if (text->n)
			return 1;
	}
}

static int receive_tar_read_text(struct receiver *c, struct str *text)
{
	int r = receive_tar_read_raw(c);

	if (r <= 0 && c->coding != CODING_GZIP)
		return r;
	if (c->coding == CODING_UNKNOWN) {
		r = receive_tar_begin_coding(c);
		if (r)
			return r;
	}
	if (c->coding == CODING_GZIP) {
		r = receive_tar_inflate(c, text);
		if (r != 1)
			return r;
	} else {
		*text = c->raw;
		c->raw = str_make(NULL, 0);
		c->in += text->n;
	}
	c->out += text->n;
	if (c->out > ARCHIVE_BYTES_MAX)
		return receive_tar_set_error(c, "is too large when unpacked");
	if (c->out > ARCHIVE_RATIO_FREE && c->out / c->in > ARCHIVE_RATIO_MAX)
		return receive_tar_set_error(c, "is packed too well to be true");
	return 1;
}

static int receive_tar_close_file(struct receiver *c)
{
	struct timespec times[2] = {{.tv_nsec = UTIME_NOW}, c->mtime};
	int fd = c->fd;
	int r = holes_end(&c->holes, fd);

	c->fd = -1;
	/* A failure to set the time is ignored. */
	(void)!futimens(fd, times);
	if (!r)
		r = fd_flush(fd);
	fd_close(&fd);
	return r;
}

static int receive_tar_begin_entry(struct receiver *c)
{
	const struct untar_entry *e = &c->tar.entry;
	int r = 0;

	buf_reset(&c->where);
	buf_str(&c->where, e->name);
	c->entries++;
	switch (e->type) {
	case UNTAR_FILE:
		r = unpack_file(&c->to, e->name, e->mode & FILE_BITS);
		c->fd = r < 0 ? -1 : r;
		c->holes = (struct holes){0};
		c->mtime = (struct timespec){.tv_sec = (time_t)e->mtime};
		break;
	case UNTAR_DIR:
		r = unpack_dir(&c->to, e->name, e->mode & FILE_BITS);
		break;
	case UNTAR_SYMLINK:
		r = unpack_symlink(&c->to, e->name, e->target, c->ask->any_link);
		break;
	case UNTAR_HARDLINK:
		r = unpack_hardlink(&c->to, e->name, e->target, c->ask->any_link);
		break;
	}
	if (r == ERR_SYNTAX)
		return receive_tar_set_error(c, "leads out of the destination");
	return r < 0 ? r : 0;
}

static int receive_tar_on_event(struct receiver *c, int event, struct str piece)
{
	switch (event) {
	case UNTAR_ENTRY:
		return receive_tar_begin_entry(c);
	case UNTAR_DATA:
		return holes_write(&c->holes, c->fd, piece);
	case UNTAR_END:
		return receive_tar_close_file(c);
	default:
		return 0;
	}
}

static int receive_tar_run(struct receiver *c)
{
	struct str in = {NULL, 0}, piece;
	int event, r = 0;

	while (!r) {
		event = untar_next(&c->tar, &in, &piece);
		if (event == UNTAR_DONE)
			return 0;
		if (event < 0) {
			c->why = c->tar.reason;
			return event;
		}
		r = receive_tar_on_event(c, event, piece);
		if (event == UNTAR_MORE) {
			r = receive_tar_read_text(c, &in);
			if (r == 0)
				return receive_tar_set_error(c, "is cut off");
			r = r < 0 ? r : 0;
		}
	}
	return r;
}

static int receive_tar_reply(struct receiver *c)
{
	struct buf *out = &c->io->buf;
	struct jw w;

	jw_init(&w, out);
	jw_object(&w);
	jw_key(&w, "path");
	jw_str(&w, c->ask->path);
	jw_key(&w, "entries");
	jw_uint(&w, c->entries);
	if (c->to.in_place) {
		jw_key(&w, "in_place");
		jw_uint(&w, c->to.in_place);
	}
	jw_end(&w);
	return transfer_reply_json(c->io, 200);
}

static int receive_tar_refuse(struct receiver *c, int err)
{
	struct buf words = BUF_INIT(FILE_WORDS_MAX);
	int r;

	if (!c->why && err != ERR_LIMIT)
		return file_jobs_fail(
			c->io, err, c->where.n ? buf_view(&c->where) : c->ask->path);
	if (c->where.n)
		buf_fmt(&words, "The archive, at '%.*s', ", STR_ARG(buf_view(&c->where)));
	else
		buf_puts(&words, "The archive ");
	buf_puts(&words, c->why ? c->why : "has too many entries");
	buf_putc(&words, '.');
	r = transfer_fail(c->io, 422, buf_view(&words));
	buf_free(&words);
	return r;
}

static int receive_tar_unpack(struct receiver *c, int dest)
{
	int r = unpack_begin(&c->to, dest);

	if (r)
		return receive_tar_refuse(c, r);
	r = receive_tar_run(c);
	if (!r) {
		c->to.sync = c->ask->sync;
		r = unpack_commit(&c->to);
		c->io->damaged = c->to.damaged;
		buf_reset(&c->where);
		buf_str(&c->where, buf_view(&c->to.where));
	}
	fd_close(&c->fd);
	unpack_end(&c->to);
	return r ? receive_tar_refuse(c, r) : receive_tar_reply(c);
}

int receive_tar(struct transfer_io *io, const struct transfer_request *ask)
{
	struct receiver c = {.io = io, .ask = ask, .fd = -1};
	struct file_path p;
	int dest, r;

	if (!file_jobs_check_path(io, ask->path, &p, &r))
		return r;
	dest = file_jobs_open_folder(p.abs, ask->sync);
	if (dest < 0)
		return file_jobs_fail(io, dest, ask->path);
	untar_init(&c.tar);
	buf_init(&c.text, TRANSFER_PIECE);
	buf_init(&c.where, TAR_META_MAX);
	r = receive_tar_unpack(&c, dest);
	if (c.coding == CODING_GZIP)
		inflateEnd(&c.z);
	untar_free(&c.tar);
	buf_free(&c.text);
	buf_free(&c.where);
	fd_close(&dest);
	return r;
}
