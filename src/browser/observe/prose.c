#include "browser/observe/prose.h"

#include "base/utf8.h"
#include "browser/page/pyrepr.h"

enum { NEWLINES_MAX = 2 };

void prose_init(struct prose *p, struct buf *out)
{
	*p = (struct prose){.out = out, .start = out->n};
}

static bool is_empty(const struct prose *p)
{
	return p->out->n == p->start;
}

void prose_break(struct prose *p, unsigned newlines)
{
	if (p->newlines < newlines)
		p->newlines = newlines;
	p->blank = false;
}

void prose_line(struct prose *p)
{
	if (is_empty(p))
		return;
	if (!p->newlines)
		buf_puts(p->out, "  ");
	if (p->newlines < NEWLINES_MAX)
		p->newlines++;
	p->blank = false;
}

static void put_quotes(struct prose *p, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		buf_puts(p->out, "> ");
}

/* Writes the pending separators. Returns true at the start of a line. */
static bool put_due(struct prose *p)
{
	bool first = is_empty(p), begins = first || p->newlines;
	unsigned common = p->quoted < p->quotes ? p->quoted : p->quotes;

	for (; !first && p->newlines; p->newlines--) {
		buf_putc(p->out, '\n');
		if (p->newlines > 1)
			put_quotes(p, common);
	}
	if (begins) {
		put_quotes(p, p->quotes);
		if (p->pre)
			buf_puts(p->out, "    ");
	} else if (p->blank && p->out->p[p->out->n - 1] != ' ') {
		buf_putc(p->out, ' ');
	}
	p->newlines = 0;
	p->blank = false;
	p->swallow = false;
	p->quoted = p->quotes;
	return begins;
}

void prose_sign(struct prose *p, struct str sign)
{
	put_due(p);
	buf_str(p->out, sign);
}

void prose_open(struct prose *p, struct str sign)
{
	bool more = p->swallow && !p->newlines;
	size_t start;

	put_due(p);
	start = p->out->n;
	buf_str(p->out, sign);
	p->swallow = true;
	if (!more)
		p->sign = start;
}

/* A blank after signs that wait for text is written before those signs. */
static void put_before_signs(struct prose *p)
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

void prose_close(struct prose *p, struct str sign)
{
	buf_str(p->out, sign);
}

/* Removes the blanks from the start of s. Returns whether there were any. */
static bool take_blanks(struct str *s)
{
	size_t n = s->n;

	while (s->n) {
		struct str rest = *s;

		if (!pyrepr_blank(utf8_next(&rest)))
			break;
		*s = rest;
	}
	return s->n < n;
}

/* Removes the first word from s and returns it. */
static struct str take_word(struct str *s)
{
	struct str word = *s;

	while (s->n) {
		struct str rest = *s;

		if (pyrepr_blank(utf8_next(&rest)))
			break;
		*s = rest;
	}
	word.n -= s->n;
	return word;
}

/* Whether a word looks like the number of a list: digits and a point. */
static bool is_number(struct str word)
{
	size_t digits = 0;

	while (digits < word.n && word.p[digits] >= '0' && word.p[digits] <= '9')
		digits++;
	return digits && digits + 1 == word.n && word.p[digits] == '.';
}

static void put_lines(struct prose *p, struct str text)
{
	while (text.n) {
		size_t end = str_find_byte(text, '\n');
		struct str line = str_make(text.p, end);

		if (line.n) {
			put_due(p);
			buf_str(p->out, line);
		}
		if (end < text.n && !is_empty(p)) {
			/* prose_break is not used: empty lines in the text count, too. */
			if (p->newlines)
				put_due(p);
			p->newlines = 1;
		}
		text = str_skip(text, end + 1);
	}
}

void prose_words(struct prose *p, struct str text, bool escape)
{
	if (p->pre) {
		put_lines(p, text);
		return;
	}
	for (;;) {
		struct str word;
		bool begins;

		if (take_blanks(&text)) {
			if (p->swallow && !p->newlines)
				put_before_signs(p);
			else
				p->blank = !is_empty(p) && !p->newlines;
		}
		if (!text.n)
			return;
		word = take_word(&text);
		begins = put_due(p);
		if (begins && escape && is_number(word) && text.n) {
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

	while (!is_empty(p) && !out->err && strchr(" \n", out->p[out->n - 1]))
		out->n--;
	if (!is_empty(p))
		buf_putc(out, '\n');
}
