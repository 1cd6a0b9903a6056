#include "base/b64.h"

static const char alphabet[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* The four characters of up to three bytes. */
static void b64_encode_group(const unsigned char *p, size_t n, char *to)
{
	uint32_t bits = (uint32_t)p[0] << 16;

	if (n > 1)
		bits |= (uint32_t)p[1] << 8;
	if (n > 2)
		bits |= p[2];
	to[0] = alphabet[bits >> 18];
	to[1] = alphabet[bits >> 12 & 63];
	to[2] = alphabet[bits >> 6 & 63];
	to[3] = alphabet[bits & 63];
	for (size_t i = n + 1; i < 4; i++)
		to[i] = '=';
}

void b64_encode(struct buf *out, struct str in)
{
	size_t groups = in.n / 3 + (in.n % 3 != 0);
	char *to;

	if (groups == 0)
		return;
	/*
	 * A product that would overflow is far above every maximum: SIZE_MAX fails as
	 * well.
	 */
	to = buf_reserve(out, groups > SIZE_MAX / 4 ? SIZE_MAX : groups * 4);
	if (!to)
		return;
	for (; in.n; in = str_skip(in, 3), to += 4)
		b64_encode_group((const unsigned char *)in.p, in.n < 3 ? in.n : 3, to);
	buf_commit(out, groups * 4);
}

/* The six bits that a character stands for; 64 for none. */
static unsigned b64_char_value(char c)
{
	if (c >= 'A' && c <= 'Z')
		return (unsigned)(c - 'A');
	if (c >= 'a' && c <= 'z')
		return (unsigned)(c - 'a') + 26;
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0') + 52;
	if (c == '+')
		return 62;
	return c == '/' ? 63 : 64;
}

/* Decodes one group of n + 1 significant characters into n bytes. */
static int b64_decode_group(const char *p, size_t n, char *to)
{
	uint32_t bits = 0;

	for (size_t i = 0; i < 4; i++) {
		unsigned v = i <= n ? b64_char_value(p[i]) : 0;

		if (v > 63)
			return ERR_SYNTAX;
		bits = bits << 6 | v;
	}
	/*
	 * The bits that padding leaves unused must be zero, so that a content has one
	 * text.
	 */
	if (n < 3 && bits & (n == 2 ? 0xff : 0xffff))
		return ERR_SYNTAX;
	for (size_t i = 0; i < n; i++)
		to[i] = (char)(bits >> (16 - 8 * i) & 0xff);
	return 0;
}

int b64_decode(struct buf *out, struct str in)
{
	size_t pad = 0, n;
	char *to;

	if (in.n % 4)
		return ERR_SYNTAX;
	if (in.n == 0)
		return out->err;
	while (pad < 2 && in.p[in.n - 1 - pad] == '=')
		pad++;
	n = in.n / 4 * 3 - pad;
	to = buf_reserve(out, n);
	if (!to)
		return out->err;
	for (; in.n; in = str_skip(in, 4), to += 3) {
		int r = b64_decode_group(in.p, in.n == 4 ? 3 - pad : 3, to);

		if (r)
			return r;
	}
	buf_commit(out, n);
	return 0;
}
