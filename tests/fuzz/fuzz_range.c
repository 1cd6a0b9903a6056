/* A size and a field of any content: what is taken lies in the file. */
#include "codec/http/range.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct range out = {7, 7};
	uint64_t length;
	char *copy;
	int r;

	if (size < sizeof(length))
		return 0;
	memcpy(&length, data, sizeof(length));
	data += sizeof(length);
	size -= sizeof(length);
	/* Of a file. */
	length &= INT64_MAX;
	copy = malloc(size ? size : 1);
	if (!copy)
		return 0;
	memcpy(copy, data, size);
	r = range_read(str_make(copy, size), length, &out);
	assert(r == 0 || r == 1 || r == ERR_RANGE);
	if (r)
		assert(out.from == 7 && out.n == 7);
	else
		assert(out.n && out.from < length && out.n <= length - out.from);
	free(copy);
	return 0;
}
