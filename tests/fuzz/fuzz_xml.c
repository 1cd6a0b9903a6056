/* XML: what is told of it adds up, whatever it is. */
#include "codec/xml.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	static const struct xml_namespace known[] = {{"w", "u"}, {NULL, NULL}};
	static struct xml x;
	struct buf out = BUF_INIT(2 * n + 1);
	char *copy = malloc(n ? n : 1);
	unsigned depth = 0;
	int r;

	if (n)
		memcpy(copy, p, n);
	xml_init(&x, str_make(copy, n), known);
	while ((r = xml_next(&x)) > 0) {
		assert(x.depth == depth + (r == XML_OPEN));
		depth = x.depth - (r == XML_CLOSE);
		xml_is_at(&x, "w:a/b");
		if (r == XML_TEXT)
			xml_put_text(&x, &out);
		if (r == XML_OPEN)
			xml_put_attr(&x, "w:a", &out);
	}
	assert(r < 0 ? x.reason != NULL : !depth && !x.reason);
	/* No reference is shorter than what it stands for. */
	assert(!out.err && out.n <= n);
	buf_free(&out);
	free(copy);
	return 0;
}
