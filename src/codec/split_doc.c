#include "codec/split_impl.h"

#include <assert.h>

static bool split_doc_has_any(struct str s, const char *set)
{
	for (size_t i = 0; i < s.n; i++)
		if (strchr(set, s.p[i]))
			return true;
	return false;
}

void split_doc_add(struct splitter *m, const struct split_frame *f, struct str word)
{
	/*
	 * A delimiter with an expansion is not understood: bash's result is never
	 * intended.
	 */
	if (m->docs_n == SPLIT_DOCS_MAX || word.n > SPLIT_DELIMITER_MAX ||
		(f->word_flags & WORD_SPLICED) || split_doc_has_any(word, "\n$`(")) {
		split_lose(m);
		return;
	}
	m->docs[m->docs_n++] = (struct here_doc){
		.delimiter = word,
		.level = m->level,
		.quoted = split_doc_has_any(word, "'\"\\"),
		.tabs = f->redir == REDIR_DOC_TABS,
		.cr = split_is_cr(m),
	};
}

void split_doc_close(struct splitter *m)
{
	/* Shells disagree on $(cat <<EOF) followed by lines. */
	for (size_t i = 0; i < m->docs_n; i++)
		if (m->docs[i].level == m->level)
			split_lose(m);
}

/* Inside double quotes a backslash is plain before most characters. */
static bool split_doc_is_escape(char quote, char next)
{
	return quote == 0 || (quote == '"' && strchr("$`\"\\", next));
}

/* The delimiter without its quotes, as lines are compared with it. */
static struct str split_doc_unquote(struct str raw, char room[SPLIT_DELIMITER_MAX])
{
	char quote = 0;
	size_t n = 0;

	assert(raw.n <= SPLIT_DELIMITER_MAX);
	for (size_t i = 0; i < raw.n; i++) {
		char c = raw.p[i];

		if (c == '\\' && i + 1 < raw.n &&
			split_doc_is_escape(quote, raw.p[i + 1]))
			room[n++] = raw.p[++i];
		else if (quote ? c == quote : c == '\'' || c == '"')
			quote = quote ? 0 : c;
		else
			room[n++] = c;
	}
	return str_make(room, n);
}

/* The part of a line that agrees with the delimiter. */
struct match {
	struct str want;
	size_t n;  /* bytes that agree */
	char next; /* the byte after them, NUL at the line's end */
	size_t rest;
};

static void split_doc_match_byte(struct match *k, char c)
{
	if (k->rest == 0 && k->n < k->want.n && k->want.p[k->n] == c)
		k->n++;
	else if (k->rest++ == 0)
		k->next = c;
}

/* Consumes a line, joined with the next line after a backslash. */
static void split_doc_match_line(
	struct splitter *m, const struct here_doc *d, struct match *k)
{
	while (d->tabs && split_peek(m, 0) == '\t')
		m->at++;
	while (m->at < m->text.n && m->text.p[m->at] != '\n') {
		bool escape =
			m->text.p[m->at] == '\\' && !d->quoted && m->at + 1 < m->text.n;

		if (escape && m->text.p[m->at + 1] == '\n') {
			m->at += 2;
			continue;
		}
		split_doc_match_byte(k, m->text.p[m->at++]);
		if (escape)
			split_doc_match_byte(k, m->text.p[m->at++]);
	}
	if (m->at < m->text.n)
		m->at++;
}

/* True if the line was the delimiter. */
static bool split_doc_is_end(
	struct splitter *m, const struct here_doc *d, const struct match *k)
{
	bool cr = k->rest == 1 && k->next == '\r';

	if (k->n < k->want.n)
		return false;
	if (k->rest && !cr) {
		/* bash ends a document at "EOF)" of a substitution; others do not. */
		if (m->level && k->next == ')')
			split_lose(m);
		return false;
	}
	/*
	 * Only the delimiter or only the line has a carriage return: a match is a guess.
	 */
	if (cr != d->cr)
		split_lose(m);
	return true;
}

static void split_doc_skip_body(struct splitter *m, const struct here_doc *d)
{
	char room[SPLIT_DELIMITER_MAX];
	struct str want = split_doc_unquote(d->delimiter, room);

	while (m->state == SPLIT_RUNNING) {
		struct match k = {.want = want};

		if (m->at == m->text.n) {
			m->state = SPLIT_OPEN;
			return;
		}
		split_doc_match_line(m, d, &k);
		if (split_doc_is_end(m, d, &k))
			return;
	}
}

void split_doc_read(struct splitter *m)
{
	for (size_t i = 0; i < m->docs_n; i++) {
		if (m->docs[i].level != m->level)
			split_lose(m);
		if (m->state == SPLIT_RUNNING)
			split_doc_skip_body(m, &m->docs[i]);
	}
	if (m->state != SPLIT_OPEN)
		m->docs_n = 0;
}
