/* Traces of BuildKit: each piece of output lies in the input. */
#include "inject/image/build_trace.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	char *copy = malloc(n ? n : 1);
	struct str rest, text = {0};
	size_t pieces = 0;

	if (n)
		memcpy(copy, p, n);
	rest = str_make(copy, n);
	while (build_trace_next(&rest, &text) == 0) {
		assert(text.n <= n && (!text.n || text.p >= copy));
		assert(++pieces <= n);
	}
	free(copy);
	return 0;
}
