#include "base/json_text.h"

#include "base/utf8.h"

/* True when one of the eight bytes is below 0x20, a quote or a backslash. */
static bool json_has_special(uint64_t w)
{
	const uint64_t ones = 0x0101010101010101;
	uint64_t quote = w ^ ones * '"';
	uint64_t backslash = w ^ ones * '\\';

	return (((w - ones * 0x20) & ~w) | ((quote - ones) & ~quote) |
		       ((backslash - ones) & ~backslash)) &
		ones * 0x80;
}

size_t json_plain_length(struct str s)
{
	size_t n = 0;
	uint64_t word;

	for (; s.n - n >= sizeof(word); n += sizeof(word)) {
		memcpy(&word, s.p + n, sizeof(word));
		if (json_has_special(word))
			break;
	}
	while (n < s.n && (unsigned char)s.p[n] >= 0x20 && s.p[n] != '"' &&
		s.p[n] != '\\')
		n++;
	return n;
}

int json_parse_hex4(const char *p)
{
	int v = 0;

	for (int i = 0; i < 4; i++) {
		char c = p[i];

		if (c >= '0' && c <= '9')
			v = v << 4 | (c - '0');
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			v = v << 4 | ((c | 0x20) - 'a' + 10);
		else
			return -1;
	}
	return v;
}

bool json_is_high_surrogate(int unit)
{
	return (unit & 0xfc00) == 0xd800;
}

bool json_is_low_surrogate(int unit)
{
	return (unit & 0xfc00) == 0xdc00;
}

struct str json_decode_next(struct str *inside, char out[4])
{
	static const char decoded[] = {
		['"'] = '"',
		['/'] = '/',
		['\\'] = '\\',
		['b'] = '\b',
		['f'] = '\f',
		['n'] = '\n',
		['r'] = '\r',
		['t'] = '\t',
	};
	size_t plain = str_find_byte(*inside, '\\');
	struct str head = str_make(inside->p, plain);
	int unit;

	if (plain || !inside->n) {
		*inside = str_skip(*inside, plain);
		return head;
	}
	if (inside->p[1] != 'u') {
		out[0] = decoded[(unsigned char)inside->p[1]];
		*inside = str_skip(*inside, 2);
		return str_make(out, 1);
	}
	unit = json_parse_hex4(inside->p + 2);
	*inside = str_skip(*inside, 6);
	if (json_is_high_surrogate(unit)) {
		unit = 0x10000 + ((unit & 0x3ff) << 10) +
			(json_parse_hex4(inside->p + 2) & 0x3ff);
		*inside = str_skip(*inside, 6);
	}
	return str_make(out, utf8_encode((uint32_t)unit, out));
}

int json_compare(struct str a, struct str b)
{
	struct str x = {0}, y = {0};
	char out_x[4], out_y[4];

	for (;;) {
		size_t n;
		int order;

		if (!x.n)
			x = json_decode_next(&a, out_x);
		if (!y.n)
			y = json_decode_next(&b, out_y);
		n = x.n < y.n ? x.n : y.n;
		if (!n)
			return (x.n > 0) - (y.n > 0);
		order = memcmp(x.p, y.p, n);
		if (order)
			return order;
		x = str_skip(x, n);
		y = str_skip(y, n);
	}
}

bool json_text_equals(struct str inside, struct str want)
{
	char out[4];

	while (inside.n) {
		struct str p = json_decode_next(&inside, out);

		if (!str_starts(want, p))
			return false;
		want = str_skip(want, p.n);
	}
	return !want.n;
}
