/* GET /v1/files/tar, in its job: a whole tree as tar or tar.gz. */
#include "server/files/file_jobs.h"

#include "base/fd.h"
#include "codec/archive/pax.h"
#include "fs/load.h"
#include "fs/root.h"
#include "limits.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

enum { GZIP = 16, GZIP_LEVEL = 1, COMMENT_MAX = 8192 };

struct sender {
	struct transfer_io *io;
	bool packs;
	z_stream z;
	struct buf packed;
	struct buf left_out;
};

static int send_tar_deflate(struct sender *s, int flush)
{
	int status;

	s->z.next_in = (unsigned char *)s->io->buf.p;
	s->z.avail_in = (unsigned)s->io->buf.n;
	do {
		s->z.next_out = (unsigned char *)s->packed.p;
		s->z.avail_out = TRANSFER_PIECE;
		status = deflate(&s->z, flush);
		if (fd_write_all(
			    s->io->out, s->packed.p, TRANSFER_PIECE - s->z.avail_out) < 0)
			return -EPIPE;
	} while (s->z.avail_out == 0 || (flush == Z_FINISH && status == Z_OK));
	buf_reset(&s->io->buf);
	return 0;
}

static int send_tar_flush(struct sender *s)
{
	if (s->io->buf.n < TRANSFER_PIECE || s->io->buf.err)
		return s->io->buf.err;
	return s->packs ? send_tar_deflate(s, Z_NO_FLUSH) : transfer_flush(s->io);
}

/*
 * Writes exactly the size in the header: a file that has changed is cut or zero-filled.
 */
static int send_tar_put_sized(struct sender *s, const struct pax_entry *e, int fd)
{
	struct buf *out = &s->io->buf;
	uint64_t left = e->size;
	int r = pax_write_header(out, e);
	bool told = false;

	while (left && !r) {
		size_t want = left < TRANSFER_PIECE ? (size_t)left : TRANSFER_PIECE;
		char *room = buf_reserve(out, want);
		ssize_t n = room ? read(fd, room, want) : -1;

		if (!room)
			return out->err;
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			if (!told)
				file_jobs_add_omitted(&s->left_out, e->name,
					n ? err_text(-errno) : "became shorter");
			told = true;
			memset(room, 0, want);
			n = (ssize_t)want;
		}
		buf_commit(out, (size_t)n);
		left -= (uint64_t)n;
		r = send_tar_flush(s);
	}
	if (!r)
		pax_pad(out, e->size);
	return r;
}

/*
 * Files of kernel file systems have no true size, so the content is read before the
 * header is written.
 */
static int send_tar_put_unsized(struct sender *s, struct pax_entry *e, int fd)
{
	struct buf text = BUF_INIT(TRANSFER_PIECE);
	int r = load_read_part(fd, 0, TRANSFER_PIECE, &text);

	if (r) {
		file_jobs_add_omitted(&s->left_out, e->name, err_text(r));
		r = 0;
	} else {
		e->size = text.n;
		r = pax_write_header(&s->io->buf, e);
		buf_str(&s->io->buf, buf_view(&text));
		pax_pad(&s->io->buf, e->size);
	}
	buf_free(&text);
	return r ? r : send_tar_flush(s);
}

/* Writes an open file, whose size is e->size. */
static int send_tar_put_fd(struct sender *s, struct pax_entry *e, int fd)
{
	return root_is_synthetic(fd) ? send_tar_put_unsized(s, e, fd)
				     : send_tar_put_sized(s, e, fd);
}

static int send_tar_put_file(
	struct sender *s, struct pax_entry *e, int dir, const char *name)
{
	struct stat st;
	int r;
	int fd = load_open(dir, name, O_RDONLY | O_NOFOLLOW, &st);

