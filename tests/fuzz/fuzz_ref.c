/* Image references: the canonical form of whatever is accepted is a reference too,
 * and its own canonical form. */
#include "inject/names/ref.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct buf once = BUF_INIT(4096), twice = BUF_INIT(4096);
	char *text = malloc(n ? n : 1);
	const char *why = NULL;
	struct ref r;

	if (!text)
		return 0;
	if (n)
		memcpy(text, data, n);
	if (ref_parse(&r, str_make(text, n), &why)) {
		assert(why);
	} else {
		ref_write_canonical(&r, &once);
		/* What is put in front can make a name too long. */
		if (ref_parse(&r, buf_view(&once), &why) == 0) {
			ref_write_canonical(&r, &twice);
			assert(str_eq(buf_view(&once), buf_view(&twice)));
		} else {
			assert(n > 230);
		}
	}
	buf_free(&once);
	buf_free(&twice);
	free(text);
	return 0;
}
