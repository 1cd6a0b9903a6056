/*
 * Tar archives: the same events whole and cut into pieces. The first byte of the
 * input chooses the size of the pieces. Checksums are put right, or nearly every
 * input would end with the first header.
 */
#include "codec/archive/untar.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

static int feed(struct untar *u, const uint8_t *p, size_t n, struct buf *out)
{
	char *copy = malloc(n ? n : 1);
	struct str in, piece;
	int r;

	if (n)
		memcpy(copy, p, n);
	in = str_make(copy, n);
	do {
		r = untar_next(u, &in, &piece);
		if (r == UNTAR_DATA) {
			buf_str(out, piece);
		} else if (r > 0) {
			buf_putc(out, (char)('A' + r));
			if (r == UNTAR_ENTRY) {
				buf_str(out, u->entry.name);
				buf_str(out, u->entry.target);
				buf_put(out, &u->entry.size, sizeof(u->entry.size));
			}
		}
	} while (r > 0 && r != UNTAR_DONE);
	free(copy);
	return r;
}

static void mend_sums(uint8_t *p, size_t n)
{
	for (size_t at = 0; at + UNTAR_BLOCK <= n; at += UNTAR_BLOCK) {
		unsigned sum = 8 * ' ';
		char text[8];

		for (size_t i = 0; i < UNTAR_BLOCK; i++)
			sum += i >= 148 && i < 156 ? 0 : p[at + i];
		/* Only where there is something like a header. */
		if (memcmp(p + at + 257, "ustar", 5) != 0)
			continue;
		snprintf(text, sizeof(text), "%06o", sum & 0777777);
		memcpy(p + at + 148, text, 7);
		p[at + 155] = ' ';
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct buf a = BUF_INIT(1 << 24), b = BUF_INIT(1 << 24);
	size_t step = n ? 1 + p[0] * 3u : 1;
	uint8_t *mended = malloc(n + 1);
	struct untar whole, split;
	int ra, rb = UNTAR_MORE;

	if (n) {
		p++;
		n--;
		memcpy(mended, p, n);
	}
	mend_sums(mended, n);
	untar_init(&whole);
	untar_init(&split);
	ra = feed(&whole, mended, n, &a);
	for (size_t at = 0; at < n && rb == UNTAR_MORE; at += step)
		rb = feed(&split, mended + at, n - at < step ? n - at : step, &b);
	assert(ra == rb);
	assert(str_eq(buf_view(&a), buf_view(&b)));
	untar_free(&whole);
	untar_free(&split);
	buf_free(&a);
	buf_free(&b);
	free(mended);
	return 0;
}
