#include "codec/http/multipart.h"

#include "codec/http/http.h"
#include "codec/http/uri.h"

/* RFC 2046, 5.1.1: bchars; the last one is not a blank. */
static bool multipart_is_boundary(struct str s)
{
	static const char others[] = "'()+_,-./:=? ";

	if (s.n == 0 || s.n > MULTIPART_BOUNDARY_MAX || s.p[s.n - 1] == ' ')
		return false;
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		bool alnum = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
			(c >= 'a' && c <= 'z');

		if (!alnum && !memchr(others, c, sizeof(others) - 1))
			return false;
	}
	return true;
}

/*
 * Takes a quoted string, without its quotes. Only a quote and a backslash can be escaped:
 * old browsers send Windows paths with single backslashes.
 */
static int multipart_read_quoted(struct str *rest, struct buf *out)
{
	size_t i = 1;

	for (; i < rest->n && rest->p[i] != '"'; i++) {
		char c = rest->p[i];

		if (c == '\\' && i + 1 < rest->n &&
			(rest->p[i + 1] == '"' || rest->p[i + 1] == '\\'))
			c = rest->p[++i];
		buf_putc(out, c);
	}
	if (i == rest->n)
		return ERR_SYNTAX;
	*rest = str_skip(*rest, i + 1);
	return out->err;
}

static struct str multipart_read_token(struct str *s)
{
	struct str token = {s->p, 0};

	while (token.n < s->n && http_is_token_char((unsigned char)s->p[token.n]))
		token.n++;
	*s = str_skip(*s, token.n);
	return token;
}

/*
 * Takes a parameter (RFC 9110, 5.6.6) and appends its value to out. 0; 1: the end;
 * ERR_SYNTAX; or the error of out.
 */
static int multipart_read_parameter(struct str *rest, struct str *name, struct buf *out)
{
	*rest = str_trim(*rest, " \t;");
	if (rest->n == 0)
		return 1;
	*name = multipart_read_token(rest);
	if (name->n == 0 || rest->n == 0 || rest->p[0] != '=')
		return ERR_SYNTAX;
	*rest = str_skip(*rest, 1);
	if (rest->n && rest->p[0] == '"') {
		int r = multipart_read_quoted(rest, out);

		if (r)
			return r;
	} else {
		/*
		 * Old clients send names without quotes: the name ends at the semicolon.
		 */
		buf_str(out, str_trim(str_make(rest->p, str_find_byte(*rest, ';')), " "));
		*rest = str_skip(*rest, str_find_byte(*rest, ';'));
	}
	*rest = str_trim(*rest, " \t");
	if (rest->n && rest->p[0] != ';')
		return ERR_SYNTAX;
	return out->err;
}

int multipart_init(struct multipart *m, struct str content_type)
{
	struct buf value = BUF_INIT(HTTP_HEAD_MAX);
	struct str rest = content_type, name;
	struct str type = str_trim(str_cut(&rest, ';'), " \t");
	int r = str_eq_nocase(type, STR("multipart/form-data")) ? 0 : ERR_TYPE;

	*m = (struct multipart){.matched = 2};
	buf_init(&m->head, MULTIPART_HEAD_MAX);
	buf_init(&m->name_bytes, 2 * MULTIPART_HEAD_MAX);
	while (r == 0) {
		buf_reset(&value);
		r = multipart_read_parameter(&rest, &name, &value);
		if (r == 0 && !m->delimiter_n && str_eq_nocase(name, STR("boundary"))) {
			if (!multipart_is_boundary(buf_view(&value))) {
				r = ERR_SYNTAX;
				break;
			}
			memcpy(m->delimiter, "\r\n--", 4);
			memcpy(m->delimiter + 4, value.p, value.n);
			m->delimiter_n = 4 + value.n;
		}
	}
	buf_free(&value);
	if (r == 1)
		r = m->delimiter_n ? 0 : ERR_SYNTAX;
	return r;
}

void multipart_free(struct multipart *m)
{
	buf_free(&m->head);
	buf_free(&m->name_bytes);
}

