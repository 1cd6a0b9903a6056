#include "skill/latex_put.h"

#include "base/utf8.h"

#include <wctype.h>

static const char blanks[] = " \t\r\n\v\f";

static void latex_put_char(struct buf *out, uint32_t cp)
{
	char c[4];

	buf_put(out, c, utf8_encode(cp, c));
}

void latex_put_capitals(struct buf *out, struct str text)
{
	while (text.n)
		latex_put_char(out, (uint32_t)towupper((wint_t)utf8_next(&text)));
}

void latex_put_accented(struct buf *out, struct str text, struct str accent)
{
	struct str pairs = accent;

	utf8_next(&pairs);
	accent.n -= pairs.n;
	while (text.n) {
		uint32_t cp = utf8_next(&text), whole = 0;
		struct str rest = pairs;

		/* The dotless letters i and j are used for accents only. */
		cp = cp == 0x131 ? 'i' : cp == 0x237 ? 'j' : cp;
		while (rest.n && !whole) {
			uint32_t letter = utf8_next(&rest), with = utf8_next(&rest);

			if (letter == cp)
				whole = with;
		}
		latex_put_char(out, whole ? whole : cp);
		if (!whole)
			buf_str(out, accent);
	}
}

/* Replaces a code point that an alphabet lacks: Unicode had that letter before. */
static uint32_t latex_put_fill_hole(uint32_t cp)
{
	static const uint32_t holes[][2] = {
		{0x1d455, 0x210e},
		{0x1d49d, 0x212c},
		{0x1d4a0, 0x2130},
		{0x1d4a1, 0x2131},
		{0x1d4a3, 0x210b},
		{0x1d4a4, 0x2110},
		{0x1d4a7, 0x2112},
		{0x1d4a8, 0x2133},
		{0x1d4ad, 0x211b},
		{0x1d4ba, 0x212f},
		{0x1d4bc, 0x210a},
		{0x1d4c4, 0x2134},
		{0x1d506, 0x212d},
		{0x1d50b, 0x210c},
		{0x1d50c, 0x2111},
		{0x1d515, 0x211c},
		{0x1d51d, 0x2128},
		{0x1d53a, 0x2102},
		{0x1d53f, 0x210d},
		{0x1d545, 0x2115},
		{0x1d547, 0x2119},
		{0x1d548, 0x211a},
		{0x1d549, 0x211d},
		{0x1d551, 0x2124},
	};

	for (size_t i = 0; i < ARRAY_LEN(holes); i++)
		if (holes[i][0] == cp)
			return holes[i][1];
	return cp;
}

void latex_put_styled(struct buf *out, struct str text, struct str alphabet)
{
	uint32_t capital = utf8_next(&alphabet), small = utf8_next(&alphabet);

	while (text.n) {
		uint32_t cp = utf8_next(&text);

		if (cp >= 'A' && cp <= 'Z')
			cp = latex_put_fill_hole(capital + cp - 'A');
		else if (cp >= 'a' && cp <= 'z')
			cp = latex_put_fill_hole(small + cp - 'a');
		latex_put_char(out, cp);
	}
}

void latex_put_block(struct buf *out, struct str text)
{
	text = str_trim(text, blanks);
	buf_puts(out, "\n    ");
	for (size_t i = 0; i < text.n; i++) {
		buf_putc(out, text.p[i]);
		if (text.p[i] == '\n')
			buf_puts(out, "    ");
	}
	buf_putc(out, '\n');
}
