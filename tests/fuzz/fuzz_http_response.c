/* The response head and its body: never more data than input, same when split. */
#include "codec/http/body.h"

#include <assert.h>
#include <stdlib.h>

static int parse_copy(struct http_response *r, const uint8_t *p, size_t n)
{
	char *copy = malloc(n ? n : 1);
	int e;

	if (n)
		memcpy(copy, p, n);
	e = http_response_parse(r, str_make(copy, n));
	free(copy);
	return e;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct http_response whole, split;
	struct str in, piece;
	struct body b;
	int a, e = 1;

	http_response_init(&whole, n & 1);
	a = parse_copy(&whole, p, n);
	http_response_init(&split, n & 1);
	for (size_t at = 0; e == 1 && at <= n; at++)
		e = parse_copy(&split, p, at);
	assert(a == e);
	if (a)
		return 0;
	assert(whole.status == split.status && whole.head.n == split.head.n);
	body_init(&b, whole.head.framing, whole.head.length);
	in = str_make((const char *)p + whole.head.n, n - whole.head.n);
	while (in.n && body_next(&b, &in, &piece) == 1)
		assert(piece.n <= n);
	assert(b.data <= n - whole.head.n);
	return 0;
}
