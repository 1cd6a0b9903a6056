#include "codec/http/sse.h"

void sse_init(struct sse *s, size_t max)
{
	*s = (struct sse){.data = BUF_INIT(max)};
	lines_init(&s->lines, max + strlen("data: "));
}

void sse_free(struct sse *s)
{
	lines_free(&s->lines);
	buf_free(&s->data);
}

static int sse_read_line(struct sse *s, struct str line)
{
	struct str field = str_cut(&line, ':');

	/* The name of a comment is empty. */
	if (!str_eq(field, STR("data")))
		return 0;
	if (s->has_data)
		buf_putc(&s->data, '\n');
	s->has_data = true;
	buf_str(&s->data, str_skip(line, str_starts(line, STR(" "))));
	return s->data.err;
}

int sse_next(struct sse *s, struct str *in, struct str *data)
{
	struct str line;
	int r;

	if (s->delivered) {
		buf_reset(&s->data);
		s->has_data = s->delivered = false;
	}
	while ((r = lines_next(&s->lines, in, &line)) == 0) {
		if (line.n) {
			r = sse_read_line(s, line);
			if (r)
				break;
		} else if (s->has_data) {
			s->delivered = true;
			*data = buf_view(&s->data);
			return 0;
		}
	}
	return r;
}
