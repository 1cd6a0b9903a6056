#include "base/utf8.h"

enum kind { CHARACTER, INVALID, UNFINISHED };

/* The first step of a text: a character, or an invalid or unfinished part. */
struct step {
	enum kind kind;
	unsigned n; /* bytes */
	uint32_t cp;
};

/* The table 3-7 of Unicode: only the second byte has ranges of its own. */
static struct step utf8_decode(struct str s)
{
	const unsigned char *p = (const unsigned char *)s.p;
	unsigned lo = 0x80, hi = 0xbf, more;
	uint32_t cp;

	if (p[0] < 0x80)
		return (struct step){CHARACTER, 1, p[0]};
	if (p[0] < 0xc2 || p[0] > 0xf4)
		return (struct step){INVALID, 1, UTF8_REPLACEMENT};
	more = p[0] < 0xe0 ? 1 : p[0] < 0xf0 ? 2 : 3;
	if (p[0] == 0xe0)
		lo = 0xa0; /* below: longer than needed */
	else if (p[0] == 0xed)
		hi = 0x9f; /* above: surrogates */
	else if (p[0] == 0xf0)
		lo = 0x90;
	else if (p[0] == 0xf4)
		hi = 0x8f; /* above: beyond U+10FFFF */
	cp = p[0] & (0x3fu >> more);
	for (unsigned i = 1; i <= more; i++) {
		if (i == s.n)
			return (struct step){UNFINISHED, i, UTF8_REPLACEMENT};
		if (p[i] < lo || p[i] > hi)
			return (struct step){INVALID, i, UTF8_REPLACEMENT};
		cp = cp << 6 | (p[i] & 0x3f);
		lo = 0x80;
		hi = 0xbf;
	}
	return (struct step){CHARACTER, more + 1, cp};
}

/* Length of the ASCII run at the front, rounded down to whole words. */
static size_t utf8_ascii_length(struct str s)
{
	size_t n = 0;
	uint64_t word;

	for (; s.n - n >= sizeof(word); n += sizeof(word)) {
		memcpy(&word, s.p + n, sizeof(word));
		if (word & 0x8080808080808080)
			break;
	}
	return n;
}

size_t utf8_prefix(struct str s)
{
	struct str rest = s;

	while (rest.n) {
		size_t n = utf8_ascii_length(rest);

		if (n == 0) {
			struct step c = utf8_decode(rest);

			if (c.kind != CHARACTER)
				break;
			n = c.n;
		}
		rest = str_skip(rest, n);
	}
	return s.n - rest.n;
}

bool utf8_is_valid(struct str s)
{
	return utf8_prefix(s) == s.n;
}

uint32_t utf8_next(struct str *s)
{
	struct step c = utf8_decode(*s);

	*s = str_skip(*s, c.n);
	return c.cp;
}

size_t utf8_count(struct str s)
{
	size_t count = 0;

	while (s.n) {
		size_t n = utf8_ascii_length(s);

		s = str_skip(s, n);
		count += n;
		if (s.n) {
			s = str_skip(s, utf8_decode(s).n);
			count++;
		}
	}
	return count;
}

size_t utf8_offset(struct str s, size_t n)
{
	struct str rest = s;

	while (rest.n && n) {
		size_t ascii =
			utf8_ascii_length(str_make(rest.p, n < rest.n ? n : rest.n));

		if (ascii == 0) {
			rest = str_skip(rest, utf8_decode(rest).n);
			n--;
		}
		rest = str_skip(rest, ascii);
		n -= ascii;
	}
	return s.n - rest.n;
}

size_t utf8_unfinished_length(struct str s)
{
	for (size_t n = 1; n <= 3 && n <= s.n; n++) {
		struct str end = str_skip(s, s.n - n);

		/* A continuation byte: its character begins before it. */
		if ((end.p[0] & 0xc0) == 0x80)
			continue;
		return utf8_decode(end).kind == UNFINISHED ? n : 0;
	}
	return 0;
}

size_t utf8_encode(uint32_t cp, char out[4])
{
	static const unsigned char lead[] = {0, 0xc0, 0xe0, 0xf0};
	unsigned more = cp < 0x80 ? 0 : cp < 0x800 ? 1 : cp < 0x10000 ? 2 : 3;

	for (unsigned i = more; i > 0; i--) {
		out[i] = (char)(0x80 | (cp & 0x3f));
		cp >>= 6;
	}
	out[0] = (char)(lead[more] | cp);
	return more + 1;
}

void utf8_repair(struct buf *out, struct str s)
{
	for (;;) {
		size_t n = utf8_prefix(s);

		buf_put(out, s.p, n);
		s = str_skip(s, n);
		if (!s.n)
			return;
		buf_str(out, STR("\xef\xbf\xbd"));
		s = str_skip(s, utf8_decode(s).n);
	}
}
