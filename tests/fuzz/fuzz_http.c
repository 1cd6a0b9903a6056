/* The request head: same verdict whole and split, spans inside the head. */
#include "codec/http/http.h"

#include <assert.h>
#include <stdlib.h>

static int parse_copy(struct http_request *r, const uint8_t *p, size_t n)
{
	char *copy = malloc(n ? n : 1);
	int e;

	if (n)
		memcpy(copy, p, n);
	e = http_request_parse(r, str_make(copy, n));
	free(copy);
	return e;
}

static void inside(const struct http_head *h, struct http_span s)
{
	assert(s.at <= h->n && s.n <= h->n - s.at);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct http_request whole, split;
	size_t step = n ? 1 + p[n - 1] % 7 : 1;
	int a, b = 1;

	http_request_init(&whole);
	a = parse_copy(&whole, p, n);
	http_request_init(&split);
	for (size_t at = 0; b == 1; at += step) {
		b = parse_copy(&split, p, at < n ? at : n);
		if (at >= n)
			break;
	}
	assert(a == b);
	if (a < 0)
		assert(whole.fault->status == split.fault->status);
	if (a)
		return 0;
	assert(whole.head.n == split.head.n && whole.head.n <= n);
	assert(whole.head.framing == split.head.framing);
	inside(&whole.head, whole.method);
	inside(&whole.head, whole.path);
	inside(&whole.head, whole.query);
	assert(p[whole.path.at] == '/' || p[whole.path.at] == '*');
	for (unsigned i = 0; i < whole.head.fields_n; i++) {
		inside(&whole.head, whole.head.fields[i].name);
		inside(&whole.head, whole.head.fields[i].value);
	}
	return 0;
}
