/* GET and PUT /v1/files, in their jobs: one file. */
#include "srv/transfer_v1.h"

#include "base/fd.h"
#include "base/hash.h"
#include "file/load.h"
#include "file/put.h"
#include "limits.h"
#include "net/range.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#define NOT_MEANT "The file is not the one that is meant."

/* The hash of what fd holds, from its start on. 0 or -errno. */
static int hash_file(int fd, char hex[SHA256_HEX + 1])
{
	static char piece[TRANSFER_PIECE];
	uint8_t digest[SHA256_LEN];
	struct sha256 h;
	off_t at = 0;
	ssize_t n;

	sha256_init(&h);
	while ((n = pread(fd, piece, sizeof(piece), at)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		sha256_update(&h, piece, (size_t)n);
		at += n;
	}
	sha256_final(&h, digest);
	hex_encode(digest, sizeof(digest), hex);
	return 0;
}

static void add_etag(struct transfer_head *head, const char *hex)
{
	char tag[SHA256_HEX + 3];

	snprintf(tag, sizeof(tag), "\"%s\"", hex);
	transfer_field(head, "etag", str_c(tag));
}

/* --- Conditions (RFC 9110, 13.1) ------------------------------------------------- */

static bool is_any(struct str field)
{
	return str_eq(str_trim(field, " \t"), STR("*"));
}

static bool is_list(struct str field)
{
	return field.n && !is_any(field);
}

/* Whether If-Match or If-None-Match names what has this hash. */
static bool is_listed(struct str field, const char *hex)
{
	if (is_any(field))
		return true;
	while (field.n) {
		struct str tag = str_trim(str_cut(&field, ','), " \t");

		/* What a proxy has packed on the way comes back as weak. */
		if (str_starts(tag, STR("W/")))
			tag = str_skip(tag, 2);
		if (hex[0] && str_eq(str_trim(tag, "\""), str_c(hex)))
			return true;
	}
	return false;
}

/* Whether the conditions allow what is there, with this hash, to be had or replaced. */
static bool may_have(const struct transfer_ask *ask, const char *hex)
{
	return (!ask->match.n || is_listed(ask->match, hex)) &&
		!(ask->none_match.n && is_listed(ask->none_match, hex));
}

/* --- GET ------------------------------------------------------------------------ */

static int send_span(struct transfer_io *io, int fd, struct range s, bool to_end)
{
	while (s.n) {
		size_t want = s.n < TRANSFER_PIECE ? (size_t)s.n : TRANSFER_PIECE;
		ssize_t got = pread(fd, io->piece, want, (off_t)s.from);
		int r;

		if (got < 0 && errno == EINTR)
			continue;
		/* Shorter than promised: the connection tells. */
		if (got <= 0)
			return got == 0 && to_end ? 0 : -EIO;
		r = fd_write_all(io->out, io->piece, (size_t)got);
		if (r)
			return r;
		s.from += (uint64_t)got;
		s.n -= (uint64_t)got;
	}
	return 0;
}

static int not_satisfiable(struct transfer_io *io, struct transfer_head *head)
{
	char text[40];

	snprintf(text, sizeof(text), "bytes */%" PRIu64, head->length);
	head->status = 416;
	head->length = 0;
	transfer_field(head, "content-range", str_c(text));
	return transfer_begin(io, head);
}

/* 304 for who has it already, 412 otherwise. */
static int not_wanted(struct transfer_io *io, const struct transfer_ask *ask,
	struct transfer_head *head)
{
	if (ask->match.n)
		return transfer_fail(io, 412, STR(NOT_MEANT));
	head->status = 304;
	head->type[0] = '\0';
	head->length = 0;
	return transfer_begin(io, head);
}

static int send_file(
	struct transfer_io *io, const struct transfer_ask *ask, int fd, uint64_t size)
{
	struct transfer_head head = {
		.status = 200, .length = size, .type = "application/octet-stream"};
	struct range all = {0, size};
	/* The files of /proc have content, but no size. */
	bool to_end = size == 0;
	char hex[SHA256_HEX + 1] = "", text[80];
	int r;

	transfer_field(&head, "accept-ranges", STR("bytes"));
	/* That of a large file takes longer than most like to wait for. */
	if (!to_end && (size <= FILE_READ_MAX || is_list(ask->match)) &&
		hash_file(fd, hex) == 0)
		add_etag(&head, hex);
	if (!may_have(ask, hex))
		return not_wanted(io, ask, &head);
	r = to_end ? 1 : range_read(ask->range, size, &all);
	if (r == ERR_RANGE)
		return not_satisfiable(io, &head);
	if (r == 0) {
		snprintf(text, sizeof(text), "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64,
			all.from, all.from + all.n - 1, size);
		transfer_field(&head, "content-range", str_c(text));
		head.status = 206;
		head.length = all.n;
	}
	if (to_end) {
		head.length = REQUEST_LENGTH_UNKNOWN;
		all.n = UINT64_MAX;
	}
	r = transfer_begin(io, &head);
	return r ? r : send_span(io, fd, all, to_end);
}

int v1_get(struct transfer_io *io, const struct transfer_ask *ask)
{
	struct file_path p;
	struct stat st;
	int fd, r;

	if (!v1_path(io, ask->path, &p, &r))
		return r;
	fd = load_open(AT_FDCWD, p.abs, O_RDONLY, &st);
	if (fd < 0)
		return v1_fail(io, fd, ask->path);
	r = send_file(io, ask, fd, (uint64_t)st.st_size);
	fd_close(&fd);
	return r;
}

/* --- PUT ------------------------------------------------------------------------ */

/* The hash of the file that is there, which is in *st then: 0 or -errno. */
static int hash_old(const struct put *p, struct stat *st, char hex[SHA256_HEX + 1])
{
	int fd = load_open(p->dir, p->name, O_RDONLY | O_NOFOLLOW, st);
	int r = fd < 0 ? fd : hash_file(fd, hex);

	fd_close(&fd);
	return r;
}

/* 1 when the conditions are not met; what has to hold until the end is in p. */
static int check(const struct transfer_ask *ask, struct put *p)
{
	char hex[SHA256_HEX + 1] = "";
	bool exists = p->exists;

	if (is_list(ask->match) || is_list(ask->none_match)) {
		int r = hash_old(p, &p->swap.old, hex);

		if (r && r != -ENOENT)
			return r;
		exists = r == 0;
		p->swap.over = exists ? SWAP_THIS : SWAP_ANY;
	}
	if (exists)
		return !may_have(ask, hex);
	if (ask->none_match.n)
		p->swap.over = SWAP_NOTHING;
	return ask->match.n > 0;
}

static int told(struct transfer_io *io, const struct transfer_ask *ask, enum put_how how,
	uint64_t size, const char *hex)
{
	static const char *const words[] = {
		[PUT_NEW] = "new",
		[PUT_REPLACED] = "replaced",
		[PUT_IN_PLACE] = "in place",
	};
	struct transfer_head head = {
		.status = how == PUT_NEW ? 201 : 200, .type = API_JSON};
	struct jw w;
	int r;

	jw_init(&w, &io->buf);
	jw_object(&w);
	jw_key(&w, "path");
	jw_str(&w, ask->path);
	jw_key(&w, "size");
	jw_uint(&w, size);
	jw_key(&w, "sha256");
	jw_cstr(&w, hex);
	jw_key(&w, "how");
	jw_cstr(&w, words[how]);
	jw_end(&w);
	head.length = io->buf.n;
	add_etag(&head, hex);
	r = transfer_begin(io, &head);
	return r ? r : transfer_flush(io);
}

/* Receives and commits: 0, 1 when a condition says no, or an error. */
static int receive(struct transfer_io *io, const struct transfer_ask *ask, struct put *p,
	enum put_how *how, uint64_t *size, char hex[SHA256_HEX + 1])
{
	uint8_t digest[SHA256_LEN];
	struct str piece;
	struct sha256 h;
	int r;

	sha256_init(&h);
	while ((r = transfer_read(io, &piece)) == 1) {
		r = put_data(p, piece);
		if (r)
			return r;
		sha256_update(&h, piece.p, piece.n);
		*size += piece.n;
	}
	if (!r)
		r = check(ask, p);
	if (r)
		return r;
	sha256_final(&h, digest);
	hex_encode(digest, sizeof(digest), hex);
	p->sync = ask->sync;
	r = put_commit(p, how, NULL);
	/* Somebody else has been there meanwhile. */
	return (r == -ESTALE && p->swap.over == SWAP_THIS) ||
			(r == -EEXIST && p->swap.over == SWAP_NOTHING)
		? 1
		: r;
}

static int put_there(
	struct transfer_io *io, const struct transfer_ask *ask, int dir, const char *name)
{
	char hex[SHA256_HEX + 1];
	enum put_how how = PUT_NEW;
	uint64_t size = 0;
	struct put p;
	int r = put_begin(&p, dir, name);

	if (r)
		return v1_fail(io, r, ask->path);
	put_guard(&p);
	r = receive(io, ask, &p, &how, &size, hex);
	put_end(&p);
	if (r == 1)
		return transfer_fail(io, 412, STR(NOT_MEANT));
	io->damaged = p.damaged;
	return r ? v1_fail(io, r, ask->path) : told(io, ask, how, size, hex);
}

/* Makes the folder that holds p where it is not there. */
static int make_folder(const struct file_path *p)
{
	char folder[FILE_PATH_MAX];
	char *slash;
	int fd;

	memcpy(folder, p->abs, p->n + 1);
	slash = strrchr(folder, '/');
	if (slash == folder)
		return 0;
	*slash = '\0';
	fd = v1_open_folder(folder);
	if (fd < 0)
		return fd;
	fd_close(&fd);
	return 0;
}

int v1_put(struct transfer_io *io, const struct transfer_ask *ask)
{
	char name[FILE_PATH_MAX];
	struct file_path p;
	int dir = -1;
	int r;

	if (!v1_path(io, ask->path, &p, &r))
		return r;
	/* Only a folder can have that name. */
	r = str_ends(ask->path, STR("/")) ? -EISDIR : make_folder(&p);
	if (!r)
		r = file_path_open_dir(&p, &dir, name);
	if (r)
		return v1_fail(io, r, ask->path);
	r = put_there(io, ask, dir, name);
	fd_close(&dir);
	return r;
}