/* RFC 8187: UTF-8'language'text with escapes. Other charsets are ignored. */
static int multipart_read_extended(struct multipart *m, struct str value, struct str *out)
{
	struct str charset = str_cut(&value, '\'');
	char *room;
	size_t n;

	str_cut(&value, '\'');
	if (!str_eq_nocase(charset, STR("utf-8")))
		return 0;
	room = buf_reserve(&m->name_bytes, value.n);
	if (!room)
		return m->name_bytes.err;
	if (uri_decode(value, false, room, &n))
		return ERR_SYNTAX;
	*out = str_make(room, n);
	buf_commit(&m->name_bytes, n);
	return 0;
}

/* Reads the parameters of Content-Disposition. */
static int multipart_read_disposition(struct multipart *m, struct str rest)
{
	struct str type = str_trim(str_cut(&rest, ';'), " \t");
	struct str extended = {NULL, 0};
	int r = str_eq_nocase(type, STR("form-data")) ? 0 : ERR_SYNTAX;

	while (r == 0) {
		size_t from = m->name_bytes.n;
		struct str name, value;

		r = multipart_read_parameter(&rest, &name, &m->name_bytes);
		if (r)
			break;
		value = str_make(m->name_bytes.p + from, m->name_bytes.n - from);
		if (str_eq_nocase(name, STR("name")))
			m->name = value;
		else if (str_eq_nocase(name, STR("filename")))
			m->file_name = value.p ? value : STR("");
		else if (str_eq_nocase(name, STR("filename*")))
			r = multipart_read_extended(m, value, &extended);
	}
	if (extended.p)
		m->file_name = extended;
	return r == 1 ? 0 : r;
}

static int multipart_read_line(struct multipart *m, struct str line)
{
	struct str value = line;
	struct str name = str_cut(&value, ':');

	if (value.p == line.p + line.n && !str_ends(line, STR(":")))
		return ERR_SYNTAX;
	for (size_t i = 0; i < name.n; i++)
		if (!http_is_token_char((unsigned char)name.p[i]))
			return ERR_SYNTAX;
	for (size_t i = 0; i < value.n; i++)
		if (!http_is_value_char((unsigned char)value.p[i]))
			return ERR_SYNTAX;
	if (!str_eq_nocase(name, STR("content-disposition")))
		return 0;
	return multipart_read_disposition(m, value);
}

/* Reads the head of a part, which ends before its empty line. */
static int multipart_read_head(struct multipart *m)
{
	struct str rest = buf_view(&m->head);
	int r = 0;

	buf_reset(&m->name_bytes);
	m->name = m->file_name = str_make(NULL, 0);
	/*
	 * words must not move, as names point into it. It never holds more than its
	 * input, with extended values counted twice.
	 */
	if (!buf_reserve(&m->name_bytes, 2 * m->head.n + 1))
		return m->name_bytes.err;
	while (rest.n && !r) {
		struct str line = str_make(rest.p, str_find(rest, STR("\r\n")));

		rest = str_skip(rest, line.n + 2);
		r = multipart_read_line(m, line);
	}
	return r;
}

/* Searches for the delimiter. 1: found; 0: not yet. piece is certainly content. */
static int multipart_find_delimiter(
	struct multipart *m, struct str *in, struct str *piece)
{
	size_t n;

	while (m->matched && in->n) {
		if (in->p[0] != m->delimiter[m->matched]) {
			/*
			 * CR occurs only at the start of the delimiter, so no shorter
			 * match is left.
			 */
			*piece = str_make(m->delimiter, m->matched);
			m->matched = 0;
			return 0;
		}
		*in = str_skip(*in, 1);
		if (++m->matched == m->delimiter_n) {
			m->matched = 0;
			return 1;
		}
	}
	if (m->matched || in->n == 0)
		return 0;
	n = str_find(*in, str_make(m->delimiter, m->delimiter_n));
	if (n == in->n) {
		/* Keeps everything from the last CR that may start a delimiter. */
		size_t tail = n > m->delimiter_n ? n - m->delimiter_n : 0;
		struct str end = str_skip(*in, tail);

		n = tail + str_find_byte(end, '\r');
	}
	*piece = str_make(in->p, n);
	*in = str_skip(*in, n);
	if (in->n) {
		m->matched = 1;
		*in = str_skip(*in, 1);
	}
	return 0;
}

