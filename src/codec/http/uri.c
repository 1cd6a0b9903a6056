#include "codec/http/uri.h"

#include <errno.h>

static int uri_parse_hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* Takes the next decoded byte, 0..255, or ERR_SYNTAX. in must not be empty. */
static int uri_decode_byte(struct str *in, bool plus)
{
	unsigned char c = (unsigned char)in->p[0];
	int high, low;

	*in = str_skip(*in, 1);
	if (c == '+' && plus)
		return ' ';
	if (c != '%')
		return c;
	if (in->n < 2)
		return ERR_SYNTAX;
	high = uri_parse_hex(in->p[0]);
	low = uri_parse_hex(in->p[1]);
	*in = str_skip(*in, 2);
	if (high < 0 || low < 0 || high + low == 0)
		return ERR_SYNTAX;
	return high << 4 | low;
}

int uri_decode(struct str in, bool plus, char *out, size_t *n)
{
	size_t done = 0;

	while (in.n) {
		int c = uri_decode_byte(&in, plus);

		if (c < 0)
			return c;
		out[done++] = (char)c;
	}
	*n = done;
	return 0;
}

/* 1: raw decodes to name; 0: it does not; ERR_SYNTAX. */
static int uri_compare_name(struct str raw, struct str name)
{
	size_t i = 0;

	while (raw.n) {
		int c = uri_decode_byte(&raw, true);

		if (c < 0)
			return c;
		if (i == name.n || c != (unsigned char)name.p[i])
			return 0;
		i++;
	}
	return i == name.n;
}

int uri_query_find(
	struct str query, struct str name, struct arena *arena, struct str *value)
{
	struct str found = {NULL, 0};
	size_t n = 0;
	char *p;
	int r;

	while (query.n) {
		struct str raw_value = str_cut(&query, '&');
		struct str raw_name = str_cut(&raw_value, '=');

		r = uri_compare_name(raw_name, name);
		if (r < 0)
			return r;
		if (r && found.p)
			return ERR_DUPLICATE;
		if (r)
			found = raw_value;
	}
	if (!found.p)
		return 1;
	p = arena_alloc(arena, found.n + 1);
	if (!p)
		return -ENOMEM;
	r = uri_decode(found, true, p, &n);
	if (!r)
		*value = str_make(p, n);
	return r;
}
