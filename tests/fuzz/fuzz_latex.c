/* LaTeX, whatever it is, becomes text of a bounded length. */
#include "skill/latex.h"

#include "base/utf8.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct buf out = BUF_INIT(1 << 20);
	char *copy = malloc(n ? n : 1);
	struct str source = {copy, n};
	int r;

	if (n)
		memcpy(copy, p, n);
	if (utf8_is_valid(source)) {
		r = latex_put_text(source, STR("today"), &out);
		assert(r <= 0);
		assert(out.err || r || utf8_is_valid(buf_view(&out)));
	}
	buf_free(&out);
	free(copy);
	return 0;
}
