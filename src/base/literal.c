#include "base/literal.h"

#include "base/jw.h"
#include "base/utf8.h"

#include <inttypes.h>

/* --- Names ------------------------------------------------------------------------- */

static char literal_peek_char(struct str s)
{
	return s.n ? s.p[0] : '\0';
}

void literal_skip_blanks(struct str *s)
{
	while (s->n && strchr(" \t\r\f", s->p[0]) && s->p[0])
		*s = str_skip(*s, 1);
}

void literal_skip_comment(struct str *s)
{
	if (literal_peek_char(*s) == '#')
		*s = str_skip(*s, str_find_byte(*s, '\n'));
}

void literal_skip_space(struct str *s)
{
	size_t before;

	do {
		before = s->n;
		literal_skip_blanks(s);
		literal_skip_comment(s);
		if (literal_peek_char(*s) == '\n')
			*s = str_skip(*s, 1);
	} while (s->n < before);
}

bool literal_accept(struct str *s, char c)
{
	struct str at = *s;

	literal_skip_space(&at);
	if (literal_peek_char(at) != c || !at.n)
		return false;
	*s = str_skip(at, 1);
	return true;
}

static bool literal_is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool literal_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

struct str literal_parse_name(struct str *s, char extra)
{
	size_t n = 0;

	if (literal_is_letter(literal_peek_char(*s)))
		while (n < s->n &&
			(literal_is_letter(s->p[n]) || literal_is_digit(s->p[n]) ||
				(extra && s->p[n] == extra)))
			n++;
	*s = str_skip(*s, n);
	return str_make(s->p - n, n);
}

/* --- Strings ---------------------------------------------------------------------- */

static int literal_hex_value(char c)
{
	return literal_is_digit(c)     ? c - '0'
		: c >= 'a' && c <= 'f' ? c - 'a' + 10
		: c >= 'A' && c <= 'F' ? c - 'A' + 10
				       : -1;
}

/* Takes a number of exactly n digits; octal numbers may have fewer. */
static int literal_parse_digits(struct str *s, size_t n, uint32_t base, uint32_t *out)
{
	uint32_t cp = 0;
	size_t i = 0;

	for (; i < n && i < s->n; i++) {
		int digit = literal_hex_value(s->p[i]);

		if (digit < 0 || (uint32_t)digit >= base)
			break;
		if (cp > 0x10ffff)
			return ERR_SYNTAX;
		cp = cp * base + (uint32_t)digit;
	}
	if ((base == 16 && i < n) || cp > 0x10ffff)
		return ERR_SYNTAX;
	*s = str_skip(*s, i);
	*out = cp;
	return 0;
}

static bool literal_is_surrogate(uint32_t cp)
{
	return cp >= 0xd800 && cp < 0xe000;
}

/*
 * Takes the low half of a surrogate pair, in an escape of its own; without it *cp is
 * unchanged.
 */
static void literal_parse_low_surrogate(struct str *s, uint32_t *cp)
{
	struct str at = *s;
	uint32_t low;

	if (*cp >= 0xdc00 || !str_starts(at, STR("\\u")))
		return;
	at = str_skip(at, 2);
	if (literal_parse_digits(&at, 4, 16, &low) || !literal_is_surrogate(low) ||
		low < 0xdc00)
		return;
	*cp = 0x10000 + ((*cp - 0xd800) << 10) + (low - 0xdc00);
	*s = at;
}

/* Takes a character given by its number. */
static int literal_parse_codepoint(
	struct str *s, size_t n, uint32_t base, enum literal_kind kind, struct buf *out)
{
	char bytes[4];
	uint32_t cp;
	int r = literal_parse_digits(s, n, base, &cp);

	if (r)
		return r;
	if (literal_is_surrogate(cp) && kind != LITERAL_SURROGATES)
		return ERR_SYNTAX;
	if (literal_is_surrogate(cp))
		literal_parse_low_surrogate(s, &cp);
	buf_put(out, bytes, utf8_encode(literal_is_surrogate(cp) ? 0xfffd : cp, bytes));
	return 0;
}

/* Takes the escape after a backslash. */
static int literal_parse_escape(struct str *s, enum literal_kind kind, struct buf *out)
{
	static const char names[] = "\\'\"abfnrtv", bytes[] = "\\'\"\a\b\f\n\r\t\v";
	char c = literal_peek_char(*s);
	const char *name = c ? strchr(names, c) : NULL;

	if (!s->n)
		return ERR_SYNTAX;
	if (c == 'N')
		return ERR_TYPE;
	if (c >= '0' && c <= '7')
		return literal_parse_codepoint(s, 3, 8, kind, out);
	*s = str_skip(*s, 1);
	if (c == 'x' || c == 'u' || c == 'U')
		return literal_parse_codepoint(s,
			c == 'x'           ? 2
				: c == 'u' ? 4
					   : 8,
			16, kind, out);
	if (c == '\r' && literal_peek_char(*s) == '\n') {
		*s = str_skip(*s, 1);
		return 0;
	}
	if (c == '\n')
		return 0;
	/* Unknown escapes are kept unchanged. */
	if (!name)
		buf_putc(out, '\\');
	buf_putc(out, name ? bytes[name - names] : c);
	return 0;
}

