/* What decodes encodes to the same text; what encodes decodes to the same bytes. */
#include "base/b64.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf out = BUF_INIT(1 << 20), back = BUF_INIT(1 << 20);
	char *copy = malloc(size ? size : 1);
	struct str in = {copy, size};

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	if (b64_decode(&out, in) == 0) {
		b64_encode(&back, buf_view(&out));
		assert(str_eq(buf_view(&back), in));
	}
	buf_reset(&out);
	buf_reset(&back);
	b64_encode(&out, in);
	assert(out.err ||
		(b64_decode(&back, buf_view(&out)) == 0 && str_eq(buf_view(&back), in)));
	buf_free(&out);
	buf_free(&back);
	free(copy);
	return 0;
}
