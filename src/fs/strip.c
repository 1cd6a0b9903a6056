#include "fs/strip.h"

#include "base/utf8.h"

static bool strip_is_blank(uint32_t c)
{
	return (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x20) || c == 0x85 ||
		c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 ||
		c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

/* The last character, which has at most four bytes. */
static struct str strip_get_last_char(struct str s)
{
	size_t n = 1;

	while (n < s.n && n < 4 && ((unsigned char)s.p[s.n - n] & 0xc0) == 0x80)
		n++;
	return str_skip(s, s.n - n);
}

struct str strip_end(struct str s)
{
	while (s.n) {
		struct str last = strip_get_last_char(s);
		size_t n = last.n;

		if (!strip_is_blank(utf8_next(&last)) || last.n)
			break;
		s.n -= n;
	}
	return s;
}

struct str strip_both(struct str s)
{
	struct str rest = s = strip_end(s);

	while (rest.n && strip_is_blank(utf8_next(&rest)))
		s = rest;
	return s;
}
