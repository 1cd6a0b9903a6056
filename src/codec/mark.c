#include "codec/mark.h"

#include "limits.h"

#include <stdio.h>

void mark_init(struct mark_splitter *m, const char *nonce)
{
	memset(m, 0, sizeof(*m));
	snprintf(m->prefix, sizeof(m->prefix), "\033]7777;%.*s;", MARK_NONCE, nonce);
	snprintf(m->suffix, sizeof(m->suffix), ";%.*s\a", MARK_NONCE, nonce);
	buf_init(&m->body, MARK_BODY_MAX);
}

void mark_free(struct mark_splitter *m)
{
	buf_free(&m->body);
}

/* Removes the CR that the terminal has put before each LF of the value. */
static struct str mark_strip_cr(char *p, size_t n)
{
	size_t out = 0;

	for (size_t i = 0; i < n; i++)
		if (!(p[i] == '\r' && i + 1 < n && p[i + 1] == '\n'))
			p[out++] = p[i];
	return str_make(p, out);
}

static bool mark_parse_body(struct mark_splitter *m, struct mark_event *e)
{
	struct str separator = str_make(m->suffix, MARK_NONCE + 1);
	struct str rest = buf_view(&m->body);
	struct str kind = str_cut(&rest, ';');
	struct str id = str_cut(&rest, ';');
	struct str status = str_cut(&rest, ';');
	struct str job = str_cut(&rest, ';');
	uint64_t code, pid;
	size_t at = str_find(rest, separator);
	char *cwd = m->body.p + (rest.p - m->body.p);

	if (kind.n != 1 || at == rest.n || str_u64(status, 255, &code) != 0)
		return false;
	if (str_find_byte(STR("stpe"), kind.p[0]) == 4)
		return false;
	rest = str_skip(rest, at + separator.n);
	if (rest.n == 0 || rest.p[0] != ';')
		return false;
	*e = (struct mark_event){
		.kind = kind.p[0] == 'e' ? MARK_PROMPT : (enum mark_kind)kind.p[0],
		.edits = kind.p[0] == 'e',
		.id = id,
		.status = (int)code,
		.background =
			str_u64(job, INT32_MAX, &pid) == 0 && pid ? (int64_t)pid : -1,
		.cwd = mark_strip_cr(cwd, at),
		.path = str_skip(rest, 1),
	};
	return true;
}

/* Collects the body until the suffix; true if the mark is complete. */
static bool mark_collect_body(struct mark_splitter *m, struct str *in)
{
	struct str suffix = str_c(m->suffix);
	size_t bel = str_find_byte(*in, '\a');
	size_t n = bel < in->n ? bel + 1 : bel;

	buf_put(&m->body, in->p, n);
	*in = str_skip(*in, n);
	return !m->body.err && str_ends(buf_view(&m->body), suffix);
}

/* Takes a run of bytes without the first byte of a mark: it is data. */
static enum mark_step mark_read_data(
	struct mark_splitter *m, struct str *in, struct str *data)
{
	size_t n = str_find_byte(*in, m->prefix[0]);

	*data = str_make(in->p, n);
	*in = str_skip(*in, n);
	return MARK_DATA;
}

enum mark_step mark_next(
	struct mark_splitter *m, struct str *in, struct str *data, struct mark_event *e)
{
	size_t prefix_n = strlen(m->prefix);

	while (in->n) {
		if (m->matched < prefix_n) {
			if (in->p[0] == m->prefix[m->matched]) {
				m->matched++;
				*in = str_skip(*in, 1);
				if (m->matched == prefix_n)
					buf_reset(&m->body);
				continue;
			}
			if (m->matched == 0)
				return mark_read_data(m, in, data);
			*data = str_make(m->prefix, m->matched);
			m->matched = 0;
			return MARK_DATA;
		}
		if (mark_collect_body(m, in)) {
			m->matched = 0;
			m->body.n -= strlen(m->suffix);
			if (mark_parse_body(m, e))
				return MARK_EVENT;
		} else if (m->body.err) {
			/*
			 * The body is longer than any mark: it is dropped, and data
			 * follows.
			 */
			m->matched = 0;
		}
	}
	return MARK_MORE;
}

size_t mark_count_pending(const struct mark_splitter *m)
{
	return m->matched < strlen(m->prefix) ? m->matched : m->matched + m->body.n;
}

void mark_restart(struct mark_splitter *m)
{
	m->matched = 0;
}
