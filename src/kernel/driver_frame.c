#include "kernel/driver_frame.h"

void driver_frames_init(struct driver_frames *f)
{
	buf_init(&f->in, DRIVER_FRAME_HEAD + DRIVER_FRAME_MAX + DRIVER_READ);
	f->at = 0;
}

void driver_frames_free(struct driver_frames *f)
{
	buf_free(&f->in);
	f->at = 0;
}

static size_t driver_frame_length(const char *p)
{
	const uint8_t *b = (const uint8_t *)p;

	return b[0] | (size_t)b[1] << 8 | (size_t)b[2] << 16 | (size_t)b[3] << 24;
}

int driver_frames_put(struct driver_frames *f, struct str bytes)
{
	/*
	 * Frees the frames already read. The buffer of a big frame is not kept for
	 * small ones.
	 */
	if (f->at && f->at == f->in.n)
		driver_frames_free(f);
	buf_consume(&f->in, f->at);
	f->at = 0;
	buf_str(&f->in, bytes);
	return f->in.err;
}

int driver_frames_next(struct driver_frames *f, struct str *frame)
{
	struct str rest = str_skip(buf_view(&f->in), f->at);
	size_t n;

	if (rest.n < DRIVER_FRAME_HEAD)
		return 1;
	n = driver_frame_length(rest.p);
	if (n > DRIVER_FRAME_MAX)
		return ERR_LIMIT;
	rest = str_skip(rest, DRIVER_FRAME_HEAD);
	if (rest.n < n)
		return 1;
	*frame = str_make(rest.p, n);
	f->at += DRIVER_FRAME_HEAD + n;
	return 0;
}

void driver_frame_put(struct buf *out, struct str body)
{
	const char head[DRIVER_FRAME_HEAD] = {
		(char)(body.n & 0xff),
		(char)(body.n >> 8 & 0xff),
		(char)(body.n >> 16 & 0xff),
		(char)(body.n >> 24 & 0xff),
	};

	buf_put(out, head, sizeof(head));
	buf_str(out, body);
}