/* Takes the text after the opening quote up to and including the closing one. */
static int literal_parse_body(
	struct str *s, struct str quote, enum literal_kind kind, struct buf *out)
{
	while (s->n && !str_starts(*s, quote)) {
		char c = s->p[0];

		*s = str_skip(*s, 1);
		if (c == '\n' && quote.n == 1)
			return ERR_SYNTAX;
		if (c == '\\' && kind != LITERAL_RAW) {
			int r = literal_parse_escape(s, kind, out);

			if (r)
				return r;
			continue;
		}
		if (c == '\r' && literal_peek_char(*s) == '\n')
			continue;
		buf_putc(out, c);
		/*
		 * In a raw string a quote after a backslash does not end it, and both are
		 * kept.
		 */
		if (c == '\\' && s->n) {
			if (s->p[0] == '\n' && quote.n == 1)
				return ERR_SYNTAX;
			buf_putc(out, s->p[0]);
			*s = str_skip(*s, 1);
		}
	}
	if (!s->n)
		return ERR_SYNTAX;
	*s = str_skip(*s, quote.n);
	return 0;
}

int literal_parse_quoted(struct str *s, enum literal_kind kind, struct buf *out)
{
	struct str quote = str_make(s->p, 1);

	if (s->n >= 3 && s->p[1] == s->p[0] && s->p[2] == s->p[0])
		quote.n = 3;
	*s = str_skip(*s, quote.n);
	return literal_parse_body(s, quote, kind, out);
}

bool literal_is_string(struct str s)
{
	if (s.n && strchr("rRuU", s.p[0]) && s.p[0])
		s = str_skip(s, 1);
	return literal_peek_char(s) == '"' || literal_peek_char(s) == '\'';
}

int literal_parse_string(struct str *s, struct buf *out)
{
	buf_reset(out);
	do {
		bool raw = literal_peek_char(*s) == 'r' || literal_peek_char(*s) == 'R';
		int r;

		if (literal_is_letter(literal_peek_char(*s)))
			*s = str_skip(*s, 1);
		r = literal_parse_quoted(s, raw ? LITERAL_RAW : LITERAL_TEXT, out);
		if (r)
			return ERR_SYNTAX;
		literal_skip_space(s);
	} while (literal_is_string(*s));
	return out->err;
}

/* --- Values ----------------------------------------------------------------------- */

static int literal_parse_int(struct str *s, int64_t *out)
{
	struct str from = *s;
	size_t n = literal_peek_char(*s) == '-';

	while (n < s->n && literal_is_digit(s->p[n]))
		n++;
	/* 1.0, 0x1, 1_000, 007 and numbers out of range are refused. */
	if (n < s->n && (literal_is_letter(s->p[n]) || s->p[n] == '.'))
		return ERR_SYNTAX;
	if (str_i64(str_make(from.p, n), out) < 0)
		return ERR_SYNTAX;
	*s = str_skip(*s, n);
	return 0;
}

static int literal_parse_list(struct str *s, struct buf *out)
{
	bool more = false;
	int64_t value;

	if (!literal_accept(s, '['))
		return ERR_SYNTAX;
	buf_putc(out, '[');
	while (!literal_accept(s, ']')) {
		int r;

		literal_skip_space(s);
		r = literal_parse_int(s, &value);
		if (r)
			return r;
		buf_fmt(out, "%s%" PRId64, more ? ", " : "", value);
		more = true;
		if (!literal_accept(s, ',') &&
			(literal_skip_space(s), literal_peek_char(*s) != ']'))
			return ERR_SYNTAX;
	}
	buf_putc(out, ']');
	return out->err;
}

static void literal_put_string(struct buf *out, struct str text)
{
	struct jw w;

	jw_init(&w, out);
	jw_str(&w, text);
}

static int literal_parse_keyword(struct str *s, bool number, struct buf *out)
{
	static const struct {
		struct str name;
		const char *json, *as_number;
	} words[] = {
		{STR("None"), "null", "\"None\""},
		{STR("True"), "true", "1"},
		{STR("False"), "false", "0"},
	};
	struct str name = literal_parse_name(s, '\0');

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (str_eq(name, words[i].name)) {
			buf_puts(out, number ? words[i].as_number : words[i].json);
			return out->err;
		}
	return ERR_SYNTAX;
}

int literal_parse_value(struct str *s, bool number, struct buf *piece, struct buf *out)
{
	int64_t value;
	int r;

	literal_skip_space(s);
	if (literal_is_string(*s)) {
		r = literal_parse_string(s, piece);
		if (number)
			buf_putc(piece, '\'');
		if (!r)
			literal_put_string(out, buf_view(piece));
		return r ? r : out->err;
	}
	if (literal_peek_char(*s) == '[') {
		size_t from = out->n;

		r = literal_parse_list(s, out);
		if (r || !number)
			return r;
		out->n = from;
		literal_put_string(out, STR("[]"));
		return out->err;
	}
	if (literal_is_letter(literal_peek_char(*s)))
		return literal_parse_keyword(s, number, out);
	r = literal_parse_int(s, &value);
	if (!r)
		buf_fmt(out, "%" PRId64, value);
	return r ? r : out->err;
}
