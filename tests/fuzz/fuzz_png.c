/* What is read as a picture has its pixels, and is the same when it was written again. */
#include "base/crc.h"
#include "codec/png.h"
#include "limits.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SMALL = 1 << 16 };

static void check(const struct png *p)
{
	struct buf out = BUF_INIT(1 << 20);
	struct png again;

	assert(p->width && p->height);
	assert(p->pixels.n == (size_t)p->width * p->height * PNG_PIXEL);
	if (p->pixels.n > SMALL)
		return;
	assert(!png_encode(p, &out));
	assert(!png_decode(&again, buf_view(&out)));
	assert(again.width == p->width && again.height == p->height);
	assert(str_eq(buf_view(&again.pixels), buf_view(&p->pixels)));
	png_free(&again);
	buf_free(&out);
}

static uint32_t get32(const char *p)
{
	uint32_t v = 0;

	for (int i = 0; i < 4; i++)
		v = v << 8 | (unsigned char)p[i];
	return v;
}

/* Makes the checksums right: else nearly all is refused for these. */
static void mend(char *p, size_t n)
{
	for (size_t at = 8; n >= 12 && at <= n - 12;) {
		size_t len = get32(p + at), crc;

		if (len > n - 12 - at)
			return;
		crc = crc_update(0, str_make(p + at + 4, 4 + len));
		for (int i = 0; i < 4; i++)
			p[at + 8 + len + (size_t)i] = (char)(crc >> (24 - 8 * i));
		at += 12 + len;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = malloc(size ? size : 1);
	struct png p;
	int r;

	assert(copy);
	memcpy(copy, data, size);
	mend(copy, size);
	r = png_decode(&p, str_make(copy, size));
	assert(!r || r == ERR_SYNTAX || r == ERR_TYPE || r == ERR_LIMIT || r == -ENOMEM);
	if (!r) {
		check(&p);
		png_free(&p);
	}
	free(copy);
	return 0;
}
