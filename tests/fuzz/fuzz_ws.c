/* The first byte: the role and how the rest is cut. */
#include "base/utf8.h"
#include "codec/http/ws.h"

#include <stdlib.h>

enum { MAX = 5000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct ws_event *e, uint64_t *sum)
{
	if (e->op >= WS_CLOSE && (!e->last || e->data.n > WS_CONTROL_MAX))
		abort();
	if (e->op == WS_CLOSE && !utf8_is_valid(e->data))
		abort();
	if (e->op < WS_CLOSE)
		*sum += e->data.n;
	if (*sum > MAX)
		abort();
	if (e->op < WS_CLOSE && e->last)
		*sum = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ws_event e;
	struct ws w;
	uint64_t sum = 0;
	size_t step;

	if (!size)
		return 0;
	ws_init(&w, *data & 1, MAX);
	step = (size_t)(*data >> 1) + 1;
	for (size_t i = 1; i < size; i += step) {
		size_t n = size - i < step ? size - i : step;
		char *copy = malloc(n), *at = copy;
		int r;

		memcpy(copy, data + i, n);
		while ((r = ws_next(&w, &at, &n, &e)) == 0)
			check(&e, &sum);
		if ((r == 1 && n && w.state != WS_ENDED) || (r < 0 && !w.code))
			abort();
		free(copy);
	}
	return 0;
}
