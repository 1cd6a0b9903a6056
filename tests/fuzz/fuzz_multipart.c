/*
 * Forms: the same events whole and cut into pieces. The first byte of the input
 * chooses the size of the pieces.
 */
#include "codec/http/multipart.h"

#include <assert.h>
#include <stdlib.h>

static int feed(struct multipart *m, const uint8_t *p, size_t n, struct buf *out)
{
	char *copy = malloc(n ? n : 1);
	struct str in, piece;
	int r;

	if (n)
		memcpy(copy, p, n);
	in = str_make(copy, n);
	do {
		r = multipart_next(m, &in, &piece);
		if (r == MULTIPART_DATA) {
			buf_str(out, piece);
		} else if (r > 0) {
			buf_putc(out, (char)r);
			buf_str(out, m->name);
			buf_str(out, m->file_name);
		}
	} while (r > 0);
	free(copy);
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	const struct str type = STR("multipart/form-data; boundary=b");
	struct buf a = BUF_INIT(1 << 20), b = BUF_INIT(1 << 20);
	size_t step = n ? 1 + p[0] % 9 : 1;
	struct multipart whole, split;
	int ra, rb = 0;

	if (n) {
		p++;
		n--;
	}
	assert(multipart_init(&whole, type) == 0);
	assert(multipart_init(&split, type) == 0);
	ra = feed(&whole, p, n, &a);
	for (size_t at = 0; at < n && rb == 0; at += step)
		rb = feed(&split, p + at, n - at < step ? n - at : step, &b);
	assert(ra == rb);
	assert(str_eq(buf_view(&a), buf_view(&b)));
	multipart_free(&whole);
	multipart_free(&split);
	buf_free(&a);
	buf_free(&b);
	return 0;
}
