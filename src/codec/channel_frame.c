#include "codec/channel_frame.h"

#include "base/crc.h"

enum { KIND = 0, ZEROS = 1, ID = 4, AT = 8, SPAN = 16, SUM = 20 };

static void channel_frame_put_be(uint8_t *at, uint64_t v, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		at[i] = (uint8_t)(v >> (8 * (bytes - 1 - i)));
}

static uint64_t channel_frame_get_be(const char *at, unsigned bytes)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < bytes; i++)
		v = v << 8 | (unsigned char)at[i];
	return v;
}

void channel_frame_put(uint8_t head[CHANNEL_HEAD], const struct channel_frame *f)
{
	channel_frame_put_be(head + KIND, f->kind, 1);
	channel_frame_put_be(head + ZEROS, 0, 3);
	channel_frame_put_be(head + ID, f->id, 4);
	channel_frame_put_be(head + AT, f->at, 8);
	channel_frame_put_be(head + SPAN, f->span, 4);
	channel_frame_put_be(head + SUM, crc_update(0, f->bytes), 4);
}

int channel_frame_get(struct str frame, struct channel_frame *f)
{
	struct channel_frame got;

	if (frame.n < CHANNEL_HEAD || channel_frame_get_be(frame.p + ZEROS, 3))
		return ERR_SYNTAX;
	got.kind = (uint8_t)frame.p[KIND];
	got.id = (uint32_t)channel_frame_get_be(frame.p + ID, 4);
	got.at = channel_frame_get_be(frame.p + AT, 8);
	got.span = (uint32_t)channel_frame_get_be(frame.p + SPAN, 4);
	got.bytes = str_skip(frame, CHANNEL_HEAD);
	if (got.kind < CHANNEL_OUTPUT || got.kind > CHANNEL_STDERR)
		return ERR_SYNTAX;
	if (channel_frame_get_be(frame.p + SUM, 4) != crc_update(0, got.bytes))
		return ERR_RANGE;
	*f = got;
	return 0;
}
