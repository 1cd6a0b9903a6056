/* GET /v1/files, in its job: one file. */
#include "server/files/file_jobs.h"

#include "base/fd.h"
#include "codec/http/range.h"
#include "fs/load.h"
#include "fs/root.h"
#include "limits.h"
#include "server/files/etag.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

static int send_span(struct transfer_io *io, int fd, struct range s, bool to_end)
{
	while (s.n) {
		size_t want = s.n < TRANSFER_PIECE ? (size_t)s.n : TRANSFER_PIECE;
		ssize_t got = pread(fd, io->piece, want, (off_t)s.from);
		int r;

		if (got < 0 && errno == EINTR)
			continue;
		/* If the file is shorter than its head states, the connection is cut. */
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

static int send_file_refuse_range(struct transfer_io *io, struct transfer_head *head)
{
	char text[40];

	snprintf(text, sizeof(text), "bytes */%" PRIu64, head->length);
	head->status = 416;
	head->length = 0;
	transfer_add_field(head, "content-range", str_c(text));
	return transfer_begin(io, head);
}

/* A failed condition: 412 for If-Match, otherwise 304 for If-None-Match. */
static int send_file_refuse_condition(struct transfer_io *io,
	const struct transfer_request *ask, struct transfer_head *head)
{
	if (ask->match.n)
		return etag_fail(io);
	head->status = 304;
	head->type[0] = '\0';
	head->length = 0;
	return transfer_begin(io, head);
}

/* Files of kernel file systems have content, but no size or a wrong one. */
static bool send_file_has_no_size(int fd, uint64_t size)
{
	char c;

	return root_is_synthetic(fd) || (size == 0 && fd_read_all_at(fd, 0, &c, 1) == 0);
}

static int send_file_put_content(
	struct transfer_io *io, const struct transfer_request *ask, int fd, uint64_t size)
{
	struct transfer_head head = {
		.status = 200, .length = size, .type = "application/octet-stream"};
	struct range all = {0, size};
	bool to_end = send_file_has_no_size(fd, size);
	char hex[SHA256_HEX + 1] = "", text[80];
	int r;

	transfer_add_field(&head, "accept-ranges", STR("bytes"));
	/*
	 * A file above FILE_READ_MAX is hashed only for If-Match, since this takes long.
	 */
	if (!to_end && (size <= FILE_READ_MAX || etag_is_list(ask->match)) &&
		etag_hash(fd, hex) == 0)
		etag_add(&head, hex);
	if (!etag_allows(ask, hex))
		return send_file_refuse_condition(io, ask, &head);
	r = to_end || size == 0 ? 1 : range_read(ask->range, size, &all);
	if (r == ERR_RANGE)
		return send_file_refuse_range(io, &head);
	if (r == 0) {
		snprintf(text, sizeof(text), "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64,
			all.from, all.from + all.n - 1, size);
		transfer_add_field(&head, "content-range", str_c(text));
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

int send_file(struct transfer_io *io, const struct transfer_request *ask)
{
	struct file_path p;
	struct stat st;
	int fd, r;

	if (!file_jobs_check_path(io, ask->path, &p, &r))
		return r;
	fd = load_open(AT_FDCWD, p.abs, O_RDONLY, &st);
	if (fd < 0)
		return file_jobs_fail(io, fd, ask->path);
	r = send_file_put_content(io, ask, fd, (uint64_t)st.st_size);
	fd_close(&fd);
	return r;
}
