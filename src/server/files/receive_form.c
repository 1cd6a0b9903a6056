/* POST /upload_file, in its job. */
#include "server/files/file_jobs.h"

#include "base/fd.h"
#include "codec/archive/unzip.h"
#include "codec/http/multipart.h"
#include "fs/load.h"
#include "fs/put.h"
#include "fs/root.h"
#include "fs/unpack.h"
#include "limits.h"
#include "server/files/priv_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum { MODE_LINK = 0644 };

struct upload {
	struct transfer_io *io;
	const struct transfer_request *ask;
	struct multipart form;
	int dest;                 /* the destination folder, O_PATH; -1: not opened */
	int refused;              /* 0, or why the destination cannot be opened */
	char name[FILE_PATH_MAX]; /* file name without folders */
	unsigned in_place;        /* number of files that were overwritten in place */
};

/* Opens the destination, makes missing folders and follows symbolic links. */
static int form_open_dest(struct upload *u)
{
	char path[FILE_PATH_MAX];
	struct str dest = u->ask->path;

	if (dest.n >= sizeof(path))
		return -ENAMETOOLONG;
	memcpy(path, dest.p, dest.n);
	path[dest.n] = '\0';
	u->dest = file_jobs_open_folder(path, u->ask->sync);
	return u->dest < 0 ? u->dest : 0;
}

static int form_reply(struct upload *u)
{
	struct jw w;

	buf_reset(&u->io->buf);
	jw_init(&w, &u->io->buf);
	jw_object(&w);
	jw_key(&w, "filename");
	jw_cstr(&w, u->name);
	jw_key(&w, "destination");
	jw_str(&w, u->ask->path);
	jw_key(&w, "recursive");
	jw_bool(&w, u->ask->unpack);
	if (u->in_place) {
		jw_key(&w, "in_place");
		jw_uint(&w, u->in_place);
	}
	jw_end(&w);
	return transfer_reply_json(u->io, 200);
}

static int form_fail_path(struct upload *u, int err, const char *name)
{
	struct buf path = BUF_INIT(FILE_WORDS_MAX);
	int r;

	buf_str(&path, u->ask->path);
	if (!str_ends(u->ask->path, STR("/")))
		buf_putc(&path, '/');
	buf_puts(&path, name);
	r = transfer_fail_errno(u->io, err, buf_view(&path));
	buf_free(&path);
	return r;
}

static int form_reply_invalid(struct upload *u, const char *errors)
{
	struct jw w;

	buf_reset(&u->io->buf);
	jw_init(&w, &u->io->buf);
	jw_object(&w);
	jw_key(&w, "detail");
	jw_cstr(&w, "Invalid request parameters");
	jw_key(&w, "errors");
	jw_cstr(&w, errors);
	jw_end(&w);
	return transfer_reply_json(u->io, 422);
}

/*
 * Gets the next piece of the file's content. 1; 0: its end; ERR_CLOSED: the body ended
 * before; or another error.
 */
static int form_read_piece(struct upload *u, struct str *in, struct str *piece)
{
	for (;;) {
		int r = multipart_next(&u->form, in, piece);

		if (r == MULTIPART_DATA)
			return 1;
		if (r == MULTIPART_END)
			return 0;
		if (r < 0)
			return r;
		r = transfer_read(u->io, in);
		if (r <= 0)
			return r ? r : ERR_CLOSED;
	}
}

/* Skips to the content of the part "file". 0; 1: there is none; or an error. */
static int form_find_file(struct upload *u, struct str *in)
{
	for (;;) {
		struct str piece;
		int r = multipart_next(&u->form, in, &piece);

		if (r == MULTIPART_PART && u->form.file_name.p &&
			str_eq(u->form.name, STR("file")))
			return 0;
		if (r == MULTIPART_DONE || r < 0)
			return r < 0 ? r : 1;
		if (r == MULTIPART_MORE) {
			r = transfer_read(u->io, in);
			if (r <= 0)
				return r ? r : 1;
		}
	}
}

