#include "base/lines.h"

enum { KEEP = 65536 }; /* buffer space kept for the next line */

void lines_init(struct lines *l, size_t max)
{
	*l = (struct lines){.part = BUF_INIT(max)};
}

void lines_free(struct lines *l)
{
	buf_free(&l->part);
	l->taken = false;
}

static struct str lines_trim_cr(struct str line)
{
	if (line.n && line.p[line.n - 1] == '\r')
		line.n--;
	return line;
}

int lines_next(struct lines *l, struct str *in, struct str *line)
{
	size_t at = str_find_byte(*in, '\n');
	struct str piece = str_make(in->p, at);

	if (l->taken && l->part.cap > KEEP)
		buf_free(&l->part);
	else if (l->taken)
		buf_reset(&l->part);
	l->taken = false;
	/* A line that arrived in one piece is not copied. */
	if (at < in->n && !l->part.n && at <= l->part.max) {
		*in = str_skip(*in, at + 1);
		*line = lines_trim_cr(piece);
		return 0;
	}
	buf_str(&l->part, piece);
	if (l->part.err)
		return l->part.err;
	if (at == in->n) {
		*in = str_skip(*in, at);
		return 1;
	}
	*in = str_skip(*in, at + 1);
	l->taken = true;
	*line = lines_trim_cr(buf_view(&l->part));
	return 0;
}

void lines_rest(struct lines *l, struct str *line)
{
	*line = l->taken ? str_make(NULL, 0) : lines_trim_cr(buf_view(&l->part));
}