	if (fd < 0) {
		file_jobs_add_omitted(&s->left_out, e->name,
			fd == ERR_TYPE ? "no regular file" : err_text(fd));
		return 0;
	}
	e->size = (uint64_t)st.st_size;
	r = send_tar_put_fd(s, e, fd);
	fd_close(&fd);
	return r;
}

/* Implements tree_fn. */
static int send_tar_put_item(void *arg, const struct tree_item *i)
{
	struct sender *s = arg;
	char target[FILE_PATH_MAX];
	struct pax_entry e = {
		.name = i->path,
		.mode = i->st.st_mode,
		.mtime = i->st.st_mtime,
		.uid = i->st.st_uid,
		.gid = i->st.st_gid,
	};
	ssize_t n;
	int r;

	if (i->err) {
		file_jobs_add_omitted(&s->left_out, i->path, file_jobs_get_error(i));
		return 0;
	}
	if (S_ISREG(e.mode))
		return send_tar_put_file(s, &e, i->dir, i->name);
	if (S_ISLNK(e.mode)) {
		n = readlinkat(i->dir, i->name, target, sizeof(target));
		e.target = str_make(target, n < 0 ? 0 : (size_t)n);
	}
	r = pax_write_header(&s->io->buf, &e);
	if (r == ERR_TYPE) {
		file_jobs_add_omitted(
			&s->left_out, i->path, load_describe_kind(i->dir, i->name));
		r = 0;
	}
	return r ? r : send_tar_flush(s);
}

/* The top folder comes last, because its header lists the files that were left out. */
static int send_tar_put_tree(
	struct sender *s, const struct file_path *p, int fd, const struct stat *st)
{
	struct pax_entry e = {
		.name = S_ISDIR(st->st_mode) ? STR(".") : file_path_base(p),
		.mode = st->st_mode,
		.mtime = st->st_mtime,
		.size = (uint64_t)st->st_size,
		.uid = st->st_uid,
		.gid = st->st_gid,
	};
	int r;

	if (S_ISDIR(st->st_mode)) {
		r = tree_for_each(fd, send_tar_put_item, s);
		e.comment = buf_view(&s->left_out);
		if (!r)
			r = pax_write_header(&s->io->buf, &e);
	} else {
		r = send_tar_put_fd(s, &e, fd);
	}
	if (r)
		return r;
	pax_end(&s->io->buf);
	return s->packs ? send_tar_deflate(s, Z_FINISH) : transfer_flush(s->io);
}

static int send_tar_begin(struct sender *s, const struct transfer_request *ask)
{
	struct transfer_head head = {
		.status = 200,
		.length = REQUEST_LENGTH_UNKNOWN,
		.type = "application/x-tar",
	};

	buf_init(&s->packed, TRANSFER_PIECE);
	buf_init(&s->left_out, COMMENT_MAX);
	if (ask->packed) {
		memcpy(head.type, "application/gzip", 17);
		if (!buf_reserve(&s->packed, TRANSFER_PIECE) ||
			deflateInit2(&s->z, GZIP_LEVEL, Z_DEFLATED, MAX_WBITS + GZIP, 8,
				Z_DEFAULT_STRATEGY) != Z_OK)
			return -ENOMEM;
		s->packs = true;
	}
	return transfer_begin(s->io, &head);
}

int send_tar(struct transfer_io *io, const struct transfer_request *ask)
{
	struct sender s = {.io = io, .packs = false};
	struct file_path p;
	struct stat st;
	int fd, r;

	if (!file_jobs_check_path(io, ask->path, &p, &r))
		return r;
	fd = file_jobs_open_top(p.abs, &st);
	if (fd < 0)
		return file_jobs_fail(io, fd, ask->path);
	r = send_tar_begin(&s, ask);
	if (!r)
		r = send_tar_put_tree(&s, &p, fd, &st);
	if (s.packs)
		deflateEnd(&s.z);
	buf_free(&s.packed);
	buf_free(&s.left_out);
	fd_close(&fd);
	return r;
}
