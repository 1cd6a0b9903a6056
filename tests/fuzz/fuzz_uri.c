/*
 * Escapes and queries of any content. What decodes is no longer than it was and holds
 * no NUL; decoding in place gives the same; a parameter that is found was in the query.
 */
#include "codec/http/uri.h"
#include "limits.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void decode(struct str in, bool plus)
{
	char *out = malloc(in.n ? in.n : 1), *same = malloc(in.n ? in.n : 1);
	size_t n = 0, same_n = 0;
	int r;

	assert(out && same);
	if (in.n)
		memcpy(same, in.p, in.n);
	r = uri_decode(in, plus, out, &n);
	assert(r == 0 || (r == ERR_SYNTAX && n == 0));
	assert(uri_decode(str_make(same, in.n), plus, same, &same_n) == r);
	if (!r) {
		assert(n <= in.n && str_eq(str_make(out, n), str_make(same, same_n)));
		for (size_t i = 0; i < in.n && i < n; i++)
			assert(out[i] || memchr(in.p, 0, in.n));
	}
	free(out);
	free(same);
}

static void query(struct str in)
{
	struct arena arena;
	struct str value = {NULL, 0};
	int r;

	arena_init(&arena, HTTP_ARENA_MAX);
	r = uri_query_find(in, STR("a"), &arena, &value);
	assert(r == 0 || r == 1 || r == ERR_DUPLICATE || r == ERR_SYNTAX);
	assert(!r == !!value.p && value.n <= in.n);
	arena_reset(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = malloc(size ? size : 1);

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	decode(str_make(copy, size), false);
	decode(str_make(copy, size), true);
	query(str_make(copy, size));
	free(copy);
	return 0;
}
