/*
 * A pattern, a NUL, a path; the first byte holds the flags. A glob without special
 * characters matches itself; rules of a .gitignore made of the same bytes are asked.
 */
#include "search/glob.h"
#include "search/ignore.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum ignore_verdict verdict;
	struct str rest, pattern;
	struct ignore ignore;
	struct glob g;
	const char *why;
	char *copy;
	int r;

	if (size < 2 || size > 4096)
		return 0;
	copy = malloc(size - 1);
	if (!copy)
		return 0;
	memcpy(copy, data + 1, size - 1);
	rest = str_make(copy, size - 1);
	pattern = str_cut(&rest, '\0');
	r = glob_init(&g, pattern, data[0] & 7, &why);
	if (r == 0) {
		r = glob_match(&g, rest);
		assert(r == 0 || r == 1);
		assert(glob_match(&g, rest) == r);
		if (g.kind == GLOB_LITERAL && !(data[0] & GLOB_ANYWHERE))
			assert(glob_match(&g, pattern) == 0);
	} else {
		assert(r == ERR_SYNTAX || r == ERR_LIMIT);
		assert(why[0]);
	}
	glob_free(&g);
	ignore_init(&ignore);
	assert(ignore_add(&ignore, pattern, 0) == 0);
	assert(ignore_check(&ignore, rest, data[0] & 4, &verdict) == 0);
	ignore_drop(&ignore, ignore_count(&ignore) / 2);
	ignore_free(&ignore);
	free(copy);
	return 0;
}
