/* Layers as they are looked into: gzipped or not, whole and byte by byte alike. */
#include "inject/image/scan.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static int run(const char *text, size_t n, size_t step, struct scan *s)
{
	int r;

	scan_init(s);
	r = scan_begin_layer(s);
	for (size_t i = 0; i < n && !r; i += step)
		r = scan_put(s, str_make(text + i, n - i < step ? n - i : step));
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct scan a, b;
	char *text = malloc(n ? n : 1);
	int r;

	if (!text)
		return 0;
	if (n)
		memcpy(text, data, n);
	r = run(text, n, n ? n : 1, &a);
	assert(run(text, n, 1, &b) == r);
	if (!r)
		assert(a.shells == b.shells && a.others == b.others &&
			a.state == b.state);
	scan_free(&a);
	scan_free(&b);
	free(text);
	return 0;
}