/* --- With the server's rights ----------------------------------------------------- */

/* Whether the server's rights may help, since those of the user do not suffice. */
static bool form_may_escalate(const struct upload *u, int err)
{
	return u->ask->privileged && (err == -EACCES || err == -EPERM);
}

/* Makes the absolute path of a name in the destination. */
static int form_make_path(
	const struct upload *u, struct str name, char out[FILE_PATH_MAX])
{
	int n = snprintf(
		out, FILE_PATH_MAX, "%.*s/%.*s", STR_ARG(u->ask->path), STR_ARG(name));

	return n < FILE_PATH_MAX ? 0 : -ENAMETOOLONG;
}

static int form_open_privileged(const struct upload *u)
{
	char path[FILE_PATH_MAX];
	int r = form_make_path(u, str_c(u->name), path);

	return r ? r : priv_writer_open(path);
}

/*
 * Receives the file with the server's rights. err: why the user's rights do not suffice.
 */
static int form_receive_privileged(struct upload *u, struct str *in, int err)
{
	struct str piece;
	int fd = form_open_privileged(u);
	int r = 0;

	if (fd < 0)
		return form_fail_path(u, err, u->name);
	while (!r && (r = form_read_piece(u, in, &piece)) == 1)
		r = fd_write_all(fd, piece.p, piece.n);
	if (!r)
		r = priv_writer_commit(PRIV_WRITER_MODE_SAME, u->ask->sync);
	fd_close(&fd);
	if (r == ERR_CLOSED || r == ERR_SYNTAX)
		return form_reply_invalid(u, "body: the form is malformed");
	return r ? form_fail_path(u, r, u->name) : form_reply(u);
}

/*
 * Copies a received file with the server's rights. err: why the user cannot replace the
 * file.
 */
static int form_copy_privileged(struct upload *u, int from, int err)
{
	uint64_t at = 0;
	ssize_t n = 0;
	int fd = form_open_privileged(u);
	int r = 0;

	if (fd < 0)
		return err;
	while (!r && (n = fd_read_at(from, at, u->io->piece, TRANSFER_PIECE)) > 0) {
		r = fd_write_all(fd, u->io->piece, (size_t)n);
		at += (uint64_t)n;
	}
	if (!r)
		r = n < 0 ? (int)n
			  : priv_writer_commit(PRIV_WRITER_MODE_SAME, u->ask->sync);
	fd_close(&fd);
	return r;
}

/* --- Files ------------------------------------------------------------------------ */

static int form_receive_file(struct upload *u, struct str *in)
{
	struct put p;
	struct str piece;
	enum put_how how = PUT_NEW;
	int r = u->dest < 0 ? u->refused : put_begin(&p, u->dest, u->name);

	if (form_may_escalate(u, r))
		return form_receive_privileged(u, in, r);
	if (r)
		return form_fail_path(u, r, u->name);
	put_guard(&p);
	p.replace_foreign = true;
	while ((r = form_read_piece(u, in, &piece)) == 1) {
		r = put_data(&p, piece);
		if (r)
			break;
	}
	p.sync = u->ask->sync;
	if (r == 0)
		r = put_commit(&p, &how, NULL);
	if (form_may_escalate(u, r))
		r = form_copy_privileged(u, p.swap.fd, r);
	put_end(&p);
	if (r == ERR_CLOSED || r == ERR_SYNTAX)
		return form_reply_invalid(u, "body: the form is malformed");
	u->io->damaged = p.damaged;
	if (r)
		return form_fail_path(u, r, u->name);
	u->in_place = how == PUT_IN_PLACE;
	return form_reply(u);
}

/* --- Archives --------------------------------------------------------------------- */

static int form_read_zip(void *arg, uint64_t at, void *p, size_t n)
{
	const int *fd = arg;

	return fd_read_all_at(*fd, at, p, n);
}

/* Entries that upstream skips silently: absolute paths and those with "..". */
static bool form_is_skipped(struct str name)
{
	if (str_starts(name, STR("/")))
		return true;
	while (name.n)
		if (str_eq(str_cut(&name, '/'), STR("..")))
			return true;
	return false;
}

