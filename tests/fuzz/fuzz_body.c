/*
 * The chunked decoder: the same data and verdict whole and cut into pieces. The
 * first byte of the input chooses the size of the pieces.
 */
#include "base/buf.h"
#include "codec/http/body.h"

#include <assert.h>
#include <stdlib.h>

static int feed(
	struct body *b, const uint8_t *p, size_t n, struct buf *data, size_t *left)
{
	char *copy = malloc(n ? n : 1);
	struct str in, piece;
	int r;

	if (n)
		memcpy(copy, p, n);
	in = str_make(copy, n);
	do {
		r = body_next(b, &in, &piece);
		if (r >= 0)
			buf_str(data, piece);
	} while (r == 1 && in.n);
	*left = in.n;
	free(copy);
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct buf a = BUF_INIT(1 << 20), b = BUF_INIT(1 << 20);
	size_t step = n ? 1 + p[0] % 9 : 1;
	size_t left_a, left_b = 0, at = 0;
	struct body whole, split;
	int ra, rb = 1;

	if (n) {
		p++;
		n--;
	}
	body_init(&whole, HTTP_CHUNKED, 0);
	ra = feed(&whole, p, n, &a, &left_a);
	body_init(&split, HTTP_CHUNKED, 0);
	do {
		size_t piece = n - at < step ? n - at : step;

		rb = feed(&split, p + at, piece, &b, &left_b);
		at += piece;
	} while (rb == 1 && at < n);
	assert(ra == rb);
	assert(str_eq(buf_view(&a), buf_view(&b)));
	if (ra == 0)
		assert(left_a == n - at + left_b);
	buf_free(&a);
	buf_free(&b);
	return 0;
}
