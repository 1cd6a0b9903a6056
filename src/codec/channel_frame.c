#include "codec/channel_frame.h"

#include "base/crc.h"

enum { KIND = 0, ZEROS = 1, ID = 4, AT = 8, SPAN = 16, SUM = 20 };

static void put_number(uint8_t *at, uint64_t v, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		at[i] = (uint8_t)(v >> (8 * (bytes - 1 - i)));
}

static uint64_t get_number(const char *at, unsigned bytes)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < bytes; i++)
		v = v << 8 | (unsigned char)at[i];
	return v;
}

void channel_frame_put(uint8_t head[CHANNEL_HEAD], const struct channel_frame *f)
{
	put_number(head + KIND, f->kind, 1);
	put_number(head + ZEROS, 0, 3);
	put_number(head + ID, f->id, 4);
	put_number(head + AT, f->at, 8);
	put_number(head + SPAN, f->span, 4);
	put_number(head + SUM, crc_update(0, f->bytes), 4);
}

int channel_frame_get(struct str frame, struct channel_frame *f)
{
	struct channel_frame got;

	if (frame.n < CHANNEL_HEAD || get_number(frame.p + ZEROS, 3))
		return ERR_SYNTAX;
	got.kind = (uint8_t)frame.p[KIND];
	got.id = (uint32_t)get_number(frame.p + ID, 4);
	got.at = get_number(frame.p + AT, 8);
	got.span = (uint32_t)get_number(frame.p + SPAN, 4);
	got.bytes = str_skip(frame, CHANNEL_HEAD);
	if (got.kind < CHANNEL_OUTPUT || got.kind > CHANNEL_STDERR)
		return ERR_SYNTAX;
	if (get_number(frame.p + SUM, 4) != crc_update(0, got.bytes))
		return ERR_RANGE;
	*f = got;
	return 0;
}