static int form_unpack_entry(
	struct unzip *zip, const struct unzip_entry *e, struct unpack *to)
{
	struct unzip_content c;
	struct str piece;
	int r, fd;

	if (S_ISDIR(e->mode))
		return unpack_dir(to, e->name, e->mode);
	/* A symbolic link in the archive becomes a file with its target as content. */
	fd = unpack_file(to, e->name, S_ISLNK(e->mode) ? MODE_LINK : e->mode);
	if (fd < 0)
		return fd;
	r = unzip_begin(&c, zip, e);
	while (!r && (r = unzip_read_piece(&c, &piece)) == 1)
		r = fd_write_all(fd, piece.p, piece.n);
	if (!r)
		r = fd_flush(fd);
	fd_close(&fd);
	return r;
}

static int form_unpack_entries(struct upload *u, struct unzip *zip, struct buf *where)
{
	struct unpack to;
	struct unzip_entry e;
	int r = unpack_begin(&to, u->dest);

	if (r)
		return r;
	while (!r && (r = unzip_next(zip, &e)) == 0) {
		if (form_is_skipped(e.name))
			continue;
		r = form_unpack_entry(zip, &e, &to);
		if (r)
			buf_str(where, e.name);
	}
	if (r == 1) {
		to.sync = u->ask->sync;
		r = unpack_commit(&to);
		u->in_place = to.in_place;
		u->io->damaged = to.damaged;
		if (r)
			buf_str(where, buf_view(&to.where));
	}
	unpack_end(&to);
	return r;
}

/*
 * Extracts an entry with the privileged writer. With check, the content is only read, so
 * that an archive with a wrong checksum changes nothing.
 */
static int form_unpack_priv_entry(
	struct upload *u, struct unzip *zip, const struct unzip_entry *e, bool check)
{
	char path[FILE_PATH_MAX];
	struct unzip_content c;
	struct str piece;
	int r = form_make_path(u, e->name, path);
	int fd;

	if (!r && S_ISDIR(e->mode))
		return check ? 0 : priv_writer_make_folder(path);
	fd = r ? r : check ? fd_open("/dev/null", O_WRONLY, 0) : priv_writer_open(path);
	if (fd < 0)
		return fd;
	r = unzip_begin(&c, zip, e);
	while (!r && (r = unzip_read_piece(&c, &piece)) == 1)
		r = fd_write_all(fd, piece.p, piece.n);
	if (!r && !check)
		r = priv_writer_commit(
			S_ISLNK(e->mode) ? MODE_LINK : e->mode, u->ask->sync);
	fd_close(&fd);
	return r;
}

static int form_unpack_privileged(
	struct upload *u, struct unzip *zip, bool check, struct buf *where)
{
	struct unzip_entry e;
	int r = 0;

	unzip_rewind(zip);
	while (!r && (r = unzip_next(zip, &e)) == 0) {
		if (form_is_skipped(e.name))
			continue;
		r = form_unpack_priv_entry(u, zip, &e, check);
		buf_reset(where);
		buf_str(where, e.name);
	}
	return r == 1 ? 0 : r;
}

/* Extracts with the user's rights. If they do not suffice, uses the server's. */
static int form_unpack_archive(struct upload *u, struct unzip *zip, struct buf *where)
{
	int err = u->dest < 0 ? u->refused : form_unpack_entries(u, zip, where);
	int r;

	if (!form_may_escalate(u, err))
		return err;
	r = form_unpack_privileged(u, zip, true, where);
	if (!r)
		r = form_unpack_privileged(u, zip, false, where);
	return r == -EACCES ? err : r;
}