static int multipart_step_preamble(struct multipart *m, struct str *in, struct str *piece)
{
	if (multipart_find_delimiter(m, in, piece))
		m->state = MULTIPART_DELIMITED;
	return MULTIPART_MORE;
}

static int multipart_step_content(struct multipart *m, struct str *in, struct str *piece)
{
	if (multipart_find_delimiter(m, in, piece))
		m->state = MULTIPART_CLOSING;
	return piece->n ? MULTIPART_DATA : MULTIPART_MORE;
}

static int multipart_begin_part(struct multipart *m)
{
	int r = multipart_read_head(m);

	if (r)
		return r;
	if (++m->parts > MULTIPART_PARTS_MAX)
		return ERR_LIMIT;
	m->state = MULTIPART_CONTENT;
	return MULTIPART_PART;
}

/* Takes a single byte at a time: heads are short. */
static int multipart_step_head(struct multipart *m, struct str *in)
{
	struct str head;

	buf_putc(&m->head, in->p[0]);
	*in = str_skip(*in, 1);
	if (m->head.err)
		return m->head.err;
	head = buf_view(&m->head);
	if (str_eq(head, STR("\r\n")) || str_ends(head, STR("\r\n\r\n"))) {
		m->head.n -= 2;
		return multipart_begin_part(m);
	}
	return MULTIPART_MORE;
}

/* After the boundary: "--", or blanks and CR LF. */
static int multipart_step_boundary(struct multipart *m, char c)
{
	switch (m->state) {
	case MULTIPART_DELIMITED:
		if (c == '-') {
			m->state = MULTIPART_DASH;
			return MULTIPART_MORE;
		}
		m->state = MULTIPART_PADDING;
		/* fall through */
	case MULTIPART_PADDING:
		if (c == '\r')
			m->state = MULTIPART_LINE_END;
		return c == '\r' || c == ' ' || c == '\t' ? MULTIPART_MORE : ERR_SYNTAX;
	case MULTIPART_DASH:
		m->state = MULTIPART_EPILOGUE;
		return c == '-' ? MULTIPART_DONE : ERR_SYNTAX;
	default:
		buf_reset(&m->head);
		m->state = MULTIPART_HEAD;
		return c == '\n' ? MULTIPART_MORE : ERR_SYNTAX;
	}
}

static int multipart_step(struct multipart *m, struct str *in, struct str *piece)
{
	char c;

	switch (m->state) {
	case MULTIPART_PREAMBLE:
		return multipart_step_preamble(m, in, piece);
	case MULTIPART_CONTENT:
		return multipart_step_content(m, in, piece);
	case MULTIPART_HEAD:
		return multipart_step_head(m, in);
	case MULTIPART_EPILOGUE:
		*in = str_skip(*in, in->n);
		return MULTIPART_MORE;
	default:
		c = in->p[0];
		*in = str_skip(*in, 1);
		return multipart_step_boundary(m, c);
	}
}

int multipart_next(struct multipart *m, struct str *in, struct str *piece)
{
	*piece = str_make(NULL, 0);
	for (;;) {
		int r;

		if (m->state == MULTIPART_CLOSING) {
			m->state = MULTIPART_DELIMITED;
			return MULTIPART_END;
		}
		if (in->n == 0)
			return MULTIPART_MORE;
		r = multipart_step(m, in, piece);
		if (r != MULTIPART_MORE)
			return r;
		*piece = str_make(NULL, 0);
	}
}

struct str multipart_get_base(struct str file_name)
{
	while (file_name.n) {
		size_t slash = str_find_byte(file_name, '/');

		if (slash == file_name.n)
			break;
		file_name = str_skip(file_name, slash + 1);
	}
	return file_name;
}
