/* A binary frame of a stream: what is taken is what was put, and nothing else is. */
#include "base/crc.h"
#include "codec/channel_frame.h"

#include <stdlib.h>

enum { SUM_AT = 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	uint8_t head[CHANNEL_HEAD];
	struct channel_frame f = {.kind = 99};
	char *copy = malloc(n ? n : 1);
	int r;

	if (!copy)
		abort();
	memcpy(copy, data, n);
	/* A checksum that is right, for what is behind it to be looked at. */
	if (n > CHANNEL_HEAD && copy[0] & 0x40) {
		uint32_t sum =
			crc_update(0, str_make(copy + CHANNEL_HEAD, n - CHANNEL_HEAD));

		copy[0] &= ~0x40;
		for (int i = 0; i < 4; i++)
			copy[SUM_AT + i] = (char)(sum >> (24 - 8 * i));
	}
	r = channel_frame_get(str_make(copy, n), &f);
	if (r == 0) {
		channel_frame_put(head, &f);
		if (memcmp(head, copy, CHANNEL_HEAD) != 0 ||
			f.bytes.n != n - CHANNEL_HEAD)
			abort();
	} else if ((r != ERR_SYNTAX && r != ERR_RANGE) || f.kind != 99) {
		abort();
	}
	free(copy);
	return 0;
}
