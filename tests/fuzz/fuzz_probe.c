/*
 * Any bytes as what an engine says of a file in an image, packed and as they are: only a
 * link leads somewhere, and what is refused changes nothing.
 */
#include "inject/image/probe.h"

#include "base/b64.h"
#include "limits.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(struct str header)
{
	static const struct probe_stat before = {PROBE_OTHER, 7, 7};
	struct buf target = BUF_INIT(INJECT_TEXT_MAX);
	struct probe_stat st = before;

	if (probe_read_stat(header, &st, &target))
		assert(st.kind == before.kind && st.size == before.size &&
			st.mode == before.mode && !target.n);
	else
		assert(st.kind > PROBE_ABSENT && st.kind <= PROBE_OTHER &&
			st.mode <= 07777 && (st.kind == PROBE_LINK || !target.n));
	buf_free(&target);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf packed = BUF_INIT(1 << 22);
	char *copy = malloc(size ? size : 1);

	if (size)
		memcpy(copy, data, size);
	check(str_make(copy, size));
	b64_encode(&packed, str_make(copy, size));
	check(buf_view(&packed));
	buf_free(&packed);
	free(copy);
	return 0;
}
