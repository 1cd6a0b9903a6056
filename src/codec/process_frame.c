#include "codec/process_frame.h"

#include <assert.h>

enum { TYPE = 0, ZEROS = 1, LENGTH = 4 };

void process_frame_write_head(
	uint8_t head[PROCESS_FRAME_HEAD], enum process_frame_type type, size_t n)
{
	assert(n <= PROCESS_FRAME_MAX);
	memset(head, 0, PROCESS_FRAME_HEAD);
	head[TYPE] = (uint8_t)type;
	for (unsigned i = 0; i < 4; i++)
		head[LENGTH + i] = (uint8_t)(n >> (8 * (3 - i)));
}

size_t process_frame_begin(struct buf *out, enum process_frame_type type)
{
	uint8_t head[PROCESS_FRAME_HEAD];
	size_t at = out->n;

	process_frame_write_head(head, type, 0);
	buf_put(out, head, sizeof(head));
	return at;
}

void process_frame_end(struct buf *out, size_t at)
{
	uint8_t *head;

	if (out->err)
		return;
	head = (uint8_t *)out->p + at;
	process_frame_write_head(head, (enum process_frame_type)head[TYPE],
		out->n - at - PROCESS_FRAME_HEAD);
}

void process_frames_init(struct process_frames *r, bool to_sandbox, size_t control_max)
{
	*r = (struct process_frames){.to_sandbox = to_sandbox};
	buf_init(&r->control, control_max);
}

void process_frames_free(struct process_frames *r)
{
	buf_free(&r->control);
}

static void process_frames_consume(struct process_frames *r, size_t n)
{
	r->left -= n;
	if (!r->left)
		r->head_n = 0;
}

static bool process_frames_allow(const struct process_frames *r, uint8_t type)
{
	if (type == PROCESS_FRAME_CONTROL)
		return true;
	return r->to_sandbox
		? type == PROCESS_FRAME_STDIN
		: type == PROCESS_FRAME_STDOUT || type == PROCESS_FRAME_STDERR;
}

/* Checks a complete head, and prepares for its payload. */
static int process_frames_enter(struct process_frames *r)
{
	const uint8_t *h = r->head;
	bool control = h[TYPE] == PROCESS_FRAME_CONTROL;

	if (!process_frames_allow(r, h[TYPE]) || h[ZEROS] || h[ZEROS + 1] || h[ZEROS + 2])
		return ERR_SYNTAX;
	r->left = (size_t)h[LENGTH] << 24 | (size_t)h[LENGTH + 1] << 16 |
		(size_t)h[LENGTH + 2] << 8 | h[LENGTH + 3];
	if (r->left > (control ? r->control.max : (size_t)PROCESS_FRAME_MAX))
		return ERR_LIMIT;
	if (control && !r->left)
		return ERR_SYNTAX;
	buf_reset(&r->control);
	/* An empty data frame ends with its head. */
	process_frames_consume(r, 0);
	return 0;
}

/* 0: the head is complete and legal; 1: it is not complete; an error. */
static int process_frames_take_head(struct process_frames *r, struct str *in)
{
	size_t n = PROCESS_FRAME_HEAD - r->head_n;

	n = n < in->n ? n : in->n;
	if (n)
		memcpy(r->head + r->head_n, in->p, n);
	r->head_n += (unsigned)n;
	*in = str_skip(*in, n);
	return r->head_n < PROCESS_FRAME_HEAD ? 1 : process_frames_enter(r);
}

int process_frames_next(struct process_frames *r, struct str *in, struct process_frame *f)
{
	struct str piece;
	int e;

	while (r->head_n < PROCESS_FRAME_HEAD) {
		e = process_frames_take_head(r, in);
		if (e)
			return e;
	}
	if (!in->n)
		return 1;
	piece = str_make(in->p, r->left < in->n ? r->left : in->n);
	*in = str_skip(*in, piece.n);
	f->type = (enum process_frame_type)r->head[TYPE];
	f->bytes = piece;
	if (f->type == PROCESS_FRAME_CONTROL && (piece.n < r->left || r->control.n)) {
		buf_str(&r->control, piece);
		f->bytes = buf_view(&r->control);
	}
	process_frames_consume(r, piece.n);
	if (r->control.err)
		return r->control.err;
	return f->type == PROCESS_FRAME_CONTROL && r->left;
}

size_t process_frames_count_data(const struct process_frames *r)
{
	return r->head_n == PROCESS_FRAME_HEAD && r->head[TYPE] != PROCESS_FRAME_CONTROL
		? r->left
		: 0;
}

void process_frames_skip(struct process_frames *r, size_t n)
{
	assert(n <= process_frames_count_data(r));
	process_frames_consume(r, n);
}
