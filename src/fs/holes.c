#include "fs/holes.h"

#include <errno.h>
#include <unistd.h>

enum { HOLES_BLOCK = 4096 };

static bool holes_is_zero(struct str s)
{
	return s.n && *s.p == 0 && memcmp(s.p, s.p + 1, s.n - 1) == 0;
}

/* The part of piece that lies in the same block of the file as its byte at. */
static struct str holes_block(struct str piece, uint64_t at)
{
	size_t left = HOLES_BLOCK - (size_t)(at % HOLES_BLOCK);

	return str_make(piece.p, piece.n < left ? piece.n : left);
}

bool holes_next(struct holes *h, struct str *piece, struct str *data, uint64_t *at)
{
	struct str block = holes_block(*piece, h->at);

	while (block.n && holes_is_zero(block)) {
		h->at += block.n;
		*piece = str_skip(*piece, block.n);
		block = holes_block(*piece, h->at);
	}
	*data = str_make(piece->p, 0);
	*at = h->at;
	while (block.n && !holes_is_zero(block)) {
		h->at += block.n;
		data->n += block.n;
		*piece = str_skip(*piece, block.n);
		block = holes_block(*piece, h->at);
	}
	return data->n > 0;
}

static int holes_write_at(int fd, struct str data, uint64_t at)
{
	while (data.n) {
		ssize_t n = pwrite(fd, data.p, data.n, (off_t)at);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			data = str_skip(data, (size_t)n);
			at += (uint64_t)n;
		}
	}
	return 0;
}

int holes_write(struct holes *h, int fd, struct str piece)
{
	struct str data;
	uint64_t at;
	int r = 0;

	while (!r && holes_next(h, &piece, &data, &at))
		r = holes_write_at(fd, data, at);
	return r;
}

int holes_end(const struct holes *h, int fd)
{
	return ftruncate(fd, (off_t)h->at) < 0 ? -errno : 0;
}
