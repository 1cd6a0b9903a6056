#include "browser/observe/prose.h"

#include "base/utf8.h"
#include "browser/page/pyrepr.h"

enum { NEWLINES_MAX = 2 };

void prose_init(struct prose *p, struct buf *out)
{
	*p = (struct prose){.out = out, .start = out->n};
}

static bool prose_is_empty(const struct prose *p)
{
	return p->out->n == p->start;
}

void prose_break(struct prose *p, unsigned newlines)
{
	if (p->newlines < newlines)
		p->newlines = newlines;
	p->blank = false;
}

void prose_break_line(struct prose *p)
{
	if (prose_is_empty(p))
		return;
	if (!p->newlines)
		buf_puts(p->out, "  ");
	if (p->newlines < NEWLINES_MAX)
		p->newlines++;
	p->blank = false;
}

static void prose_put_quotes(struct prose *p, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		buf_puts(p->out, "> ");
}

/* Writes the pending separators. Returns true at the start of a line. */
static bool prose_put_separators(struct prose *p)
{
	bool first = prose_is_empty(p), begins = first || p->newlines;
	unsigned common = p->quoted < p->quotes ? p->quoted : p->quotes;

	for (; !first && p->newlines; p->newlines--) {
		buf_putc(p->out, '\n');
		if (p->newlines > 1)
			prose_put_quotes(p, common);
	}
	if (begins) {
		prose_put_quotes(p, p->quotes);
		if (p->pre)
			buf_puts(p->out, "    ");
	} else if (p->blank && p->out->p[p->out->n - 1] != ' ') {
		buf_putc(p->out, ' ');
	}
	p->newlines = 0;
	p->blank = false;
	p->sign_open = false;
	p->quoted = p->quotes;
	return begins;
}

void prose_put_sign(struct prose *p, struct str sign)
{
	prose_put_separators(p);
	buf_str(p->out, sign);
}

void prose_open_sign(struct prose *p, struct str sign)
{
	bool more = p->sign_open && !p->newlines;
	size_t start;

	prose_put_separators(p);
	start = p->out->n;
	buf_str(p->out, sign);
	p->sign_open = true;
	if (!more)
		p->sign = start;
}

/* A blank after signs that wait for text is written before those signs. */
static void prose_insert_blank(struct prose *p)
{
	struct buf *out = p->out;

	if (p->sign == p->start || strchr(" \n", out->p[p->sign - 1]))
		return;
	buf_putc(out, ' ');
	if (out->err)
		return;
	memmove(out->p + p->sign + 1, out->p + p->sign, out->n - 1 - p->sign);
	out->p[p->sign++] = ' ';
}

void prose_close_sign(struct prose *p, struct str sign)
{
	buf_str(p->out, sign);
}

/* Removes the blanks from the start of s. Returns whether there were any. */
static bool prose_skip_blanks(struct str *s)
{
	size_t n = s->n;

	while (s->n) {
		struct str rest = *s;

		if (!pyrepr_is_blank(utf8_next(&rest)))
			break;
		*s = rest;
	}
	return s->n < n;
}

/* Removes the first word from s and returns it. */
static struct str prose_cut_word(struct str *s)
{
	struct str word = *s;

	while (s->n) {
		struct str rest = *s;

		if (pyrepr_is_blank(utf8_next(&rest)))
			break;
		*s = rest;
	}
	word.n -= s->n;
	return word;
}

/* Whether a word looks like the number of a list: digits and a point. */
static bool prose_is_list_number(struct str word)
{
	size_t digits = 0;

	while (digits < word.n && word.p[digits] >= '0' && word.p[digits] <= '9')
		digits++;
	return digits && digits + 1 == word.n && word.p[digits] == '.';
}

static void prose_put_lines(struct prose *p, struct str text)
{
	while (text.n) {
		size_t end = str_find_byte(text, '\n');
		struct str line = str_make(text.p, end);

		if (line.n) {
			prose_put_separators(p);
			buf_str(p->out, line);
		}
		if (end < text.n && !prose_is_empty(p)) {
			/* prose_break is not used: empty lines in the text count, too. */
			if (p->newlines)
				prose_put_separators(p);
			p->newlines = 1;
		}
		text = str_skip(text, end + 1);
	}
}

void prose_put_text(struct prose *p, struct str text, bool escape)
{
	if (p->pre) {
		prose_put_lines(p, text);
		return;
	}
	for (;;) {
		struct str word;
		bool begins;

		if (prose_skip_blanks(&text)) {
			if (p->sign_open && !p->newlines)
				prose_insert_blank(p);
			else
				p->blank = !prose_is_empty(p) && !p->newlines;
		}
		if (!text.n)
			return;
		word = prose_cut_word(&text);
		begins = prose_put_separators(p);
		if (begins && escape && prose_is_list_number(word) && text.n) {
			buf_put(p->out, word.p, word.n - 1);
			buf_puts(p->out, "\\.");
		} else {
			buf_str(p->out, word);
		}
	}
}

void prose_end(struct prose *p)
{
	struct buf *out = p->out;

	while (!prose_is_empty(p) && !out->err && strchr(" \n", out->p[out->n - 1]))
		out->n--;
	if (!prose_is_empty(p))
		buf_putc(out, '\n');
}
