/* The heads of frames of channels. */
#include "codec/channel_frame.h"
#include "tests/tap.h"

#include <stdlib.h>

static const char known[] = "\x03\0\0\0\x01\x02\x03\x04\0\0\0\0\0\0\x10\0\0\0\0\x09"
			    "\xcb\xf4\x39\x26"
			    "123456789";

/* In memory of its own size, so that a read too far is caught. */
static int get(const char *p, size_t n, struct channel_frame *f)
{
	static char *copy;

	free(copy);
	copy = malloc(n ? n : 1);
	memcpy(copy, p, n);
	return channel_frame_get(str_make(copy, n), f);
}

int main(void)
{
	struct channel_frame f = {CHANNEL_INPUT, 0x01020304, 4096, 9, STR("123456789")};
	char copy[sizeof(known)];
	uint8_t head[CHANNEL_HEAD];

	channel_frame_put(head, &f);
	is_mem((char *)head, CHANNEL_HEAD, known, CHANNEL_HEAD, "the head, byte by byte");
	f = (struct channel_frame){0};
	is_int(get(known, sizeof(known) - 1, &f), 0, "is read");
	ok(f.kind == CHANNEL_INPUT && f.id == 0x01020304 && f.at == 4096 && f.span == 9,
		"as it was");
	is_view(f.bytes, "123456789", "with its bytes");
	for (size_t n = 0; n < CHANNEL_HEAD; n++)
		is_int(get(known, n, &f), ERR_SYNTAX, "%zu bytes are none", n);
	for (size_t n = CHANNEL_HEAD; n < sizeof(known) - 1; n++)
		is_int(get(known, n, &f), ERR_RANGE, "%zu bytes are not all", n);
	for (size_t i = CHANNEL_HEAD - 4; i < sizeof(known) - 1; i++) {
		memcpy(copy, known, sizeof(known));
		copy[i] ^= 1;
		is_int(get(copy, sizeof(known) - 1, &f), ERR_RANGE, "byte %zu changed",
			i);
	}
	for (size_t i = 0; i < 4; i++) {
		memcpy(copy, known, sizeof(known));
		copy[i] ^= 4;
		is_int(get(copy, sizeof(known) - 1, &f), ERR_SYNTAX, "byte %zu wrong", i);
	}
	return done_testing();
}
