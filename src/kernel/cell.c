#include "kernel/cell.h"

#include "base/utf8.h"
#include "limits.h"

#include <errno.h>

void cell_init(struct cell *c)
{
	*c = (struct cell){
		.head = BUF_INIT(CELL_HEAD_MAX),
		.tail = BUF_INIT(2 * CELL_TAIL_MAX),
		.images = BUF_INIT(CELL_IMAGES_MAX),
	};
	rich_init(&c->rich);
}

void cell_free(struct cell *c)
{
	buf_free(&c->head);
	buf_free(&c->tail);
	buf_free(&c->images);
	rich_free(&c->rich);
}

void cell_reset(struct cell *c)
{
	cell_free(c);
	cell_init(c);
}

/* Drops all but the last max bytes of the tail. */
static void cell_trim_tail(struct cell *c, size_t max)
{
	size_t over = c->tail.n > max ? c->tail.n - max : 0;

	c->left_out += over;
	buf_consume(&c->tail, over);
}

void cell_put_text(struct cell *c, struct str text)
{
	size_t room = CELL_HEAD_MAX - c->head.n;
	struct str first = str_make(text.p, text.n < room ? text.n : room);

	c->has_text = true;
	buf_str(&c->head, first);
	text = str_skip(text, first.n);
	while (text.n && !c->tail.err) {
		struct str part = text;

		if (part.n > CELL_TAIL_MAX)
			part.n = CELL_TAIL_MAX;
		if (c->tail.n + part.n > 2 * CELL_TAIL_MAX)
			cell_trim_tail(c, CELL_TAIL_MAX);
		buf_str(&c->tail, part);
		text = str_skip(text, part.n);
	}
}

void cell_put_image(struct cell *c, struct str base64)
{
	static const char words[] = "\n[An image of %zu bytes was left out: "
				    "there are too many.]\n";
	struct buf note = BUF_INIT(256);
	struct jw_text t;
	struct jw w;

	base64 = str_trim(base64, " \r\n");
	/*
	 * The reserve is for quotes and a comma, and for escapes, which valid base64
	 * does not need.
	 */
	if (base64.n + 64 > CELL_IMAGES_MAX - c->images.n) {
		buf_fmt(&note, words, base64.n);
		cell_put_text(c, buf_view(&note));
		buf_free(&note);
		return;
	}
	if (c->images.n)
		buf_putc(&c->images, ',');
	jw_init(&w, &c->images);
	jw_text_begin(&t, &w);
	jw_text_put(&t, STR("data:image/png;base64,"));
	jw_text_put(&t, base64);
	jw_text_end(&t);
}

/* The length of the colour sequence at the front of s, 0 if there is none. */
static size_t cell_colour_length(struct str s)
{
	size_t at = 2;

	if (s.n < 4 || s.p[0] != '\033' || s.p[1] != '[')
		return 0;
	for (int numbers = 0; numbers < 3; numbers++) {
		size_t from = at;

		while (at < s.n && s.p[at] >= '0' && s.p[at] <= '9')
			at++;
		if (at == from || at == s.n)
			return 0;
		if (s.p[at] == 'm')
			return at + 1;
		if (s.p[at++] != ';')
			return 0;
	}
	return 0;
}

/* Removes ESC [ n (;n){0,2} m in place. */
static void cell_strip_colours(struct buf *text)
{
	struct str rest = buf_view(text);
	char *to = text->p;

	while (rest.n) {
		size_t plain = str_find_byte(rest, '\033');
		size_t skip;

		if (to != rest.p && plain)
			memmove(to, rest.p, plain);
		to += plain;
		rest = str_skip(rest, plain);
		if (!rest.n)
			break;
		skip = cell_colour_length(rest);
		if (!skip)
			*to++ = *rest.p;
		rest = str_skip(rest, skip ? skip : 1);
	}
	text->n = text->n ? (size_t)(to - text->p) : 0;
}

static bool cell_is_blank(uint32_t c)
{
	return (c >= 9 && c <= 13) || (c >= 28 && c <= 32) || c == 0x85 || c == 0xa0 ||
		c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 ||
		c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

struct str cell_rstrip(struct str s)
{
	while (s.n) {
		size_t from = s.n - 1;
		struct str last;
		uint32_t c;

		while (from > 0 && s.n - from < 4 && (s.p[from] & 0xc0) == 0x80)
			from--;
		last = str_skip(s, from);
		c = utf8_next(&last);
		if (last.n || !cell_is_blank(c))
			break;
		s.n = from;
	}
	return s;
}

int cell_write_content(const struct cell *c, struct buf *out)
{
	struct str text;
	struct buf all = BUF_INIT(CELL_HEAD_MAX + 2 * CELL_TAIL_MAX + 256);
	struct str tail = buf_view(&c->tail);
	uint64_t left_out = c->left_out;

	if (!c->has_text) {
		buf_puts(out, "[Code executed successfully with no output]");
		return out->err;
	}
	if (left_out && tail.n > CELL_TAIL_MAX) {
		left_out += tail.n - CELL_TAIL_MAX;
		tail = str_skip(tail, tail.n - CELL_TAIL_MAX);
	}
	buf_str(&all, buf_view(&c->head));
	if (left_out)
		buf_fmt(&all, "\n[... %llu bytes of output were left out here ...]\n",
			(unsigned long long)left_out);
	buf_str(&all, tail);
	cell_strip_colours(&all);
	text = cell_rstrip(buf_view(&all));
	buf_str(out, text);
	if (c->head.err || c->tail.err || all.err)
		buf_puts(out, "\n[Out of memory: a part of the output was left out.]");
	buf_free(&all);
	return out->err;
}

bool cell_has_images(const struct cell *c)
{
	return c->images.n > 0;
}

void cell_write_images(const struct cell *c, struct jw *w)
{
	struct buf list = BUF_INIT(CELL_IMAGES_MAX + 2);

	buf_putc(&list, '[');
	buf_str(&list, buf_view(&c->images));
	buf_putc(&list, ']');
	jw_raw(w, buf_view(&list));
	buf_free(&list);
}
