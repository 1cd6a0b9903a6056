#include "browser/page/pyrepr.h"

#include "base/float.h"
#include "base/utf8.h"

bool pyrepr_is_blank(uint32_t cp)
{
	switch (cp) {
	case ' ':
	case 0x85:
	case 0xa0:
	case 0x1680:
	case 0x2028:
	case 0x2029:
	case 0x202f:
	case 0x205f:
	case 0x3000:
		return true;
	default:
		return (cp >= '\t' && cp <= '\r') || (cp >= 0x1c && cp <= 0x1f) ||
			(cp >= 0x2000 && cp <= 0x200a);
	}
}

/* The offset of the last character of s, which is not empty. */
static size_t pyrepr_find_last_char(struct str s)
{
	size_t at = s.n - 1;

	while (at && s.n - at < 4 && ((unsigned char)s.p[at] & 0xc0) == 0x80)
		at--;
	return at;
}

struct str pyrepr_strip(struct str s)
{
	struct str rest = s;

	while (rest.n && pyrepr_is_blank(utf8_next(&rest)))
		s = rest;
	while (s.n) {
		size_t at = pyrepr_find_last_char(s);

		rest = str_skip(s, at);
		if (!pyrepr_is_blank(utf8_next(&rest)) || rest.n)
			break;
		s.n = at;
	}
	return s;
}

static void pyrepr_put_escape(struct buf *out, uint32_t cp)
{
	if (cp == '\n')
		buf_puts(out, "\\n");
	else if (cp == '\r')
		buf_puts(out, "\\r");
	else if (cp == '\t')
		buf_puts(out, "\\t");
	else if (cp <= 0xff)
		buf_fmt(out, "\\x%02x", (unsigned)cp);
	else if (cp <= 0xffff)
		buf_fmt(out, "\\u%04x", (unsigned)cp);
	else
		buf_fmt(out, "\\U%08x", (unsigned)cp);
}

/* The length of the prefix of s that needs no escape, whatever the quotes are. */
static size_t pyrepr_count_plain(struct str s)
{
	size_t n = 0;

	while (n < s.n && s.p[n] >= ' ' && s.p[n] <= '~' && s.p[n] != '\\' &&
		s.p[n] != '\'' && s.p[n] != '"')
		n++;
	return n;
}

void pyrepr_put_str(struct buf *out, struct str s)
{
	bool single = str_find_byte(s, '\'') < s.n;
	char quote = single && str_find_byte(s, '"') == s.n ? '"' : '\'';

	buf_putc(out, quote);
	while (s.n) {
		size_t n = pyrepr_count_plain(s);
		char text[4];
		uint32_t cp;

		buf_put(out, s.p, n);
		s = str_skip(s, n);
		if (!s.n)
			break;
		cp = utf8_next(&s);
		if (cp == '\\' || cp == (unsigned char)quote)
			buf_putc(out, '\\');
		if (pyrepr_is_printable(cp))
			buf_put(out, text, utf8_encode(cp, text));
		else
			pyrepr_put_escape(out, cp);
	}
	buf_putc(out, quote);
}

/* JSON numbers without point and exponent are ints in Python, whatever their length. */
static void pyrepr_put_number(struct buf *out, struct json_val v)
{
	struct str raw = json_raw(v);
	char text[FLOAT_TEXT];
	double d;

	if (str_eq(raw, STR("-0"))) {
		buf_putc(out, '0');
	} else if (!memchr(raw.p, '.', raw.n) && !memchr(raw.p, 'e', raw.n) &&
		!memchr(raw.p, 'E', raw.n)) {
		buf_str(out, raw);
	} else if (json_double(v, &d)) {
		buf_puts(out, raw.p[0] == '-' ? "-inf" : "inf");
	} else {
		float_format(d, text);
		buf_puts(out, text);
	}
}

int pyrepr_put_value(struct buf *out, struct json_val v, struct arena *a)
{
	struct str s;
	bool b;
	int r;

	switch (json_type(v)) {
	case JSON_ABSENT:
		return ERR_TYPE;
	case JSON_NULL:
		buf_puts(out, "None");
		return 0;
	case JSON_BOOL:
		r = json_bool(v, &b);
		if (!r)
			buf_puts(out, b ? "True" : "False");
		return r;
	case JSON_NUMBER:
		pyrepr_put_number(out, v);
		return 0;
	case JSON_STRING:
		r = json_str(v, a, &s);
		if (!r)
			pyrepr_put_str(out, s);
		return r;
	default:
		buf_str(out, json_raw(v));
		return 0;
	}
}