/* Replies that the archive is invalid, with upstream's message where there is one. */
static int form_refuse_zip(struct upload *u, const struct unzip *zip)
{
	struct buf words = BUF_INIT(FILE_WORDS_MAX);
	int r;

	buf_str(&words, u->ask->path);
	if (!str_ends(u->ask->path, STR("/")))
		buf_putc(&words, '/');
	buf_puts(&words, u->name);
	if (zip->error_name.n)
		buf_fmt(&words, ": '%.*s'", STR_ARG(zip->error_name));
	buf_fmt(&words, " %s", zip->reason);
	r = transfer_fail(u->io, 500, buf_view(&words));
	buf_free(&words);
	return r;
}

static int form_unpack_zip(struct upload *u, int fd)
{
	struct buf where = BUF_INIT(FILE_PATH_MAX);
	struct unzip_source source = {.read = form_read_zip, .arg = &fd};
	struct unzip zip = {.entries = 0};
	struct stat st;
	int r = fstat(fd, &st) < 0 ? -errno : 0;

	source.size = r ? 0 : (uint64_t)st.st_size;
	if (!r)
		r = unzip_open(&zip, &source);
	if (!r)
		r = form_unpack_archive(u, &zip, &where);
	if (!r)
		r = form_reply(u);
	else if (zip.reason)
		r = form_refuse_zip(u, &zip);
	else
		r = form_fail_path(u, r, buf_cstr(&where) ? where.p : "");
	unzip_free(&zip);
	buf_free(&where);
	return r;
}

/* Receives the archive into a file without a name and extracts it. */
static int form_receive_zip(struct upload *u, struct str *in)
{
	struct atomic_file spool = {.fd = -1};
	struct str piece;
	int r = u->dest < 0 ? u->refused : atomic_file_begin_unnamed(&spool, u->dest);

	if (form_may_escalate(u, r))
		r = put_open_spool(&spool);
	if (r)
		return form_fail_path(u, r, u->name);
	while ((r = form_read_piece(u, in, &piece)) == 1) {
		r = fd_write_all(spool.fd, piece.p, piece.n);
		if (r)
			break;
	}
	if (r == ERR_CLOSED || r == ERR_SYNTAX)
		r = form_reply_invalid(u, "body: the form is malformed");
	else if (r)
		r = form_fail_path(u, r, u->name);
	else
		r = form_unpack_zip(u, spool.fd);
	atomic_file_end(&spool);
	return r;
}

static int form_receive_part(struct upload *u)
{
	struct str in = {NULL, 0}, base;
	bool zip;
	int r = form_find_file(u, &in);

	if (r == 1)
		return form_reply_invalid(
			u, "body: a part \"file\" with a file name is required");
	if (r == ERR_SYNTAX || r == ERR_LIMIT)
		return form_reply_invalid(u, "body: the form is malformed");
	if (r)
		return transfer_fail_errno(u->io, r, u->ask->path);
	base = multipart_get_base(u->form.file_name);
	r = root_normalize(base, u->name, sizeof(u->name));
	if (r)
		return form_reply_invalid(u, "body: the file name is not valid");
	zip = str_ends(base, STR(".zip"));
	if (u->ask->unpack && !zip)
		return transfer_fail(
			u->io, 500, STR("400: Recursive uploads must be zip files"));
	return zip ? form_receive_zip(u, &in) : form_receive_file(u, &in);
}

int receive_form(struct transfer_io *io, const struct transfer_request *ask)
{
	struct upload u = {.io = io, .ask = ask, .dest = -1};
	int r = multipart_init(&u.form, ask->type);

	if (r == -ENOMEM) {
		r = transfer_fail_errno(io, r, ask->path);
	} else if (r) {
		r = form_reply_invalid(
			&u, "body: multipart/form-data with a boundary is required");
	} else if (!str_starts(ask->path, STR("/"))) {
		r = transfer_fail(
			io, 500, STR("400: Destination must be an absolute path"));
	} else {
		r = u.refused = form_open_dest(&u);
		r = r && !form_may_escalate(&u, r) ? transfer_fail_errno(io, r, ask->path)
						   : form_receive_part(&u);
	}
	multipart_free(&u.form);
	fd_close(&u.dest);
	return r;
}
