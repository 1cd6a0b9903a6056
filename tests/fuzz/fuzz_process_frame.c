/*
 * Frames of an attached process: the first byte has the direction and the size of the
 * pieces. Whole or in pieces, the same bytes give the same frames.
 */
#include "codec/process_frame.h"

#include <stdlib.h>

enum { CONTROL_MAX = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

struct result {
	struct buf bytes; /* per frame or joined pieces: type, payload */
	int last, err;
};

static void result_add(struct result *res, const struct process_frame *f, bool to_sandbox)
{
	if (to_sandbox ? f->type == PROCESS_FRAME_STDOUT ||
				f->type == PROCESS_FRAME_STDERR
		       : f->type == PROCESS_FRAME_STDIN)
		abort();
	if (!f->bytes.n || f->bytes.n > PROCESS_FRAME_MAX)
		abort();
	if (f->type == PROCESS_FRAME_CONTROL && f->bytes.n > CONTROL_MAX)
		abort();
	if (res->last != (int)f->type || f->type == PROCESS_FRAME_CONTROL)
		buf_putc(&res->bytes, (char)f->type);
	buf_str(&res->bytes, f->bytes);
	res->last = (int)f->type;
}

static struct result decode(bool to_sandbox, const uint8_t *data, size_t n, size_t step)
{
	struct result res = {.bytes = BUF_INIT(1 << 22), .last = -1};
	struct process_frames r;
	struct process_frame f;

	process_frames_init(&r, to_sandbox, CONTROL_MAX);
	for (size_t i = 0; i < n && res.err >= 0; i += step) {
		size_t piece = n - i < step ? n - i : step;
		char *copy = malloc(piece);
		struct str in = str_make(copy, piece);

		if (!copy)
			abort();
		memcpy(copy, data + i, piece);
		while ((res.err = process_frames_next(&r, &in, &f)) == 0)
			result_add(&res, &f, to_sandbox);
		if (res.err == 1 && in.n)
			abort();
		free(copy);
	}
	process_frames_free(&r);
	return res;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct result whole, pieces;

	if (n < 2)
		return 0;
	whole = decode(*data & 1, data + 1, n - 1, n - 1);
	pieces = decode(*data & 1, data + 1, n - 1, (size_t)(*data >> 1) + 1);
	if (whole.err != pieces.err || whole.bytes.n != pieces.bytes.n)
		abort();
	if (whole.bytes.n && memcmp(whole.bytes.p, pieces.bytes.p, whole.bytes.n) != 0)
		abort();
	buf_free(&whole.bytes);
	buf_free(&pieces.bytes);
	return 0;
}
